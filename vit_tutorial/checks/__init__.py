"""A check for every exercise: `checks.patchify(my_patchify)` prints one line, or says what is wrong.

Each is an Exercise: it takes the learner's own function or class, tries it beside the solution, and where they differ
beside the solution with known mistakes in it. CONTRIBUTING.md says how an exercise is added.
`predict` answers the guesses of the lessons' Predict cells, `yours` takes a *Write it first* answer if it is right.
"""

import importlib
from pathlib import Path

from .engine import Exercise, Wrong
from .first import yours
from .predict import predict

LESSONS = sorted(room.name for room in (Path(__file__).parent / "lessons").glob("[0-9][0-9]"))
EXERCISES: dict[str, Exercise] = {}
for _lesson in LESSONS:
    EXERCISES |= importlib.import_module(f"{__name__}.lessons.{_lesson}.cases").EXERCISES
for _name, _exercise in EXERCISES.items():
    _exercise.name = _name
globals().update(EXERCISES)

__all__ = ["EXERCISES", "Exercise", "Wrong", "predict", "yours", *EXERCISES]
