"""A judge of messages that knows nothing of how they were found: it tries each claim on cases nobody has seen."""

import copy
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from tests.checks.unseen import fine, near, redrawn, refilled, result, short, state, unseen
from vit_tutorial.checks.mistakes import compiled

RELATED = (
    "comes back;|times the|differs from|off by|this is|what is expected|right numbers|their dtype|in the right order"
)


class Judge:
    """Takes the sentences that a check said of an answer; `source` is the answer's own text."""

    def __init__(self, exercise, answer: Callable, source: str, sentences: list[str]):
        self.exercise, self.answer, self.source = exercise, answer, source
        self.known: dict[str, list] = {}
        for edit in exercise.edits:
            self.known.setdefault(edit.sentence, []).append(edit)
        parts = [[s] if s in self.known else s.split(" Or: ") for s in sentences]
        both = [[[p] if p in self.known else p.split(" And: ") for p in ways] for ways in parts]
        table = [all(p in self.known for way in ways for p in way) for ways in both]
        self.named = [*itertools.compress(both, table)]
        self.rest = [s for s, known in zip(sentences, table, strict=True) if not known]

    def claims(self) -> Iterator[tuple[str, str]]:
        """The kind of each claim, and how it is untrue, if it is."""
        if not self.named and not self.rest:
            yield "right", self.differs([self.solution])
        if self.named and not any(re.search(RELATED, s) for s in self.rest):
            stops = any("code stopped" in s for s in self.rest)
            yield "table", self.differs(self.mistaken(), stops) if self.mistaken() else "no edit makes this"
        for s in self.rest:
            for kind, pattern, judged in KINDS:
                if found := re.search(pattern, s, re.S):
                    yield kind, judged(self, found, s) if judged else ""
                    break
            else:
                yield "statement", ""

    @property
    def solution(self) -> Callable:
        return self.exercise.of(self.exercise.source)

    def mistaken(self) -> list[Callable]:
        """The solution with just the named mistakes in it, in each way and order in which they can be made."""
        found = []
        for way in itertools.product(*self.named):
            for edits in itertools.product(*(self.known[s] for s in itertools.chain(*way))):
                for order in itertools.permutations(edits):
                    text = self.exercise.source
                    for edit in order:
                        text = text and edit(text)
                    if text and compiled(text):  # two edits together may be no Python
                        found.append(self.exercise.of(text))
        return found

    def differs(self, candidates: list[Callable], stops: bool = False) -> str:
        """Where the answer does otherwise than all candidates; with `stops` not where it stops itself."""
        for i, own, inputs in unseen(self.exercise):
            mine = result(self.exercise, self.answer, own, inputs)
            theirs = [result(self.exercise, one, own, inputs) for one in candidates]
            if not (stops and isinstance(mine, Exception)) and not any(near(mine, one) for one in theirs):
                return f"unseen case {i}: {short(mine)} against {short(theirs[0])}"
        return ""

    def case(self, s: str) -> tuple[tuple, list[tuple]]:
        """The case of which a sentence speaks: the constructor's arguments, and those of each call."""
        cases = self.exercise.cases
        if number := re.search(r"checks\.\w+\.cases\[(\d+)\]", s):
            case = cases[int(number[1])]
        else:
            places = {s.find(f"({', '.join(map(repr, c))})"): c for c in reversed(cases)}
            case = min((place, c) for place, c in places.items() if place >= 0)[1] if max(places) >= 0 else self.first()
        return (case[0], [*case[1:]]) if self.exercise.is_class else ((), [case])

    def first(self) -> tuple:
        """The case of which a sentence speaks that names none: the first where something else comes back."""
        if not self.exercise.is_class:
            for c in self.exercise.cases:
                if not near(*(result(self.exercise, a, (), c) for a in (self.answer, self.solution))):
                    return c
        return self.exercise.cases[0]

    def got(self, s: str, answer: Callable | None = None) -> list[Any]:
        """What the answer gives for the case of which a sentence speaks, of each call."""
        own, calls = self.case(s)
        return [result(self.exercise, answer or self.answer, own, inputs) for inputs in calls]

    def stops(self, _, s: str) -> str:
        line, name = re.search(r"in line (\d+), `(.*?)`, with ", s, re.S), re.search(r"with (\w+): ", s)[1]
        if line and self.source.splitlines()[int(line[1]) - 1].strip() != line[2]:
            return f"line {line[1]} is another"
        seen = self.got(s)
        return "" if any(type(x).__name__ == name for x in seen) else f"{name} is not raised: {short(seen)}"

    def shape(self, m: re.Match, s: str) -> str:
        seen = [str(tuple(x.shape)) for x in self.got(s) if isinstance(x, Tensor)]
        return "" if m[1] in seen else f"the shape is {seen}"

    def dtype(self, m: re.Match, s: str) -> str:
        seen = [str(x.dtype) for x in self.got(s) if isinstance(x, Tensor)]
        return "" if m[1] in seen else f"the dtype is {seen}"

    def type(self, m: re.Match, s: str) -> str:
        seen = [type(x).__name__ for x in self.got(s)]
        return "" if m[1] in seen else f"it is a {seen}"

    def no_effect(self, m: re.Match, _) -> str:
        """One change of what comes back, anywhere, is enough, where it changes what is expected, too."""
        e = self.exercise
        for name in set(re.findall(r"`([\w.]+)`", m[1])) & {*e.names}:
            place = e.names.index(name)
            for i, own, inputs in unseen(e):
                mine, given = result(e, self.answer, own, inputs), inputs[place]
                values = [redrawn(given, 900 + k) for k in range(4)]
                if not isinstance(given, Tensor | nn.Module):  # of a tensor the numbers are meant, not the size
                    values += [(c[1] if e.is_class else c)[place] for c in e.cases]
                for value in values:
                    other = (*inputs[:place], value, *inputs[place + 1 :])
                    after, ours = result(e, self.answer, own, other), result(e, self.solution, own, other)
                    if (
                        fine(ours)
                        and not any(isinstance(x, Exception) for x in (mine, after))
                        and not near(mine, after)
                    ):
                        return f"`{name}` has one in unseen case {i}: {short(mine)} and {short(after)}"
        return ""

    def word(self, text: str, own: tuple, inputs: tuple) -> float:
        """A factor in words as a number."""
        if re.fullmatch(r"-?[\d./]+", text):
            above, _, below = text.partition("/")
            return float(above) / float(below or 1)
        pattern = (
            r"(1 / )?(the square root of |the square of )?(?:the size of `(\w+)`'s axis (\d)|`(\w+)(?:\[(\d)\])?`)"
        )
        under, power, tensor, axis, name, i = re.fullmatch(pattern, text).groups()
        mine = [*inspect.signature(self.exercise.solution).parameters] if self.exercise.is_class else []
        known = dict(zip(mine, own, strict=False)) | dict(zip(self.exercise.names, inputs, strict=True))
        value = known[tensor].shape[int(axis)] if tensor else known[name][int(i)] if i else known[name]
        value = value ** {"the square root of ": 0.5, "the square of ": 2, None: 1}[power]
        return 1 / value if under else value

    def follows(self, how: Callable[..., bool]) -> str:
        """Whether what comes back follows so from what is expected, or from what the named mistakes give."""
        reference = self.mistaken()[0] if self.named else self.solution
        for i, own, inputs in unseen(self.exercise):
            mine, want = (result(self.exercise, one, own, inputs) for one in (self.answer, reference))
            try:
                holds = near(mine, want) or how(mine, want, own, inputs)
            except Exception as error:
                return f"unseen case {i}: {error!r}"
            if not holds:
                return f"unseen case {i}: {short(mine)} against {short(want)}"
        return ""

    def times(self, m: re.Match, _) -> str:
        return self.follows(lambda a, b, own, x: near(a * 1.0, b * 1.0 * self.word(m[1], own, x)))

    def by(self, m: re.Match, _) -> str:
        sign, word = (-1 if m[1].startswith("- ") else 1), re.sub(r"^[-+] ", "", m[1])
        return self.follows(lambda a, b, own, x: a - b == sign * self.word(word, own, x))

    def off(self, *_) -> str:
        return self.follows(lambda a, b, *_: near(a - b, (a - b).flatten()[0].expand_as(a)))

    def axes(self, m: re.Match, _) -> str:
        return self.follows(lambda a, b, *_: near(a.flatten(), b.transpose(int(m[1]), int(m[2])).flatten()))

    def order(self, *_) -> str:
        return self.follows(lambda a, b, *_: near(a.flatten(), b.flatten()))

    def wrapped(self, *_) -> str:
        def unwrapped(a: Any) -> Tensor:
            inside = isinstance(a, list | tuple) and isinstance(a[0], Tensor)
            return (torch.stack([*a]) if inside else torch.as_tensor(a)).double().flatten()

        return self.follows(lambda a, b, *_: near(unwrapped(a), b.double().flatten()))

    def precision(self, *_) -> str:
        return self.follows(lambda a, b, *_: near(a.double(), b.double()))

    def constant(self, *_) -> str:
        seen = {repr(result(self.exercise, self.answer, own, x)) for _, own, x in unseen(self.exercise)}
        return "" if len(seen) < 2 else f"also {seen}"

    def random(self, _, s: str) -> str:
        own, calls = self.case(s)
        seen = [result(self.exercise, self.answer, own, calls[0], seed) for seed in range(4)]
        return "" if not all(near(seen[0], x) for x in seen) else "it is always the same"

    def changed(self, m: re.Match, _) -> str:
        e, found = self.exercise, set()
        for case in e.cases:
            own, inputs = (case[0], case[1]) if e.is_class else ((), case)
            mine = copy.deepcopy(inputs)
            try:
                refilled(self.answer(*own), 5)(*mine) if e.is_class else e.run(self.answer, *mine)
            except Exception:
                continue
            found |= {n for n, x, y in zip(e.names, mine, inputs, strict=True) if not near(state(x), state(y))}
        named = {*re.findall(r"`(\w+)`", m[1])}
        return "" if named <= found else f"only {found}"

    def numbers(self, m: re.Match, s: str) -> str:
        for a, b in zip(self.got(s), self.got(s, self.solution), strict=True):
            if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape):
                continue
            wrong = ~torch.isclose(a.double(), b.double(), rtol=1e-4, atol=1e-5)
            hit = [
                [i for i in range(wrong.shape[int(axis)]) if wrong.select(int(axis), i).any()][:5]
                == [*map(int, places)]
                for places, axis in re.findall(r"only at (\d[\d, ]*) of axis (\d)", s)
                for places in [places.split(", ")]
            ]
            if all(hit) and (self.exercise.is_class or f"{wrong.double().mean():.0%}" == m[1]):
                return ""
        return f"{short(self.got(s))} against {short(self.got(s, self.solution))}"

    def value(self, m: re.Match, s: str) -> str:
        key = found[1] if (found := re.match(r"`(.*?)`: expected", s)) else None
        seen = [repr(x.get(key, "no such entry") if key and isinstance(x, dict) else x) for x in self.got(s)]
        return "" if m[1].rstrip(".") in [x.rstrip(".") for x in seen] else f"it is {seen}"


