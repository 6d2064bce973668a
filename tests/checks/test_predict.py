"""Predictions: the answers are what the code computes, a guess gets its reason, and the value is never told."""

import math
import re

import nbformat
import pytest
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

import vit_tutorial as vt
from tools.lesson import LESSONS
from vit_tutorial import checks, data, interpret, weights
from vit_tutorial.checks.predict import TABLES, near, plain, table

SPACE = {"torch": torch, "nn": nn, "F": F, "math": math, "rearrange": rearrange, "vt": vt, "data": data}
SPACE |= {"interpret": interpret, "weights": weights}

SLOW = ["leftmost", "same-mill", "final-norm-gone", "corner-patch", "centre-probe", "worst-digit"]
SLOW += ["forgotten-norm"]  # more than a second each


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in SLOW)) for n in table()])
def test_the_answer_is_what_the_code_computes(name):
    entry = table()[name]
    with torch.set_grad_enabled(bool(re.search("grad|backward", entry["computed"]))):  # or activations would be kept
        computed = eval(entry["computed"], SPACE)
    assert near(plain(entry["answer"]), plain(computed), 1e-6 + entry.get("within", 0) / 10)


@pytest.mark.parametrize("name", table())
def test_a_guess_gets_its_reason_and_never_the_value(name, capsys):
    entry = table()[name]

    def said(guess):
        checks.predict(name, guess)
        return capsys.readouterr().out

    assert said(entry["answer"]).startswith("Right.")
    assert said(...).startswith("Replace the dots with your guess: ")
    sentences = [entry["otherwise"]]
    for wrong in entry["wrong"]:
        guess = wrong.get("guess", wrong.get("above", 0) * 2 if "above" in wrong else wrong.get("below", 0) / 2 - 1e-9)
        assert said(guess) == f"{'Close' if wrong.get('near') else 'Not quite'}. {wrong['because']}\n"
        sentences.append(wrong["because"])
    assert len(sentences) >= 3
    value = re.escape(str(entry["answer"]).strip("[]"))
    for sentence in sentences:
        assert not re.search(rf"(?<![\w.,]){value}(?![\w]|[.,]\d)", sentence.replace(",", "")), sentence


NUMBERS = [name for name, entry in table().items() if isinstance(entry["answer"], int | float)]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_no_reason_fits_is_too_high_or_too_low(name, capsys):
    entry = table()[name]
    answer = entry["answer"]
    assert not re.match(r"(Too|Fewer|Less|More|Higher|Lower|Somewhat)\b", entry["otherwise"])
    for step in (1.3, 1.7, 2.9, 7.7, 31.0, 0.7, 0.45, 0.11, -0.6, -3.1):
        guess = answer * step if answer else step
        checks.predict(name, guess)
        said = capsys.readouterr().out
        if entry["otherwise"] in said:
            assert said == f"Not quite. Too {'high' if guess > answer else 'low'}. {entry['otherwise']}\n"


@pytest.mark.parametrize("name", NUMBERS)
def test_what_a_reason_says_of_the_side_is_true(name):
    answer = table()[name]["answer"]
    for wrong in table()[name]["wrong"]:
        limit = wrong.get("above", wrong.get("below", wrong.get("guess")))
        side = "above" if limit >= answer else "below"
        assert "guess" in wrong or side in wrong, "a range that holds the answer"
        words = (
            r"(Too (many|high|far|large)|Fewer|Less)\b"
            if side == "below"
            else r"(Too (few|low|small)|More)\b(?! is lost| of them)"
        )
        assert not re.match(words, wrong["because"]) or name == "trunc-normal", wrong["because"]


@pytest.mark.parametrize("name", [name for name, entry in table().items() if "unit" in entry])
def test_a_share_is_taken_for_its_per_cent(name, capsys):
    entry = table()[name]
    assert entry["unit"] == "per cent" and 1 < entry["answer"] < 100
    for percent in (entry["answer"], entry["answer"] / 2):
        for guess in (percent, percent / 100):
            checks.predict(name, guess)
        said = capsys.readouterr().out.splitlines()
        assert len(said) == 2 and said[0] == said[1]
    checks.predict(name, ...)
    assert "guess: a number, in per cent." in capsys.readouterr().out


def test_a_guess_of_another_kind_is_told_so_and_an_unknown_name_is_refused(capsys):
    name = next(name for name, entry in table().items() if isinstance(entry["answer"], int))
    for guess, words in [("four", "The answer is a number; yours is of type str"), ((1, 2), "yours is of type tuple")]:
        checks.predict(name, guess)
        assert words in capsys.readouterr().out
    with pytest.raises(ValueError, match=f"there is no prediction '{name[:-1]}'; did you mean '{name}'"):
        checks.predict(name[:-1], 1)


@pytest.mark.parametrize("name", [name for name, entry in table().items() if isinstance(entry["answer"], list)])
def test_several_values_need_no_brackets(name, capsys):
    entry = table()[name]
    guesses = [entry["answer"], *(wrong["guess"] for wrong in entry["wrong"] if "guess" in wrong)]
    for guess in (guess for guess in guesses if isinstance(guess, list) and len(guess) > 1):
        said = []
        for values in ((tuple(guess),), (guess,), tuple(guess)):
            checks.predict(name, *values)
            said.append(capsys.readouterr().out)
        assert len(set(said)) == 1, said
    for dots in ((), (...,), (1, ..., 2), ((1, ..., 2),)):
        checks.predict(name, *dots)
        assert capsys.readouterr().out.startswith("Replace the dots with your guess: values in round brackets.")


def test_what_rounds_to_zero_counts_as_zero_where_the_entry_says_so(capsys):
    for sine, right in [(0.0001, True), (-0.004, True), (0.02, False)]:
        checks.predict("sincos-place", [0.8415, sine, 0.5403, 1, 0, 0, 1, 1])
        assert capsys.readouterr().out.startswith("Right.") == right
    assert not near(0.0001, 0, 0.05)


def test_several_values_for_one_number_are_counted(capsys):
    for guess, more in (((1, 461), " Python writes decimals with a point, not a comma."), ((1, 461, 0), "")):
        checks.predict("two-softmaxes", *guess)
        assert capsys.readouterr().out == f"The answer is a number; you gave {len(guess)} values.{more}\n"


def test_names_are_unique_and_each_is_asked_for_by_one_lesson():
    names = [name for path in TABLES for name in re.findall(r"^\[([\w-]+)\]$", path.read_text(encoding="utf-8"), re.M)]
    assert len(names) == len(set(names))
    asked = []
    for path in LESSONS:
        for cell in nbformat.read(path, as_version=4).cells:
            asked += re.findall(r'^checks\.predict\("([\w-]+)", \.\.\.\)$', cell.source, re.M)
    assert sorted(asked) == sorted(table())
