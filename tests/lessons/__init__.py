"""The notebooks' code, pages and claims."""

THIRD = {f"{number:02}" for number in [*range(11), 14]}  # lessons in the form of the third edition: one thread
