"""Bad files and data."""

import os
import socket
import stat
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from tests.hard import broken_files as broken
from tests.hard.judge import INF, NAN, NOT_PATHS, NOT_TENSORS, NOT_TEXTS, Case, Named, each
from vit_tutorial import data, files

GOOD = {"a": torch.ones(2)}


def on(content: bytes, name: str = "whatever.bin"):
    """A set-up that puts a file there and answers with its path."""

    def setup(world) -> Path:
        (world.here / name).write_bytes(content)
        return world.here / name

    return setup


def places(world) -> dict[str, Path]:
    """Paths at which nothing can be read, and most of which cannot be written."""
    here = world.here
    (here / "folder").mkdir()
    (here / "plain").write_bytes(b"x")
    os.mkfifo(here / "fifo")
    (here / "loop").symlink_to("loop")
    (here / "dangling").symlink_to("nowhere/else")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    return {name: here / name for name in ("folder", "fifo", "loop", "dangling", "socket")} | {
        "missing": here / "missing" / "x",
        "empty": "",
        "below a file": here / "plain" / "x",
        "NUL": "a\0b",
        "long": here / ("x" * 300),
        "surrogate": "\ud800/x",
    }


PLACES = ("folder", "fifo", "loop", "dangling", "socket", "missing", "below a file", "NUL", "long", "empty")


def at_places(name: str, call, *leave: str, words=("path",)) -> list[Case]:
    """`call(world, path)` at each of the places."""
    said = {"long": "xxxxx", "below a file": "plain/x"}
    return [
        Case(
            f"{name}: {place}",
            lambda w, made, place=place: call(w, made[place]),
            (*words, said.get(place, place)),
            places,
        )
        for place in (*PLACES, "surrogate")
        if place not in leave
    ]


def reading() -> list[Case]:
    cases = each("files.read", "path", NOT_PATHS, lambda w, value: files.read(value))
    cases += at_places("files.read", lambda w, path: files.read(path))
    for kind, content in broken.good().items():
        for cut, rest in broken.cuts(content).items():
            cases.append(Case(f"files.read: {kind}, {cut}", lambda w, p: files.read(p), ("path",), on(rest)))
        whole = {name: tensor.numpy() for name, tensor in broken.STATE.items()}
        same = lambda w, p, whole=whole: all(  # noqa: E731
            np.array_equal(np.asarray(found), whole[name]) for name, found in files.read(p)[0].items()
        )
        cases.append(Case(f"files.read: {kind}, whole", same, setup=on(content), fine=True))
    for name, content in broken.strangers().items():
        cases.append(Case(f"files.read: {name}", lambda w, p: files.read(p), ("path",), on(content)))
    saved = broken.ours()
    for name, content in (broken.flips(saved, 40) | broken.cuts(saved)).items():
        cases.append(Case(f"files.read: ours, {name}", lambda w, p: files.read(p), ("path",), on(content)))
    return cases


def replaced(name: str, *arguments, words=("tensors:",), fine=False, check=None) -> Case:
    """A save over a good file, which must stay where it is refused."""

    def call(world, path):
        files.save(path, *arguments)
        return check(files.read(path)) if check else True

    return Case(f"files.save: {name}", call, words, on(broken.good()["safetensors"]), fine)


def saving() -> list[Case]:
    cases = each("files.save", "path", NOT_PATHS, lambda w, value: files.save(value, GOOD, {}))
    cases += at_places("files.save", lambda w, path: files.save(path, GOOD, {}), "dangling")
    odd = [None, [], 3, "text", torch.ones(2), {}, {"__metadata__": torch.ones(2)}, {1: torch.ones(2)}]
    odd += [{None: torch.ones(2)}, {("a", "b"): torch.ones(2)}, {b"a": torch.ones(2)}, {"\ud800": torch.ones(2)}]
    odd += [{"a": value} for value in NOT_TENSORS] + [{"a": np.ones(2)}, {"a": GOOD}]
    cases += [replaced(f"tensors {number}", tensors, {}) for number, tensors in enumerate(odd)]
    cases += [replaced(name, {"a": tensor}, {}) for name, tensor in broken.strange_tensors().items()]
    cases += [replaced(f"beside, {name}", GOOD | {"b": t}, {}) for name, t in broken.strange_tensors().items()]
    texts = [None, 3, [1], "text", {"a": 1}, {"a": None}, {1: "a"}, {"a": b"x"}, {"a": {}}, {"a": "\ud800"}]
    words = ("tensors:", "texts", "metadata")
    cases += [replaced(f"texts {number}", GOOD, text, words=words) for number, text in enumerate(texts)]
    tied, complex_ = torch.ones(3, 3), torch.complex(torch.ones(2), torch.ones(2))
    good = {
        "tied": {"a": tied, "b": tied},
        "a view beside the whole": {"a": tied, "b": tied[1:]},
        "transposed": {"a": torch.arange(6.0).reshape(2, 3).T},
        "conjugated": {"a": complex_.conj()},
        "negated": {"a": complex_.conj().imag},
        "empty": {"a": torch.ones(0, 3)},
        "a number": {"a": torch.tensor(3.0)},
        "expanded": {"a": torch.ones(1).expand(5)},
        "float8": {"a": torch.ones(4).to(torch.float8_e4m3fn)},
        "a parameter": {"a": torch.nn.Parameter(torch.ones(3))},
    }
    for name, tensors in good.items():
        check = lambda found, tensors=tensors: all(  # noqa: E731
            torch.equal(found[0][n].double() if t.dtype.itemsize == 1 else found[0][n], plain(t))
            for n, t in tensors.items()
        )
        cases.append(replaced(name, tensors, {"text": "ä\n"}, fine=True, check=check))
    return cases


