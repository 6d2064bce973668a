"""What is refused, as a table: a call, what it does not take, and what it says. The files beside hold the rows."""

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Refusal(NamedTuple):
    """`call` takes none of the `values`, each an argument or a tuple of them: it raises `error`, which says `words`.

    The words are a regular expression, in which {} is the last argument.
    """

    name: str
    call: Callable
    values: Iterable
    words: str = ""
    error: type | tuple = ValueError
