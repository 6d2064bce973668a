"""A second device where there is none: tensors that say they live on `cuda:0` and compute on the CPU.

Inside `with second_device():` all that names "cuda" leads here: `.to`, `.cuda()`, factories, accelerate. Results are
real, each kernel is the CPU's, and what CUDA refuses is refused: a tensor of the CPU among those elsewhere, unless it
is an index or has no dimension; numpy; a generator of the CPU.
"""

import types
from contextlib import contextmanager
from unittest import mock

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

HERE = torch.device("cuda", 0)
SET_DATA = Tensor.data.__set__
INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_"}  # their indices may be the CPU's
SCALARS = {"masked_fill_", "index_fill", "index_fill_", "fill_"}  # as in pointwise operations, numbers may be


class Elsewhere(Tensor):
    """A tensor whose numbers are in `inner`, where autograd does not look: it differentiates what is outside.

    To C++ it is a tensor of the CPU without memory, so that kernels, autocast and autograd's queue are the CPU's.
    """

    is_cuda, is_cpu, device = True, False, HERE
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: Tensor):
        new = Tensor._make_wrapper_subclass(cls, inner.shape, inner.stride(), inner.storage_offset(), dtype=inner.dtype)
        new.inner = inner
        return new

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs, got, strangers = kwargs or {}, {}, []

        def enter(tensor):
            inner = tensor.inner if type(tensor) is cls else strangers.append(tensor) or tensor
            got[id(inner)] = tensor
            return inner

        def leave(tensor):  # an operation in place gives back what it got
            return got[id(tensor)] if id(tensor) in got else cls(tensor)

        with torch._C.DisableTorchFunction():
            inner_args, inner_kwargs = replaced(enter, args), replaced(enter, kwargs)
            if strangers or kwargs:
                refuse_strangers(func, args, kwargs)
            return replaced(leave, func(*inner_args, **inner_kwargs))

    def to(self, *args, **kwargs):
        return move(self, *args, **kwargs)

    def cpu(self, **_):
        return move(self, "cpu")

    def numpy(self, **_):
        raise TypeError(f"can't convert {HERE} device type tensor to numpy. Use Tensor.cpu() to copy it to the host")

    def tolist(self):
        return self.inner.tolist()

    def __deepcopy__(self, memo):
        copy = Elsewhere(self.inner.clone()).requires_grad_(self.requires_grad)
        return memo.setdefault(id(self), nn.Parameter(copy) if isinstance(self, nn.Parameter) else copy)

    def __format__(self, spec):
        return format(repr(self) if self.ndim else self.item(), spec)

    def __repr__(self, **_):
        return f"{repr(self.inner)[:-1]}, device='{HERE}')"


def replaced(function, value):
    """`value` with `function(tensor)` for each tensor in it; no closure, whose cycle would keep tensors alive."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        return type(value)([replaced(function, v) for v in value])
    return {name: replaced(function, v) for name, v in value.items()} if type(value) is dict else value


def refuse_strangers(func, args, kwargs) -> None:
    """Raise what CUDA raises if a tensor or a generator of the CPU is where it may not be."""
    name = getattr(func, "overloadpacket", func).__name__
    if kwargs.get("generator") is not None:
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    for place, value in enumerate([*args, *kwargs.values()] if name != "copy_" else []):  # copy_ goes both ways
        for tensor in value if isinstance(value, list | tuple) else [value]:
            if isinstance(tensor, Tensor) and not isinstance(tensor, Elsewhere):
                index = name in INDEXED and place == 1 and isinstance(args[0], Elsewhere)
                number = torch.Tag.pointwise in func.tags or name in SCALARS | INDEXED
                number &= tensor.ndim == 0 and not (place == 0 and func._schema.is_mutable)
                if not index and not number:
                    found = f"{HERE} and cpu ({func}, argument {place})"
                    raise RuntimeError(f"Expected all tensors to be on the same device, but found {found}")


class Moved(torch.autograd.Function):
    """A copy on the other device, from whichever side; the gradient goes back."""

    @staticmethod
    def forward(context, tensor):
        return tensor.inner.clone() if isinstance(tensor, Elsewhere) else Elsewhere(tensor.detach().clone())

    @staticmethod
    def backward(context, gradient):
        return Moved.apply(gradient)


def move(tensor: Tensor, *args, copy=False, **kwargs) -> Tensor:
    """Tensor.to, with HERE among the devices."""
    device, dtype, _, layout = torch._C._nn._parse_to(*args, **kwargs)
    if args and isinstance(args[0], Elsewhere):
        device = HERE
    there = isinstance(tensor, Elsewhere) if device is None else device.type == "cuda"
    with torch._C.DisableTorchFunction():
        if device and device.type not in ("cpu", "cuda"):  # such as "meta"
            return Tensor.to(getattr(tensor, "inner", tensor), *args, **kwargs)
        result = Tensor.to(tensor, dtype or tensor.dtype, copy=copy, memory_format=layout or torch.preserve_format)
    return result if there == isinstance(result, Elsewhere) else Moved.apply(result)


def set_data(tensor: Tensor, value: Tensor) -> None:
    """`tensor.data = value`, as in Module.to: the same object afterwards, on the device of `value`."""
    if isinstance(tensor, Elsewhere) == isinstance(value, Elsewhere):
        vars(tensor).update(vars(value))  # `inner`, if they are elsewhere
        return SET_DATA(tensor, value)
    grad, tensor.grad = tensor.grad, None
    with mock.patch.object(Tensor, "_use_count", lambda _: 1):  # views and graphs may hold on to what was there
        torch.utils.swap_tensors(tensor, nn.Parameter(value.detach(), tensor.requires_grad))
    tensor.grad = None if grad is None else Moved.apply(grad)


WAYS = {Tensor.to: move, Tensor.cuda: lambda tensor, *_, **__: move(tensor, HERE), SET_DATA: set_data}


class Entrances(TorchFunctionMode):
    """The ways from the CPU to elsewhere: `.to`, `.cuda()`, `.data =`, and `device=` wherever it is said."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in WAYS:
            return WAYS[func](*args, **kwargs)
        kind = torch.device(kwargs["device"]).type if kwargs.get("device") is not None else None
        if kind not in ("cpu", "cuda"):
            return func(*args, **kwargs)
        if kind == "cuda":
            refuse_strangers(func, (), kwargs)
        result = func(*args, **kwargs | {"device": "cpu"})
        if isinstance(result, Elsewhere) == (kind == "cuda"):
            return result
        return Moved.apply(result).detach().requires_grad_(result.requires_grad)


@contextmanager
def second_device():
    """Within it there is a GPU called `cuda:0`, for torch and for all that ask torch."""
    autocast = torch.autocast.__init__

    def patch(module, **answers):
        return mock.patch.multiple(module, **{name: lambda *_, a=a, **__: a for name, a in answers.items()})

    def autocast_here(self, device_type, *args, **kwargs):
        autocast(self, "cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    idle = types.SimpleNamespace(is_capturing=lambda: False)  # an optimiser asks
    answers = {"is_available": True, "device_count": 1, "current_device": 0, "is_current_stream_capturing": False}
    cuda = patch(torch.cuda, **answers, get_rng_state=torch.get_rng_state(), set_rng_state=None)  # the CPU's chance
    any_kind = {"is_available": True, "current_accelerator": torch.device("cuda"), "current_stream": idle}
    with cuda, patch(torch.accelerator, **any_kind), mock.patch("torch.autocast.__init__", autocast_here), Entrances():
        yield
