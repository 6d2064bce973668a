"""How benchmarks/cifar10_data.py reads CIFAR-10, and what it refuses: archives made here."""

import io
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image

from benchmarks import cifar10_data


def noise(n):
    return torch.randint(256, (n, 3, 32, 32), dtype=torch.uint8), torch.randint(10, (n,))


def webp(pictures):
    """Pictures (n, 32, 32, 3) one under the other, as lossless WebP."""
    file = io.BytesIO()
    Image.fromarray(pictures.reshape(-1, 32, 3)).save(file, "WEBP", lossless=True, exact=True)
    return file.getvalue()


def archive(path, content):
    with zipfile.ZipFile(path, "w") as file:
        for name, value in content.items():
            file.writestr(name, value)


def test_strips_are_read_in_the_order_of_their_names(tmp_path):
    images, labels = noise(300)
    strips = [webp(part.movedim(1, -1).numpy()) for part in images.split(100)]
    first = {"00100.webp": strips[1], "labels.u1": bytes(labels[:200].tolist()), "00000.webp": strips[0]}
    archive(tmp_path / "train_1.zip", first)
    archive(tmp_path / "train_2.zip", {"labels.u1": bytes(labels[200:].tolist()), "00000.webp": strips[2]})
    got = cifar10_data.strips([tmp_path / "train_1.zip", tmp_path / "train_2.zip"])
    torch.testing.assert_close(got, (images, labels), rtol=0, atol=0)
    assert got[0].is_contiguous()


def folder_with(tmp_path, damage):
    pictures, labels = noise(100)
    content = {"00000.webp": webp(pictures.movedim(1, -1).numpy()), "labels.u1": bytes(labels.tolist())}
    content |= {
        "label missing": {"labels.u1": bytes(99)},
        "other size": {"00000.webp": webp(np.zeros((99, 32, 32, 3), np.uint8))},
        "no WebP": {"00000.webp": b"RIFF" + bytes(100)},
        "few": {},
        "cut": {},
    }[damage]
    archive(tmp_path / "test.zip", content)
    archive(tmp_path / "train_1.zip", content)
    if damage == "cut":
        whole = (tmp_path / "test.zip").read_bytes()
        (tmp_path / "test.zip").write_bytes(whole[: len(whole) // 2])
    return tmp_path


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("label missing", "100 pictures and 99 labels"),
        ("other size", "32x3168 pixels, not 32x3200"),
        ("no WebP", "is damaged: cannot identify"),
        ("cut", "is damaged: File is not a zip file"),
        ("few", "expected 5000 pictures of each of ten classes, got ["),
    ],
)
def test_a_damaged_archive_is_one_line(damage, what, tmp_path):
    with pytest.raises(ValueError, match=re.escape(what)) as error:
        cifar10_data.read(folder_with(tmp_path, damage))
    assert "\n" not in str(error.value)


def test_other_pictures_with_the_right_counts_are_refused():
    labels, right = torch.arange(10).repeat(1000), torch.empty(10_000, 3, 32, 32, dtype=torch.uint8)
    for channel, mean in enumerate(cifar10_data.MEANS["test"]):
        right[:, channel] = int(mean * 255)
        right[: round(mean * 255 % 1 * 10_000), channel] += 1
    cifar10_data.check("test", right, labels)
    with pytest.raises(ValueError, match="mean colour"):
        cifar10_data.check("test", right.flip(1), labels)  # blue, green, red


@pytest.mark.parametrize(("name", "what"), [("nowhere", "is no folder"), ("", "holds neither")])
def test_a_folder_without_the_data_is_one_line(name, what, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"^folder: .+ {what}"):
        cifar10_data.read(tmp_path / name)


class Trap:
    def __reduce__(self):
        return Path.touch, (Path("ran"),)


def test_a_pickle_that_is_not_the_known_one_is_never_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cifar-10-batches-py").mkdir()
    for name, _ in (*torchvision.datasets.CIFAR10.train_list, *torchvision.datasets.CIFAR10.test_list):
        (tmp_path / "cifar-10-batches-py" / name).write_bytes(pickle.dumps(Trap()))
    with pytest.raises(OSError, match="fetch it again"):
        cifar10_data.read(tmp_path)
    assert not (tmp_path / "ran").exists()
