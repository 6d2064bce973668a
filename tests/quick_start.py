"""A plugin named in pyproject.toml, for nbval imports jsonschema, and that a grammar of IRIs, in 2.8 s a process.

No notebook's schema has an IRI. conftest.py would come too late.
"""

import sys

sys.modules["rfc3987_syntax"] = None  # as if it were not installed
