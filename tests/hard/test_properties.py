"""Any bytes, cuts and flips of real files, tensors of any kind: a right result or an error that names what is wrong."""

import functools
import gzip
import json
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.hard import broken_files
from tests.hard import cases_checkpoint as checkpoints
from tests.hard.cases_weights import LOADERS, states
from tests.hard.judge import World, another
from vit_tutorial import data, files, weights
from vit_tutorial.weights.infer_config import infer_config

few = functools.partial(
    settings,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
    report_multiple_bugs=False,
)
BORDER = (TypeError, ValueError, OSError)


@st.composite
def damaged(draw, contents: dict[str, bytes]) -> tuple[str, bytes]:
    """A file that was cut, or some of whose bits were flipped, or a part of which was repeated or filled."""
    kind = draw(st.sampled_from(sorted(contents)))
    content = bytearray(contents[kind])
    place = draw(st.integers(0, len(content) - 1))
    how = draw(st.sampled_from(["cut", "flip", "flip", "fill", "repeat", "header"]))
    if how == "cut":
        del content[place:]
    elif how == "fill":
        content[place : place + 16] = bytes([draw(st.integers(0, 255))]) * len(content[place : place + 16])
    elif how == "repeat":
        content[place:place] = content[place : place + draw(st.integers(1, 64))]
    else:
        for spot in draw(st.lists(st.integers(0, 99 if how == "header" else len(content) - 1), min_size=1, max_size=4)):
            content[spot % len(content)] ^= 1 << draw(st.integers(0, 7))
    return kind, bytes(content)


def tried(call, content: bytes, name="a file"):
    """What `call(path)` gives, or None where it names the file; nothing beside the file has changed."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            return call(path)
        except BORDER as error:
            assert any(word in str(error) for word in (name, "path", "state_dict")), repr(error)
        finally:
            assert list(Path(folder).iterdir()) == [path] and path.read_bytes() == content


def is_a_mapping(found) -> bool:
    tensors, texts = found
    return isinstance(tensors, dict) and all(isinstance(text, str) for pair in texts.items() for text in pair)


@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"\x80\x02", b"\x80\x04", b"\x40\0\0\0\0\0\0\0{"]))
@few(max_examples=150)
def test_any_bytes_are_read_or_named(content, start):
    assert (found := tried(files.read, start + content)) is None or is_a_mapping(found)


@given(damaged(broken_files.good()))
@few(max_examples=250)
def test_damaged_files_of_others_are_read_or_named(file):
    assert (found := tried(files.read, file[1])) is None or is_a_mapping(found)


@functools.cache
def ours() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        weights.save(another(), Path(folder) / "x")
        return {"tensors": broken_files.ours(), "model": (Path(folder) / "x").read_bytes()}


@given(st.data())
@few(max_examples=150)
def test_damage_to_a_file_of_ours_is_always_seen(chosen):
    kind, content = chosen.draw(damaged(ours()))
    named = files.CHECKSUM.encode() in content or len(content) < 200  # without its name a checksum is none
    if content != ours()[kind] and named:
        assert tried(files.read if kind == "tensors" else weights.load, content) is None


@given(damaged({"safetensors": broken_files.good()["safetensors"], "zip": broken_files.torch_file(states()["timm"])}))
@few(max_examples=60)
def test_weights_from_a_damaged_file_are_taken_whole_or_not_at_all(file):
    model = another()
    before = [tensor.clone() for tensor in model.state_dict().values()]

    def load(path):
        weights.load_timm(model, path)
        return True

    if tried(load, file[1]) is None:
        assert all(map(torch.equal, before, model.state_dict().values()))
    tried(infer_config, file[1])


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """MNIST's test labels, in a folder of their own."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "mnist").mkdir()
    for name in ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"):
        (folder / "mnist" / name).write_bytes((data.FOLDER / "mnist" / name).read_bytes())
    (folder / "SHA256SUMS").write_bytes((data.FOLDER / "SHA256SUMS").read_bytes())
    return folder


@given(st.data())
@few(max_examples=12)
def test_damaged_digits_are_named(digits, chosen):
    path = digits / "mnist" / "t10k-labels-idx1-ubyte.gz"
    whole, before = path.read_bytes(), data.FOLDER
    _, content = chosen.draw(damaged({"gzip": whole, "unpacked": gzip.decompress(whole)[:9000]}))
    try:
        data.FOLDER = digits
        path.write_bytes(content)
        if content != whole:
            with pytest.raises(ValueError, match=r"t10k-labels.*damaged"):
                data.mnist("test")
    finally:
        data.FOLDER = before
        path.write_bytes(whole)


