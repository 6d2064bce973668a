"""Each row of the table: nothing is taken in silence, the words are said, and all is left as it was."""

import re

import pytest
from matplotlib import pyplot as plt

from tests.border import refused
from tests.refusals import looks, model, training, weights

ROWS = [*model.ROWS, *looks.ROWS, *training.ROWS, *weights.ROWS]


@pytest.mark.filterwarnings("ignore:num_heads=", "ignore:weights of", "ignore:stored in")
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_no_value_of_the_row_is_taken(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in row.values:
        given = value if isinstance(value, tuple) else (value,)
        words = row.words.replace("{}", re.escape(repr(given[-1])))
        with refused(words or None, *given, error=row.error):
            row.call(*given)
    plt.close("all")
