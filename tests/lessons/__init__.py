"""The notebooks' code, pages and claims."""

THIRD = {"00", "01", "02", "03", "04", "05"}  # lessons in the form of the third edition: one thread
