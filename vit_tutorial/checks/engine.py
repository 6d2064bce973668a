"""An exercise checks an answer: beside the solution, and where they differ beside the solution with known mistakes.

A mistake is an edit in the solution's text and the sentence that names it. What gives the very same results as the
answer, on all cases, is what the answer does: one edit, or two, and the fewest explain it. See CONTRIBUTING.md.
"""

import copy
import functools
import inspect
import itertools
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from . import describe, mistakes
from .again import again, computed
from .compare import first_type, level, only_stops, stops, wrong_in
from .facts import facts
from .observe import Fact, Made, Wrong, agree, finite, made, tensors
from .relation import transformed
from .seal import BORROWED, Borrowed, borrowed, sealed


class Exercise:
    """A check: called with an answer it prints one line, or raises Wrong with what the answer does instead.

    Args:
        solution: the function or class that the lesson's folded cell shows.
        cases: for a function its arguments; for a class the constructor's, then the inputs of one or more calls.
        run: how an answer is called with a case, where that is not `answer(*case)`.
        gradients: whether they must arrive at inputs and parameters.
        start: for a class, module -> statements about its start values, and whether they hold.
        more: answer -> further statements, and whether they hold.
        others: cases that a sentence must hold for, too, where other random numbers in `cases` make no sense.
        untried: what no case shows, for the line that says right.
        words: a case as a call of the answer, in words, where `run` takes other arguments.
    """

    asked: "Exercise | None" = None  # the last one that looked at an answer: it alone keeps what it has seen

    def __init__(
        self,
        solution: Callable,
        cases: list[tuple],
        *,
        run: Callable | None = None,
        gradients: bool = True,
        start: Callable[[nn.Module], dict[str, bool]] = finite,
        more: Callable[[Callable], dict[str, bool]] | None = None,
        others: Sequence[tuple] = (),
        untried: str = "",
        words: Callable[..., str] | None = None,
    ):
        self.solution, self.cases, self.gradients, self.start, self.more = solution, cases, gradients, start, more
        self.others, self.words, self.untried = others, words, f" (not tried: {untried})" * bool(untried)
        self.is_class, self.run = isinstance(solution, type), run or (lambda answer, *arguments: answer(*arguments))
        target = run or (solution.forward if self.is_class else solution)
        self.names = [*inspect.signature(target).parameters][bool(run or self.is_class) :]
        self.lesson, self.name, self.failures = solution.__module__.split(".")[-2], "", 0  # the table knows the name
        self.memory: dict[str, tuple[list[Fact], Iterator[Fact]]] = {}  # by source: what was seen, and what is left
        self.built: dict[tuple[str, int], Made] = {}  # modules by the text before forward, and case
        self.__doc__ = f"Lesson {self.lesson}: {inspect.getdoc(solution)}"

    @functools.cached_property
    def source(self) -> str:
        return textwrap.dedent(inspect.getsource(self.solution))

    @functools.cached_property
    def edits(self) -> list[mistakes.Edit]:
        return mistakes.of(self.lesson, self.name, self.source)

    @functools.cache  # noqa: B019 - an exercise lives as long as the process
    def wanted(self, case: int) -> dict[str, tuple[int, ...]]:
        """The solution's parameters by name: their shapes."""
        model = self.of(self.source)(*self.cases[case][0])
        return {name: tuple(value.shape) for name, (*_, value) in tensors(model).items()}

    def of(self, source: str) -> Callable:
        """The function or class that a source defines, with what the solution's module imports."""
        space = dict(inspect.getmodule(self.solution).__dict__)
        exec(mistakes.compiled(source), space)
        return space[self.solution.__name__]

    def fresh(self, source: str) -> Iterator[Fact]:
        """The facts of the solution or of an edited one; what has the same __init__ shares a built module."""
        answer, head = self.of(source), source.partition("    def forward")[0]

        def make(case: int) -> Made:
            shared = self.built.get((head, case)) or made(self, answer, case)
            if len(self.built) < 500:  # pairs of mistakes in __init__ have as many heads
                self.built[head, case] = shared
            if not isinstance(shared.module, nn.Module):
                return shared
            module, own = answer.__new__(answer), vars(shared.module)
            vars(module).update({key: copy.copy(x) if isinstance(x, dict) else x for key, x in own.items()})
            return shared._replace(module=module)

        return facts(self, answer, make)

    def seen(self, source: str) -> Iterator[Fact]:
        """The same, kept: no fact is found out twice, and none before somebody asks for it."""
        if source not in self.memory:
            self.memory[source] = [], self.fresh(source)
        known, rest = self.memory[source]
        for i in itertools.count():
            if i == len(known):
                known.extend(itertools.islice(rest, 1))
            if i == len(known):
                return
            yield known[i]

    @functools.cached_property
    def kinds(self) -> list[str]:
        """What each edit changes: the "parts" of a class, the "result", or only what goes on "beside"."""
        right, found = list(self.seen(self.source)), []
        for edit in self.edits:
            one = list(itertools.islice(self.seen(edit(self.source)), 1))
            beside = "beside" if level(right, self.seen(edit(self.source))) else "result"
            found.append("parts" if self.is_class and not level(one, right[:1]) else beside)
        return found

    @functools.cached_property
    def again(self) -> "Exercise":
        """Itself with other numbers and sizes: two that agree by chance on the cases part there."""
        return again(self)

    def pairs(self, worth: Callable[[int, int], bool] = lambda i, j: True) -> Iterator[tuple[list[str], str]]:
        """Sentences and source of two mistakes at once, where both can be made and are worth the look."""
        for (i, a), (j, b) in itertools.combinations(enumerate(self.edits), 2):
            text = a.sentence != b.sentence and worth(i, j) and (b(a(self.source)) or a(b(self.source)))
            if text and mistakes.compiled(text):
                yield [a.sentence, b.sentence], text

    def __call__(self, answer: Callable) -> None:
        """Print one line if the answer is right, raise Wrong if it is not."""
        who = getattr(answer, "__name__", "<lambda>").replace("<lambda>", self.name)
        # gradients wherever it is called, and nobody else's random numbers
        with warnings.catch_warnings(action="ignore"), torch.enable_grad(), torch.random.fork_rng(devices=[]):
            sentences = self.diagnose(answer)
        if not sentences:
            self.failures = 0
            print(f"{who}: right, on {len(self.cases)} cases{self.untried}")
            return
        self.failures += 1
        numbered = [f"({i}) {sentence}" for i, sentence in enumerate(sentences, 1)]
        error = Wrong(f"{who}: {sentences[0] if len(sentences) == 1 else ' '.join(numbered)}")
        error.hint = "\nStuck? If there's a card above, its hint is folded." * (self.failures >= 3)
        raise error

    def diagnose(self, answer: Callable) -> list[str]:
        """What is wrong with an answer, a sentence each; nothing if it is right."""
        if Exercise.asked and Exercise.asked is not self:
            Exercise.asked.memory.clear()
            Exercise.asked.built.clear()
            vars(Exercise.asked).pop("again", None)  # with all that it has seen
        Exercise.asked = self
        if unfit := describe.unfit(self, answer) or (borrowed(answer) and BORROWED):
            return [unfit]
        right = list(self.seen(self.source))
        try:
            with sealed(self, answer):
                alias = made(self, answer, 0).alias if self.is_class else {}
                got = list(facts(self, answer))
                wrong = [] if level(got, right) == "all" else self.explain(got, right, answer)
        except Borrowed:
            return [BORROWED]
        return describe.renamed(alias) + wrong

    def explain(self, got: list[Fact], right: list[Fact], answer: Callable | None) -> list[str]:
        """The fewest edits that do what the answer does; where there are none, what can be seen.

        Without the `answer`, where it cannot be called, only what follows from the facts is said.
        """
        if answer and isinstance(got[0].value, NotImplementedError):  # a stub: no mistake explains it
            return describe.difference(self, got, right, answer)
        singles = [(edit.sentence, edit(self.source)) for edit in self.edits]
        fits = [level(got, self.seen(source)) for _, source in singles]

        @functools.cache
        def theirs() -> list[Fact]:
            return [*computed(facts(self.again, answer))] if answer else []

        def ours(source: str) -> Iterator[Fact]:
            return computed(self.again.seen(source)) if answer else iter(())

        def holds(source: str, where: Callable[[int], bool] = lambda case: True) -> bool:
            """Whether the answer does what an edited solution does on other numbers, too."""
            return level(*(filter(lambda fact: where(fact.case), seen) for seen in (theirs(), ours(source)))) == "all"

        def difference(*cases: set[int]) -> list[str]:
            return describe.difference(self, got, right, answer, *cases) if answer else ["it differs."]

        if not level(got, right) and only_stops(got, right):
            # two exceptions may have two causes: they are evidence if all say the same, and not of each case alike
            right_too = any(fact.kind == "result" and not isinstance(fact.value, Exception) for fact in got)
            some = right_too or len({*stops(got)}) > 1
            named = [edited for edited, fit in zip(singles, fits, strict=True) if fit and some]
            said = [says for says, source in named if stops(got) == stops(self.seen(source))]
            return said[:1] or difference()
        fits = [fit if fit and holds(source) else None for fit, (_, source) in zip(fits, singles, strict=True)]
        if "all" in fits:
            return [singles[fits.index("all")][0]]
        if level(got, right):
            return describe.beside(got, right)
        same_parts = not self.is_class or agree(got[0], right[0])

        def worth(i: int, j: int) -> bool:
            kinds = {self.kinds[i], self.kinds[j]}
            if "beside" in kinds:  # the other computes what the answer computes
                return bool(fits[i] or fits[j])
            return ("parts" in kinds) != same_parts

        reached = [first_type(self.seen(source)) for source in [self.source, *(source for _, source in singles)]]
        pairs = mistakes.patiently(self.pairs(worth) if first_type(got) in reached else [])  # else no two give it
        tried = ((says, source, level(got, self.fresh(source))) for says, source in pairs)
        both = [(says, source, fit) for says, source, fit in tried if fit and holds(source)]
        if said := describe.alternatives([says for says, _, fit in both if fit == "all"]):
            return said
        for (says, source), fit in zip(singles, fits, strict=True):
            if fit:
                return [says, *describe.beside(got, self.seen(source))]
        if said := describe.alternatives([says for says, *_ in both]):
            return [*said, *describe.beside(got, self.seen(both[0][1]))]
        # first, or it would be a mistake's number, times something
        if said := describe.constant([*got, *theirs()], [*right, *ours(self.source)]):
            return said
        for says, source in [("", self.source), *singles]:
            if seen := transformed(self, got, self.seen(source), not says):
                more = transformed(self.again, theirs(), ours(source), not says)
                if said := [sentence for sentence in seen if sentence in more or not theirs()]:
                    return [*filter(None, [says]), said[0]]
        stopped, there = ({fact.case for fact in seen if stops([fact])} for seen in (computed(got), theirs()))
        rest, expected = ([fact for fact in seen if fact.case not in stopped] for seen in (got, right))
        for says, source in [("", self.source), *singles] if stopped and rest else []:
            candidate = [fact for fact in self.seen(source) if fact.case not in stopped]  # where it does not stop
            if level(rest, candidate) != "all" or (says and level(expected, candidate) == "all"):
                continue
            if not holds(source, lambda case: case not in there):
                continue
            if says and 2 * len(stopped) <= len(self.cases) and wrong_in(stopped, right, self.seen(source)):
                return [says]  # it may stop for this very reason
            return [*filter(None, [says]), *difference(stopped)]
        return difference()
