"""Runs bad inputs one by one, and says of each what came of it: see `CLASSES`."""

import contextlib
import hashlib
import importlib
import io
import os
import shutil
import signal
import stat
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from vit_tutorial import ViT, ViTConfig
from vit_tutorial.train import Recipe

CLASSES = {
    "named": "a fitting error that names the argument or the file",
    "torch": "a readable error of torch, einops, matplotlib, Pillow or argparse: enough inside the model",
    "fine": "good input that works, or bad input that works and is warned of",
    "raw": "an error that names neither argument nor file, or of a type that says nothing; good input refused",
    "silent": "a bad input that is taken",
    "harm": "an error after which something is not as it was, or code that ran, or the end of the process",
}
NAMED = (TypeError, ValueError, OSError, FloatingPointError, ImportError)
WRONG = (AttributeError, KeyError, ZeroDivisionError, AssertionError, RecursionError, MemoryError, UnboundLocalError)
TINY = ViTConfig(8, 4, 3, 3, 8, 2, 2, 16)


@dataclass(frozen=True)
class Case:
    """`call` gets a `World` and what `setup` made there; one of `words` must stand in the error.

    `taken` says why it is right that a bad input is taken: then it may be. `fine` marks good input, `warns` is the word
    that a warning must have where a bad input is taken.
    """

    name: str
    call: Callable
    words: tuple[str, ...] = ()
    setup: Callable = lambda world: None
    fine: bool = False
    warns: str = ""
    taken: str = ""
    free: tuple[str, ...] = ()  # what of a world's fingerprint it may change


class World:
    """What a case may use and must not change: a model, images and a folder `here`, which is the current one, too."""

    def __init__(self, root: Path):
        self.root, self.here, self.ran = root, root / "here", root / "ran"
        chance = torch.Generator().manual_seed(0)
        self.images, self.labels = torch.randn(16, 3, 8, 8, generator=chance), torch.arange(16) % 3
        self.recipe = Recipe(epochs=2, batch_size=8)
        self.reset()

    def reset(self) -> None:
        torch.manual_seed(0)
        self.model = ViT(TINY)
        self.model.encoder.blocks[0].eval()  # modes of its own
        shutil.rmtree(self.root, ignore_errors=True)
        self.here.mkdir(parents=True)
        os.chdir(self.here)
        self.stale = False

    def fingerprint(self) -> dict[str, object]:
        modules = list(self.model.modules())
        tensors = [*self.model.parameters(), self.images, self.labels]
        return {
            "parameters": [digest(tensor) for tensor in tensors],
            "gradients": [(p.requires_grad, p.grad is None) for p in tensors],
            "modes": [module.training for module in modules],
            "hooks": [len(module._forward_pre_hooks) + len(module._forward_hooks) for module in modules],
            "generator": digest(torch.get_rng_state()),
            "files": {str(path.relative_to(self.root)): contents(path) for path in sorted(self.root.rglob("*"))},
            "no_grad": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        }


def another(**changes) -> ViT:
    """A model beside the world's, which takes nothing from the generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return ViT(replace(TINY, **changes))


def digest(tensor: torch.Tensor) -> str:
    return hashlib.sha1(tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()).hexdigest()


def contents(path: Path) -> tuple:
    """Kind, mode and content of what lies at a path; a link is not followed."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return mode, os.readlink(path)
    return mode, hashlib.sha1(path.read_bytes()).hexdigest() if stat.S_ISREG(mode) else ""


class Hung(BaseException):
    """Ten seconds have passed."""


def give_up(*_):
    raise Hung("hung: ten seconds have passed")


def judge(case: Case, world: World, border: bool) -> tuple[str, str]:
    """The class of one case, and what was said."""
    torch.manual_seed(1)
    made = case.setup(world)
    before, said = world.fingerprint(), io.StringIO()
    error = result = None
    with warnings.catch_warnings(record=True) as heard, contextlib.redirect_stderr(said):
        warnings.simplefilter("always")
        signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, 10)
        try:
            with contextlib.redirect_stdout(said):
                result = case.call(world, made)
        except (Exception, SystemExit, KeyboardInterrupt, Hung) as raised:
            error = raised
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    after = world.fingerprint()
    world.stale = before != after or made is not None or any(world.here.iterdir()) or Path.cwd() != world.here
    changed = [name for name in before if before[name] != after[name] and name not in case.free]
    message = f"{type(error).__name__}: {error}" if error else f"returned {type(result).__name__}"
    if isinstance(error, SystemExit):
        message = said.getvalue().strip()
    if world.ran.exists():
        return "harm", f"code ran; {message}"
    if isinstance(error, Hung):
        return "harm", message
    if error is None:
        words = " ".join(str(warning.message) for warning in heard)
        good = (case.fine and result is not False) or case.taken or (case.warns and case.warns in words)
        return ("fine" if good else "silent"), f"{message}; {words}"
    if changed:
        return "harm", f"changed {changed}; {message}"
    if case.fine:
        return "raw", f"refused: {message}"
    if isinstance(error, SystemExit):
        last, code = message.splitlines()[-1] if message else "", error.code
        lines = message.count("\n") + 1
        named = code in (1, 2) and any(word in last for word in case.words) and (code == 2 or lines == 1)
        return ("named" if named else "raw"), message
    if isinstance(error, NAMED) and any(word in str(error) for word in case.words):
        return "named", message
    return ("raw" if border or isinstance(error, WRONG) else "torch"), message


def run(cases: list[Case], root: Path, border: bool, start: int = 0):
    """Yields (name, class, message) of each case from the number `start` on."""
    for slow in ("accelerate", "torch._dynamo", "matplotlib.pyplot", "sklearn.linear_model"):
        importlib.import_module(slow)  # or the first case that needs it would seem to hang
    home, world = Path.cwd(), World(root)
    try:
        for case in cases[start:]:
            if world.stale:
                world.reset()
            yield case.name, *judge(case, world, border)
    finally:
        os.chdir(home)
        shutil.rmtree(root, ignore_errors=True)


def short(value: object) -> str:
    """A value in a few letters, for the name of a case."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    text = repr(value) if not callable(value) else getattr(value, "__name__", "function")
    return text if len(text) < 40 else f"{text[:30]}...{len(text)}"


def each(name: str, argument: str, values, call: Callable, *words: str, **more) -> list[Case]:
    """A case for each bad value of an argument: `call(world, value)`. A value may be made anew by a function `of`."""

    def case(value):
        what = value if not (isinstance(value, tuple) and value and isinstance(value[0], Named)) else value[1]
        label = short(value) if what is value else value[0]
        return Case(f"{name}({argument}={label})", lambda w, _: call(w, what), words or (argument,), **more)

    return [case(value) for value in values]


class Named(str):
    """The label of a value whose own text would say nothing: `(Named("a loop"), value)`."""


NAN, INF = float("nan"), float("inf")
NOT_PATHS = [None, 0, False, 3, 2.5, [], {}, b"bytes", (Named("object"), object()), torch.ones(2)]
NOT_TENSORS = [None, 3, 2.5, "text", [], [[1.0]], {}, (Named("object"), object()), b"x"]
NOT_COUNTS = [None, "2", 2.5, -1, NAN, INF, [], {}, torch.ones(2), (Named("object"), object())]
NOT_RATES = [None, "0.1", -0.1, NAN, [], {}, -INF, torch.ones(2), (Named("object"), object())]
NOT_TEXTS = [None, 3, 2.5, [], {}, b"cls", "", "x" * 60, "CLS", (Named("object"), object())]
