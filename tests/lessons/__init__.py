"""The notebooks' code, pages and claims."""

THIRD = {f"{number:02}" for number in range(15)}
