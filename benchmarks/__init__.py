"""What was measured, side by side: `python -m benchmarks`."""
