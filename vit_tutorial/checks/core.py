"""How a check works: run the learner's object beside the reference and, where they differ, beside known mistakes."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

Outcome = Tensor | Exception


def outcome(function: Callable, arguments: Sequence) -> Outcome:
    """What `function` gives for copies of `arguments`, or the exception it ends in."""
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # so that dropout, where it is active, is the same for everyone
            return function(*[a.clone() if isinstance(a, Tensor) else a for a in arguments])
    except Exception as error:
        return error


def same(a: Outcome, b: Outcome) -> bool:
    """Equal numbers, or both an exception."""
    if not all(isinstance(x, Tensor | int | float | str | Exception) for x in (a, b)):
        return False
    if isinstance(a, Exception) or isinstance(b, Exception):
        return isinstance(a, Exception) and isinstance(b, Exception)
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        return type(a) is type(b) and a == b  # a count is right or wrong
    a, b = torch.as_tensor(a), torch.as_tensor(b)
    return a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=1e-4, atol=1e-5, equal_nan=True)


def describe(got: Outcome, expected: Tensor) -> str:
    """The first difference, in words."""
    if isinstance(got, NotImplementedError):
        return "nothing is written yet: replace `raise NotImplementedError` by your code"
    if isinstance(got, AttributeError) and "mask_fill" in str(got):
        return "a tensor has no `mask_fill`: the method is `masked_fill`, and it returns the masked copy"
    if isinstance(got, Exception):
        return f"your code stopped with {type(got).__name__}: {got}"
    if not isinstance(got, type(expected)):
        return f"expected a {type(expected).__name__}, got a {type(got).__name__}"
    if not isinstance(expected, Tensor):
        return f"expected {expected}, got {got}"
    if got.shape != expected.shape:
        return f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}"
    if got.is_floating_point() != expected.is_floating_point():
        return f"expected dtype {expected.dtype}, got {got.dtype}"
    wrong = ~torch.isclose(got.double(), expected.double(), rtol=1e-4, atol=1e-5)
    place = tuple(wrong.nonzero()[0].tolist())
    numbers = f"expected {expected[place].item():.4f}, got {got[place].item():.4f}"
    return f"{wrong.float().mean():.0%} of the entries differ; the first at index {place}: {numbers}"


def shapes(arguments: Sequence) -> str:
    return ", ".join(str(tuple(a.shape)) if isinstance(a, Tensor) else str(a) for a in arguments)


def compare(
    name: str,
    yours: Callable,
    reference: Callable,
    cases: list[tuple],
    mistakes: dict[str, Callable],
    also: Callable[[], None] = lambda: None,
) -> None:
    """Print one line if `yours` equals `reference` on all `cases` and leaves its arguments alone.

    Raises:
        AssertionError: they differ. The message is the key of the mistake in `mistakes` that gives the very
            same results as `yours`; otherwise the first difference in words.
    """
    for case in cases:
        passed = [a.clone() if isinstance(a, Tensor) else a for a in case]
        with torch.no_grad():
            outcome(lambda *_, passed=passed: yours(*passed), [])
        for before, after in zip(case, passed, strict=True):
            if isinstance(before, Tensor) and not same(before, after):
                raise AssertionError(
                    f"{name}: an argument was changed in place (+=, *= or a method ending in _): whoever uses it "
                    "next gets other numbers. Make a new tensor: x = x + y."
                )
    expected = [outcome(reference, case) for case in cases]
    got = [outcome(yours, case) for case in cases]
    wrong = [i for i in range(len(cases)) if not same(got[i], expected[i])]
    if not wrong:
        also()
        print(f"{name}: right, on {len(cases)} cases")
        return
    for sentence, mistaken in mistakes.items():
        theirs = [outcome(mistaken, case) for case in cases]
        agree = all(same(a, b) for a, b in zip(got, theirs, strict=True))
        if agree and not all(isinstance(a, Exception) for a in got):
            raise AssertionError(f"{name}: {sentence}")
    first = wrong[0]
    cause = got[first] if isinstance(got[first], Exception) else None
    inputs = shapes([a for a in cases[first] if isinstance(a, Tensor)] or cases[first])
    raise AssertionError(f"{name}, for input {inputs}: {describe(got[first], expected[first])}") from cause


def randomise(module: nn.Module, seed: int) -> nn.Module:
    """Fill every parameter with random non-zero numbers, in place: zeros hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    return module


def compare_modules(
    name: str,
    yours: type[nn.Module],
    reference: type[nn.Module],
    cases: list[tuple[tuple, tuple]],
    mistakes: dict[str, Callable],
    hints: dict[str, str] | None = None,
    also: Callable[[], None] = lambda: None,
) -> None:
    """Like `compare`, for a class: each case is (constructor arguments, inputs of forward).

    The learner's parameters must have the reference's names and shapes (`hints` say what a wrong one means),
    and take its random values. A mistake is a function of the reference module and the inputs. `also` is one
    more check, made before anything is called right.

    Raises:
        AssertionError: a parameter or a result differs.
    """
    pairs = []
    for seed, (arguments, _) in enumerate(cases):
        ours = randomise(outcome(reference, arguments), seed).eval()
        mine = outcome(yours, arguments)
        if isinstance(mine, Exception):
            raise AssertionError(f"{name}({shapes(arguments)}): {describe(mine, torch.empty(0))}") from mine
        if not isinstance(mine, nn.Module):
            raise AssertionError(f"{name}: expected a class that inherits from nn.Module, got {yours.__name__}")
        compare_parameters(name, mine, ours, hints or {})
        mine.load_state_dict(dict(ours.named_parameters()), strict=False)
        pairs.append((mine.eval(), ours))
    inputs = [(seed, *inputs) for seed, (_, inputs) in enumerate(cases)]
    compare(
        name,
        lambda seed, *x: pairs[seed][0](*x),
        lambda seed, *x: pairs[seed][1](*x),
        inputs,
        {
            sentence: lambda seed, *x, mistaken=mistaken: mistaken(pairs[seed][1], *x)
            for sentence, mistaken in mistakes.items()
        },
        also,
    )


def compare_parameters(name: str, mine: nn.Module, ours: nn.Module, hints: dict[str, str]) -> None:
    """Same names, same shapes, or an AssertionError that says which and, from `hints`, why."""
    wanted = {key: tuple(value.shape) for key, value in ours.named_parameters()}
    got = {key: tuple(value.shape) for key, value in mine.named_parameters()}
    for key in [*got, *wanted]:
        if wanted.get(key) != got.get(key):
            if key not in wanted:
                fault = f"there is a parameter `{key}`, expected none of that name"
                reasons = ["extra matrix" if len(got[key]) > 1 else "extra vector"]
            elif key not in got:
                fault = f"the parameter `{key}` is not registered, expected shape {wanted[key]}"
                reasons = ["missing " + key.split(".")[0]]
            elif len(got[key]) == 3 and got[key][1:] == wanted[key][1:]:
                fault, reasons = f"the parameter `{key}` has shape {got[key]}, expected {wanted[key]}", ["batched"]
            elif got[key] == (1, 1, wanted[key][-1]):
                fault, reasons = f"the parameter `{key}` has shape {got[key]}, expected {wanted[key]}", ["one for all"]
            else:
                fault, reasons = f"the parameter `{key}` has shape {got[key]}, expected {wanted[key]}", [key]
            hint = next((hints[reason] for reason in reasons if reason in hints), "")
            raise AssertionError(f"{name}: {fault}. {hint}".strip())


def randn(*shape: int, seed: int = 0) -> Tensor:
    """Normal random numbers that are the same for everyone."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
