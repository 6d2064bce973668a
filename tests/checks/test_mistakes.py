"""The tables of mistakes as they are read, and the search for two of them at once."""

import pytest
import torch

from vit_tutorial.checks import mistakes

TABLE = """# doubled
@last = return x

the sign is lost.
- @last
+ return abs(x)
or
- x * 2
+ abs(x * 2)

it is
not doubled.
- x * 2
+ x
- @last
+ @last + 0
"""
SOLUTION = "def doubled(x):\n    x = x * 2\n    return x\n"


@pytest.fixture
def table(tmp_path, monkeypatch):
    (tmp_path / "lessons" / "77").mkdir(parents=True)
    (tmp_path / "lessons" / "77" / "mistakes.txt").write_text(TABLE)
    monkeypatch.setattr(mistakes, "__file__", str(tmp_path / "mistakes.py"))


def test_a_name_stands_for_a_text_that_many_edits_change(table):
    a, b, c = mistakes.of("77", "doubled", SOLUTION)
    assert (a.sentence, b.sentence, c.sentence) == ("the sign is lost.", "the sign is lost.", "it is not doubled.")
    assert a(SOLUTION) == SOLUTION.replace("return x", "return abs(x)") and b.replacements == (("x * 2", "abs(x * 2)"),)
    assert c(SOLUTION) == "def doubled(x):\n    x = x\n    return x + 0\n"
    assert (a.lines, b.lines, c.lines) == ((5,), (8,), (13, 15))


def test_texts_that_a_solution_no_longer_has_are_refused_all_at_once_with_their_lines(table):
    words = r"doubled of lesson 77: .* exactly once: mistakes.txt:8 'x \* 2', mistakes.txt:13 'x \* 2'\.$"
    with pytest.raises(ValueError, match=words):
        mistakes.of("77", "doubled", SOLUTION.replace("x * 2", "2 * x"))
    with pytest.raises(ValueError, match=r"once: mistakes.txt:5 'return x', mistakes.txt:15 'return x'\.$"):
        mistakes.of("77", "doubled", SOLUTION.replace("return x", "return x if x else return x"))


def test_a_long_search_for_two_mistakes_says_so_once(monkeypatch, capsys):
    seconds = iter([0, 1, 2.5, 3])
    monkeypatch.setattr(mistakes.time, "monotonic", lambda: next(seconds))
    assert [*mistakes.patiently("ab")] == ["a", "b"]
    assert capsys.readouterr().out == mistakes.LOOKING
    seconds = iter([0, 1, 1.9])
    assert [*mistakes.patiently("ab")] == ["a", "b"] and capsys.readouterr().out == ""


def test_a_search_has_one_thread_and_gives_the_others_back():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert [torch.get_num_threads() for _ in mistakes.patiently("ab")] == [1, 1] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