KINDS = [  # what is claimed, by which words, and who tries it; None: not tried here
    ("stops", r"your code stopped", Judge.stops),
    ("shape", r"expected shape .*, got (\(.*?\))\.$", Judge.shape),
    ("dtype", r"expected dtype .*, got ([\w.]+)\.$", Judge.dtype),
    ("type", r"expected one \w+, got one (\w+)\.$", Judge.type),
    ("no effect", r"^(`[\w., `]+`) ha(?:s|ve) no effect", Judge.no_effect),
    ("times", r"(?:each number is|the number is) (.*?) times the expected one", Judge.times),
    ("differs by", r"the number differs from the expected one by (.*)\.$", Judge.by),
    ("off by", r"each number is off by", Judge.off),
    ("axes", r"the right numbers, but axes (\d) and (\d) have changed places", Judge.axes),
    ("shape", r"the numbers are right and in the right order, but the tensor has another shape", Judge.order),
    ("type", r"a \w+ comes back; its numbers are right", Judge.wrapped),
    ("dtype", r"the numbers are right, but their dtype is not", Judge.precision),
    ("relation", r"this is the|what is expected is|the right numbers, but|its type should be", None),
    ("constant", r"comes back in each case", Judge.constant),
    ("random", r"the numbers change from call to call", Judge.random),
    ("changed", r"the argument ((?:`\w+`(?:, )?)+) is changed in place", Judge.changed),
    ("numbers", r"(\d+%) of the numbers differ", Judge.numbers),
    ("gradient", r"no gradient|not the gradient", None),
    ("parts", r"the parameter `|there is a parameter|has another name|is a layer|is a buffer|is a tensor", None),
    ("value", r"expected .*?, got (.*)\.$", Judge.value),
]
