"""What is refused leaves all as it was: models, tensors, folders, and what torch keeps for the whole process."""

import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from einops import EinopsError
from torch import Tensor, nn

from vit_tutorial import ViT, ViTConfig

NAMED = (TypeError, ValueError, OSError, FloatingPointError, ImportError)  # what a user meets
INSIDE = (*NAMED, ArithmeticError, AttributeError, LookupError, RuntimeError, EinopsError)  # enough within the model
NAN, INF = float("nan"), float("inf")
TINY = ViTConfig(8, 4, 3, 3, 8, 2, 2, 16)
IMAGES = torch.randn(16, 3, 8, 8, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(16) % 3


def tiny(**changes) -> ViT:
    """The same small model each time, with one part in another mode; it takes nothing from the generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = ViT(replace(TINY, **changes))
    model.encoder.blocks[0].eval()
    return model


def digest(tensor: Tensor) -> tuple:
    """What a tensor is, to the bit; of one without memory, or with its numbers elsewhere, that it is there."""
    held = tensor.layout == torch.strided and not tensor.is_meta and not tensor.is_quantized
    numbers = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if held else b""
    return tensor.dtype, tensor.requires_grad, tensor.grad is None, numbers


def content(path: Path) -> tuple:
    """Kind, mode and content of what lies at a path; a link is not followed."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return mode, os.readlink(path)
    return mode, path.read_bytes() if stat.S_ISREG(mode) else b""


def state(thing: object) -> object:
    if isinstance(thing, nn.Module):
        modes = [(m.training, len(m._forward_pre_hooks), len(m._forward_hooks)) for m in thing.modules()]
        return modes, [digest(tensor) for tensor in (*thing.parameters(), *thing.buffers())]
    if isinstance(thing, Tensor):
        return digest(thing)
    if isinstance(thing, Path):
        return {path: content(path) for path in thing.rglob("*")}
    # of anything else, and besides: what torch keeps for the whole process
    return torch.get_rng_state().tolist(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def too_long(*_) -> None:
    pytest.fail("it hangs")


@contextmanager
def refused(words: str | None, *things: object, error: type | tuple = NAMED) -> Iterator[pytest.ExceptionInfo]:
    """What is done within is refused with one of the `words`, within ten minutes, and changes none of the `things`."""
    before = [state(thing) for thing in (*things, None)]
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(600)  # a pipe is never read to its end
    try:
        with pytest.raises(error, match=words) as failed:
            yield failed
    finally:
        signal.alarm(0)
    assert [state(thing) for thing in (*things, None)] == before
