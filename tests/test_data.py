"""Photos and the trained block: what they are, and what a broken or missing file says."""

import hashlib
import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image
from torchvision.transforms import v2

from tests.border import refused
from vit_tutorial import ViTConfig, data, plots, train, weights
from vit_tutorial.train.__main__ import DIGITS

SIZES = {"astronaut": (512, 512), "cat": (451, 300), "china": (640, 427), "coffee": (600, 400)}
LICENCES = ("CC0", "public domain", "CC BY 2.0", "CC BY-SA 3.0", "CC BY 4.0", "Apache-2.0", "MIT", "GPL-2")
SIZES |= {"flower": (640, 427), "rocket": (640, 427)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the data folder that a test may damage."""
    shutil.copytree(data.FOLDER, tmp_path / "data")
    monkeypatch.setattr(data, "FOLDER", tmp_path / "data")
    return tmp_path / "data"


def test_every_photo_is_rgb_of_its_size():
    assert {name: data.photo(name).size for name in data.photos()} == SIZES
    assert all(data.photo(name).mode == "RGB" for name in data.photos())


def test_the_sums_cover_every_file_and_the_readme_names_each_with_its_licence():
    listed = dict(reversed(line.split()) for line in (data.FOLDER / "SHA256SUMS").read_text().splitlines())
    files = {p.relative_to(data.FOLDER).as_posix() for p in data.FOLDER.rglob("*") if p.is_file()}
    files = {name for name in files if not name.startswith("results/")}
    assert files - {"README.md", "SHA256SUMS", "LICENSE-APACHE", "stamps/LICENSE-GPL-2"} == set(listed)
    readme = (data.FOLDER / "README.md").read_text()
    for name, recorded in listed.items():
        assert hashlib.sha256((data.FOLDER / name).read_bytes()).hexdigest() == recorded
        row = next(line for line in readme.splitlines() if f"`{name}`" in line)
        assert any(licence in row for licence in LICENCES)


def test_the_readme_names_each_result_with_the_script_that_measured_it():
    readme = (data.FOLDER / "README.md").read_text()
    rows = re.findall(r"^\| `results/(\w+\.json)` .*\]\((\.\./\w+/\w+\.py)\)", readme, re.MULTILINE)
    assert [name for name, _ in rows] == sorted(path.name for path in data.RESULTS.iterdir())
    assert all(Path(data.FOLDER, script).is_file() for _, script in rows)


@pytest.mark.parametrize("size", [224, 96, 37])
def test_batch_equals_torchvisions_transforms(size):
    theirs = v2.Compose([v2.Resize(size, antialias=True), v2.CenterCrop(size), v2.ToImage()])
    names = data.photos()
    images = data.batch(*names, size=size)
    assert images.shape == (len(names), 3, size, size) and images.dtype == torch.float32
    expected = torch.stack([theirs(data.photo(name)).float() / 255 for name in names])
    torch.testing.assert_close(images, (expected - 0.5) / 0.5, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(451, 300), (300, 451), (7, 7), (1, 50)])
def test_any_photo_becomes_a_square(shape):
    image = data.prepare(Image.new("RGB", shape, (255, 0, 51)), 8)
    assert image.shape == (3, 8, 8)
    torch.testing.assert_close(image.mean((1, 2)), torch.tensor([1.0, -1.0, -0.6]))


@pytest.mark.parametrize(("split", "n"), [("train", 60_000), ("test", 10_000)])
def test_mnist_equals_torchvisions_reading_of_the_same_files(split, n, tmp_path):
    shutil.copytree(data.FOLDER / "mnist", tmp_path / "MNIST" / "raw")
    theirs = torchvision.datasets.MNIST(tmp_path, train=split == "train", download=True)  # finds the files, unpacks
    images, labels = data.mnist(split)
    assert images.shape == (n, 1, 28, 28) and images.dtype == torch.uint8 and labels.dtype == torch.int64
    assert torch.equal(images[:, 0], theirs.data) and torch.equal(labels, theirs.targets)


def test_real_block_is_what_the_readme_says():
    weights, tokens = data.real_block()
    assert tokens.shape == (4096, 384) and tokens.dtype == torch.float32
    assert weights["attn.qkv.weight"].shape == (1152, 384) and len(weights) == 12


def test_the_trained_weights_read_993_of_a_thousand_digits():
    path = data.path("vit_mnist.safetensors")
    assert path.stat().st_size < 1_000_000
    images, labels = data.mnist("test")
    measured = train.evaluate(weights.load(path), data.normalise(images), labels)
    assert measured["test_accuracy"] >= 0.993
    log = data.result("weights")
    assert abs(measured["test_accuracy"] - log["rows"][-1]["test_accuracy"]) < 2e-4
    assert train.Recipe(**log["recipe"]) == train.Recipe()  # the defaults made them
    assert ViTConfig(**log["config"]) == DIGITS


def test_the_weights_that_know_a_cat_say_of_our_photos_what_is_recorded():
    path, log = data.path("vit_cifar10.safetensors"), data.result("cifar10")
    assert path.stat().st_size < 2_500_000 and log["test_accuracy"] >= 0.8
    assert len(log["rows"]) == log["passes"] and abs(log["rows"][-1]["test_accuracy"] - log["test_accuracy"]) < 0.002
    model = weights.load(path)
    assert model.config == ViTConfig(**log["config"]) and next(model.parameters()).dtype == torch.float32
    assert [*log["photos"]] == data.photos()
    for name, shares in log["photos"].items():
        x = data.normalise(data.thumbnail(name)[None], **data.CIFAR10)
        top = train.predict(model, x).softmax(-1)[0].topk(3)
        assert [data.CIFAR10_CLASSES[n] for n in top.indices] == [*shares]
        assert top.values.tolist() == pytest.approx([*shares.values()], abs=1e-3)
    assert next(iter(log["photos"]["cat"])) == "cat"


def test_a_thumbnail_is_the_photo_as_pillow_shrinks_it():
    small = data.thumbnail("coffee")
    assert small.shape == (3, 32, 32) and small.dtype == torch.uint8
    resized = np.asarray(data.photo("coffee").resize((48, 32), Image.Resampling.BILINEAR))[:, 8:40]
    assert np.array_equal(small.permute(1, 2, 0).numpy(), resized)


LISTS = [b"", b"hello\n", b"a b c\n", b"\xff\xfe\0", None]


@pytest.mark.parametrize("content", LISTS, ids=repr)
def test_a_damaged_or_missing_list_is_named(content, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    if content is not None:
        (tmp_path / "SHA256SUMS").write_bytes(content)
    for call in (lambda: data.path("cat"), lambda: data.photo("cat"), data.real_block, lambda: data.mnist("test")):
        with refused("SHA256SUMS", tmp_path, error=(ValueError, FileNotFoundError)):
            call()


@pytest.mark.parametrize("content", [b"", b'{"a": [1, 2', b"\xff\xfe\0", b"[" * 100_000], ids=lambda b: f"{b[:9]}")
def test_a_damaged_result_is_named(content, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "RESULTS", tmp_path)
    (tmp_path / "luck.json").write_bytes(content)
    with refused(r"luck\.json is damaged", tmp_path, error=ValueError):
        data.result("luck")


def test_hidden_files_are_no_photos(folder):
    (folder / "photos" / ".DS_Store").write_bytes(b"x")
    (folder / "photos" / "._cat.png").write_bytes(b"x")
    assert set(data.photos()) == set(SIZES) and data.photo("cat").size == SIZES["cat"]


CAT = Image.new("RGB", (20, 10))


GREYS = np.linspace(0, 255, 12).reshape(3, 4).round().astype("u1")  # 3 rows, 4 columns
GREY = Image.fromarray(GREYS)
HALF = np.where(np.arange(12).reshape(3, 4) % 2, 255, 0).astype("u1")  # every other pixel is opaque


def stored(photo, kind, **options):
    """As a file has it."""
    file = io.BytesIO()
    photo.save(file, kind, **options)
    return Image.open(file)


def held(turned):
    """A file of a phone that was held so: the pixels as its sensor had them, and a note."""
    exif = Image.Exif()
    exif[0x0112] = {None: 1, Image.Transpose.ROTATE_90: 6, Image.Transpose.ROTATE_270: 8}[turned]
    return stored(CAT.transpose(turned) if turned else CAT, "PNG", exif=exif)


@pytest.mark.parametrize("turned", [None, Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_270])
def test_a_phones_photo_stands_upright(turned):
    assert np.array_equal(data.as_seen(held(turned)), CAT)
    assert torch.equal(data.prepare(held(turned), 32), data.prepare(CAT, 32))
    assert (plots.as_picture(held(turned)) == plots.as_picture(CAT)).all()


def test_sixteen_bits_become_eight():
    photo = stored(Image.fromarray(GREYS.astype("u2") * 257), "PNG")
    assert photo.mode == "I;16" and np.array_equal(data.as_seen(photo), np.stack([GREYS] * 3, -1))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "RGB", "L"])
def test_what_is_transparent_is_white(mode):
    photo = GREY.convert("RGB")
    photo.putalpha(Image.fromarray(HALF))
    if mode == "P":  # one entry of the palette is transparent
        photo = stored(photo.quantize(), "PNG")
    elif mode in ("RGB", "L"):  # one colour is
        photo = stored(GREY.convert(mode), "PNG", transparency=0 if mode == "L" else (0, 0, 0))
    else:
        photo = photo.convert(mode)
    clear = GREYS == 0 if mode in ("RGB", "L") else HALF == 0
    seen = np.asarray(data.as_seen(photo))
    assert (seen[clear] == 255).all() and (np.abs(seen[~clear] - GREYS[~clear][:, None].astype(int)) < 3).all()


@pytest.mark.parametrize("mode", ["I", "F"])
def test_where_nothing_says_what_is_white_the_remedy_is_one(mode):
    with pytest.raises(ValueError, match=f"photo: expected numbers of 8 or 16 bits, got mode {mode}; try ") as refused:
        data.prepare(GREY.convert(mode))
    remedy = str(refused.value).partition("try ")[2].partition(", with")[0]
    found = eval(remedy, {"Image": Image, "np": np, "photo": GREY.convert(mode), "white": 255})
    assert np.array_equal(data.as_seen(found), np.stack([GREYS] * 3, -1))


FILES = {"photos/cat.png": lambda: data.photo("cat"), "sam2_block7.safetensors": data.real_block}
FILES |= {"mnist/t10k-images-idx3-ubyte.gz": lambda: data.mnist("test")}


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_or_missing_file_is_named_with_what_to_do(name, folder):
    content = (folder / name).read_bytes()
    for damaged in (b"", content[:-100], b"\0" + content[1:], content[:50] + b"?" + content[51:]):
        (folder / name).write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{name} is damaged \({len(damaged)} bytes, .* fetch data/{name} again"):
            FILES[name]()
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name} is missing: fetch data/{name} again"):
        FILES[name]()