def plain(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return tensor.double() if tensor.dtype.itemsize == 1 else tensor


def writing() -> list[Case]:
    cases = each("files.write", "path", NOT_PATHS, lambda w, value: files.write(value, b"x"))
    cases += at_places("files.write", lambda w, path: files.write(path, b"x"), "dangling")
    odd = [None, "text", 3, 2.5, [1], {}, torch.ones(2)]
    cases += each("files.write", "content", odd, lambda w, value: files.write("x", value), "content", "bytes")

    def link(world, _):
        Path("real").write_bytes(b"old")
        Path("link").symlink_to("real")
        files.write("link", b"new")
        return Path("link").is_symlink() and Path("real").read_bytes() == b"new"

    def mode(world, _):
        Path("x").write_bytes(b"old")
        Path("x").chmod(0o600)
        files.write(Path("x"), b"new")
        return stat.S_IMODE(Path("x").stat().st_mode) == 0o600

    long = lambda w, _: files.write("x" * 255, b"new") or Path("x" * 255).read_bytes() == b"new"  # noqa: E731
    good = {"a link is followed": link, "a mode is kept": mode, "a name of 255 letters": long}
    return cases + [Case(f"files.write: {name}", call, fine=True) for name, call in good.items()]


def all_files() -> list[Case]:
    return reading() + saving() + writing()


# --- data ---


@contextmanager
def folder(world, **contents: bytes):
    """`data` reads from a folder with these files, "__" for "/"; its list is right, where it is not among them."""
    before = data.FOLDER, data.RESULTS
    data.FOLDER = data.RESULTS = world.here
    try:
        for name, content in contents.items():
            path = world.here / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        yield
    finally:
        data.FOLDER, data.RESULTS = before


def damaged(name: str, call, words: tuple[str, ...], **contents: bytes) -> Case:
    def setup(world):
        with folder(world, **contents):
            pass

    def within(world, _):
        with folder(world):
            return call()

    return Case(name, within, words, setup)


def data_cases() -> list[Case]:
    odd = [*NOT_TEXTS, "README.md", "./photos/cat.png", "../README.md", "/etc/hostname", "photos", "a\0b", "cat\n"]
    cases = []
    for function in (data.path, data.result, data.photo):
        cases += each(f"data.{function.__name__}", "name", odd, lambda w, v, f=function: f(v), "name", "missing")
    cases += each("data.result", "name", ["../../pyproject", "ablation.json"], lambda w, value: data.result(value))
    cases += each("data.mnist", "split", [*NOT_TEXTS, "val", "Train"], lambda w, value: data.mnist(value))
    lists = {"empty": b"", "one word": b"hello\n", "three words": b"a b c\n", "binary": b"\xff\xfe\0", "NUL": b"\0" * 9}
    for name, text in lists.items():
        words = ("SHA256SUMS", "missing")
        content = {"SHA256SUMS": text, "photos__cat.png": b"x"}
        cases.append(
            damaged(f"data.path: a list that is {name}", lambda: data.path("photos/cat.png"), words, **content)
        )
        cases.append(damaged(f"data.photo: a list that is {name}", lambda: data.photo("cat"), words, **content))
    cases.append(damaged("data.path: no list", lambda: data.path("photos/cat.png"), ("SHA256SUMS",)))
    cases.append(damaged("data.real_block: no list", data.real_block, ("SHA256SUMS",)))
    cases.append(damaged("data.mnist: no list", lambda: data.mnist("test"), ("SHA256SUMS",)))
    jsons = {"empty": b"", "cut": b'{"a": [1, 2', "binary": b"\xff\xfe\0", "deep": b"[" * 100_000, "text": b"hello"}
    for name, text in jsons.items():
        call = lambda: data.result("luck")  # noqa: E731
        cases.append(damaged(f"data.result: a file that is {name}", call, ("luck",), **{"luck.json": text}))
    images = torch.arange(9, dtype=torch.uint8)
    odd = [t for t in NOT_TENSORS] + [images.float(), images.long(), np.ones(3, "u1"), images.bool(), images.to("meta")]
    cases += each("data.normalise", "images", odd[:-1], lambda w, value: data.normalise(value))
    stds = [0, 0.0, -1.0, NAN, INF, 78.6, 1.5]
    cases += each("data.normalise", "std", stds, lambda w, value: data.normalise(images, 0.1, value))
    means = [-0.1, 1.5, 33.3, NAN, INF]
    return cases + each("data.normalise", "mean", means, lambda w, value: data.normalise(images, value, 0.3))


def prepared() -> list[Case]:
    """Pictures in memory: Pillow's own errors are enough."""
    from PIL import Image

    cat = Image.new("RGB", (20, 10))
    cases = each("data.prepare", "photo", NOT_TENSORS, lambda w, value: data.prepare(value))
    for taken, modes in (
        ("", ("L", "I;16", "F", "1", "P")),
        ("the model refuses its channels", ("RGBA", "CMYK", "LA")),
    ):
        odd = [(Named(mode), Image.new(mode, (9, 9))) for mode in modes]
        cases += each("data.prepare", "mode", odd, lambda w, value: data.prepare(value, 8), taken=taken)
    cases += each("data.prepare", "empty", [(Named("0x5"), Image.new("RGB", (0, 5)))], lambda w, v: data.prepare(v))
    sizes = [None, "8", 2.5, -1, 0, NAN, [], 10**9]
    cases += each("data.prepare", "size", sizes, lambda w, value: data.prepare(cat, value))
    cases += each("data.batch", "size", sizes, lambda w, value: data.batch("cat", size=value))
    names = [None, 3, "dog", "", b"cat", ["cat", "rocket"]]
    return cases + each("data.batch", "name", [*names], lambda w, value: data.batch(value), "name")
