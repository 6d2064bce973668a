"""The tools that keep the repository in order."""

import nbformat
import pytest
from nbformat import v4

from tools import LESSONS, store


def lesson(*sources: str, count: int | None = None, facts: dict | None = None) -> nbformat.NotebookNode:
    """A set-up cell, words, and code that printed."""
    cells = [v4.new_code_cell("setup", id="0", execution_count=1), v4.new_markdown_cell("words")]
    for number, source in enumerate(sources, 1):
        printed = [v4.new_output("stream", text=f"{count}")]
        cells.append(v4.new_code_cell(source, id=f"{number}", execution_count=count, outputs=printed))
    return v4.new_notebook(cells=cells, metadata={store.FACTS: {"skippable": []} | (facts or {})})


MEASURED = dict.fromkeys(store.MEASURED, 1)


def test_outputs_stay_where_only_words_changed():
    before = lesson("a", "b", count=2, facts=MEASURED)
    now = lesson("a", "b", facts=dict.fromkeys(store.MEASURED, 9) | {"skippable": ["One"]})
    now.cells[0].source, now.cells[1].source = "setup from another address", "other words"
    assert store.keep(now, before)
    assert [c.execution_count for c in now.cells if c.cell_type == "code"] == [1, 2, 2]
    assert now.cells[2].outputs == before.cells[2].outputs and now.cells[1].source == "other words"
    assert now.metadata[store.FACTS] == MEASURED | {"skippable": ["One"]}


NEVER_STORED = lesson("a", "b", count=2)
del NEVER_STORED.metadata[store.FACTS]


@pytest.mark.parametrize(
    "before", [None, NEVER_STORED, lesson("a", count=2), lesson("a", "c", count=2), lesson("a", "b")]
)
def test_a_lesson_runs_if_its_code_is_new_or_was_not_run(before):
    assert not store.keep(lesson("a", "b"), before)


def test_what_is_committed_is_found_where_there_is_git(tmp_path):
    assert store.committed(tmp_path / "00.ipynb") is None
    found = store.committed(LESSONS[0])
    assert found is None or found.cells[0].id == nbformat.read(LESSONS[0], as_version=4).cells[0].id