# --- tensors of any kind ---

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
LAYOUTS = {
    "plain": lambda t: t,
    "transposed": lambda t: t.mT.contiguous().mT if t.ndim > 1 else t,
    "expanded": lambda t: t[:1].expand_as(t) if t.ndim else t,
    "strided": lambda t: t.repeat_interleave(2, -1)[..., ::2] if t.ndim else t,
    "coo": lambda t: t.to_sparse() if t.ndim else t,
    "meta": lambda t: t.to("meta"),
    "array": lambda t: t.numpy() if t.dtype != torch.bfloat16 else t,
    "conj": lambda t: t.conj(),
    "gradient": lambda t: t.requires_grad_() if t.is_floating_point() else t,
}


@st.composite
def anything(draw, shape) -> object:
    """A tensor of this shape, as a rule, of any dtype and layout; or something else."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([None, 3, "text", [], {}, np.ones(2, "datetime64[s]"), b"x"]))
    if draw(st.integers(0, 3)) == 0:
        shape = draw(st.lists(st.integers(0, 4), max_size=4))
    with warnings.catch_warnings(action="ignore"):
        tensor = torch.arange(float(torch.Size(shape).numel())).reshape(shape).to(draw(st.sampled_from(DTYPES)))
        return LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](tensor)


@given(st.data())
@few(max_examples=120)
def test_save_keeps_what_it_takes_and_names_what_it_refuses(chosen):
    names = chosen.draw(st.lists(st.text(max_size=5), min_size=0, max_size=3, unique=True))
    tensors = {name: chosen.draw(anything((2, 3))) for name in names}

    def there_and_back(path):
        files.save(path, tensors, {"a text": "é\0"})
        found, texts = files.read(path)
        assert texts["a text"] == "é\0" and found.keys() == tensors.keys()
        assert all(torch.equal(found[name], tensor.detach().resolve_conj()) for name, tensor in tensors.items())
        return True

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"old")
        try:
            there_and_back(path)
        except (TypeError, ValueError) as error:
            assert "tensors:" in str(error), repr(error)
            assert path.read_bytes() == b"old"
        assert list(Path(folder).iterdir()) == [path]


@given(st.data())
@few(max_examples=200)
def test_a_state_dict_of_anything_is_taken_whole_or_not_at_all(chosen):
    library = chosen.draw(st.sampled_from(sorted(LOADERS)))
    state, model = dict(states()[library]), another()
    for name in chosen.draw(st.lists(st.sampled_from(sorted(state)), min_size=1, max_size=2, unique=True)):
        state[name] = chosen.draw(anything(tuple(state[name].shape)))
    before = [tensor.clone() for tensor in model.state_dict().values()]
    with warnings.catch_warnings(action="ignore"):
        try:
            LOADERS[library](model, state)
        except (TypeError, ValueError) as error:
            assert "state_dict" in str(error), repr(error)
            assert all(map(torch.equal, before, model.state_dict().values()))
        else:
            numbers = [np.asarray(t.detach().float()) if isinstance(t, torch.Tensor) else t for t in state.values()]
            expected = sum(float(np.asarray(t, "f8").sum()) for t in numbers)
            found = sum(tensor.double().sum().item() for tensor in model.state_dict().values())
            assert found == pytest.approx(expected, rel=1e-3, abs=0.5)


@given(st.data())
@few(max_examples=60)
def test_a_damaged_checkpoint_never_goes_on(chosen):
    whole = checkpoints.left()[checkpoints.NAME]
    _, content = chosen.draw(damaged({"checkpoint": whole}))
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            world = World(Path(folder) / "world")
            checkpoints.lay(world).write_bytes(content)
            before = [tensor.clone() for tensor in world.model.state_dict().values()]
            if content != whole:
                with pytest.raises(ValueError, match=r"path|folder"):
                    checkpoints.fit(world)
                assert all(map(torch.equal, before, world.model.state_dict().values()))
                assert (world.here / "run" / checkpoints.NAME).read_bytes() == content
        finally:
            os.chdir(home)


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.integers(), st.lists, max_leaves=4)
)
@few(max_examples=60)
def test_a_config_with_any_value_is_loaded_or_named(value):
    field = ("depth", "embed_dim", "image_size", "pool", "dropout", "norm_eps")[len(str(value)) % 6]
    texts = {"vit_config": json.dumps({"image_size": 8, "patch_size": 4, "num_heads": 2, field: value})}

    def load(path):
        files.save(path, dict(states()["vit_tutorial"]), texts)
        with pytest.raises(ValueError, match="path: "):  # the other sizes are those of B/16
            weights.load(path)

    with tempfile.TemporaryDirectory() as folder:
        load(Path(folder) / "x")
