"""What a class needs, made of the lessons in one run: python -m classroom OUT. See TEACHING.md."""

from pathlib import Path

ROOT = Path(__file__).parents[1]  # here, so that a student's process needs no nbformat
SITE = ROOT / "classroom" / "site"
