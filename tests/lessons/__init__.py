"""The notebooks' code, pages and claims."""
