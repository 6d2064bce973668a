"""Promise 7: no exercise is solved by copying. What a lesson shows passes none of the checks that it grades."""

import contextlib
import inspect
import io
import re

import matplotlib.pyplot as plt
import pytest

from tests.lessons.test_namespaces import namespace
from tools.lesson import LESSONS
from vit_tutorial import checks
from vit_tutorial.checks.compare import level
from vit_tutorial.checks.describe import unfit
from vit_tutorial.checks.facts import facts


def graded(path) -> list[str]:
    return re.findall(r'"checks\.(\w+)\(\w+\)"', path.read_text(encoding="utf-8"))


def passes(name: str, answer: object) -> bool:
    """Whether the check would find it right: the first thing that differs is enough, and needs no diagnosis."""
    exercise = checks.EXERCISES[name]
    with contextlib.redirect_stdout(io.StringIO()):
        right = not unfit(exercise, answer) and level(facts(exercise, answer), exercise.seen(exercise.source)) == "all"
    plt.close("all")  # some of the definitions draw
    return right


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_definition_of_a_lesson_passes_a_check_of_its_exercises(path):
    shown = {
        n: x for n, x in namespace(path.stem[:2]).items() if getattr(x, "__module__", "") == f"lesson_{path.stem[:2]}"
    }
    assert shown and graded(path)
    copied = [(name, n) for name in graded(path) for n, thing in shown.items() if passes(name, thing)]
    assert not copied


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_page_calls_or_prints_a_solution(path):
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"\.solution\b|EXERCISES\[|\bfrom vit_tutorial\.checks", text)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_what_a_lesson_imports_is_refused_as_an_answer(path):
    imported = [
        thing
        for thing in namespace(path.stem[:2]).values()
        if getattr(thing, "__module__", "").startswith("vit_tutorial")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
    ]
    for name in graded(path):
        exercise = checks.EXERCISES[name]
        solution = exercise.solution
        wrapped = type("Mine", (solution,), {}) if exercise.is_class else lambda *given, own=solution: own(*given)
        called = [lambda *given, own=thing: own(*given) for thing in imported if passes(name, thing)]
        for thing in [solution, wrapped, *called, *(x for x in imported if passes(name, x))]:
            with pytest.raises(checks.Wrong, match="code of the course's own"):
                exercise(thing)
