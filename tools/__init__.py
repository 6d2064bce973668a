"""What keeps the repository in order: each runs as `python -m tools.NAME` from its root."""
