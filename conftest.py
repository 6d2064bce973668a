"""One thread a process: with two workers on two cores, more threads only wait for each other.

Set here, before torch is imported, so that pytest's workers and the lessons' kernels inherit it.
"""

import gc
import os
from typing import Any

import nbval.kernel
import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("MPLBACKEND", None)  # "agg" would silence the lessons' figures
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or hundreds of processes compile all of PyTorch's Python anew
os.environ.setdefault("ACCELERATE_USE_CPU", "true")  # bit for bit is promised for the CPU; "false" tries a GPU
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test reaches for a network
os.environ.setdefault("VIT_TUTORIAL_OFFLINE", "1")  # lessons go the way without one, as stored


def start_kernel(*args: Any, start: Any = nbval.kernel.start_new_kernel, **options: Any) -> Any:
    """Once more if it dies at birth: its ports are chosen, freed and then taken, and another may be faster."""
    try:
        return start(*args, **options)
    except RuntimeError:
        return start(*args, **options)


nbval.kernel.start_new_kernel = start_kernel


@pytest.fixture(autouse=True, scope="module")
def collected():
    yield
    gc.collect()  # an error and its frame hold each other, and MNIST may be in them


@pytest.fixture(autouse=True)
def seed():
    import torch

    torch.manual_seed(0)
