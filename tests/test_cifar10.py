"""benchmarks/cifar10.py without its data: pictures of the same shape, made here."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.optim import Muon

from benchmarks import cifar10, cifar10_data, cifar10_train
from vit_tutorial import ViT, weights

TINY = replace(cifar10.SMALL, embed_dim=32, depth=2, num_heads=2, mlp_dim=64, patch_size=8)
GOAL = replace(cifar10.GOALS["cpu"], config=TINY, epochs=6, batch_size=50, shift=1)


def noise(n, *, seed=0):
    chance = torch.Generator().manual_seed(seed)
    images = torch.randint(256, (n, 3, 32, 32), dtype=torch.uint8, generator=chance)
    return images, torch.randint(10, (n,), generator=chance)


def striped(n, *, seed):
    """Noise, with three rows of a class's own brighter in one colour: a mirror changes nothing."""
    images, labels = noise(n, seed=seed)
    images = images // 2
    for image, label in zip(images, labels.tolist(), strict=True):
        image[label % 3, 3 * label : 3 * label + 3] += 127
    return images, labels


# How a batch is changed


def test_each_image_is_mirrored_and_moved_by_its_own_offset():
    (images, labels), mirrored = noise(40), torch.arange(40) % 3 == 0
    goal = replace(GOAL, shift=4)
    got, targets = cifar10_train.batch_of(images, labels, mirrored, goal, True, torch.Generator().manual_seed(5))
    drawn = torch.randint(-4, 5, (40, 2), generator=torch.Generator().manual_seed(5)).tolist()
    assert len({tuple(offset) for offset in drawn}) > 20
    for i, (down, right) in enumerate(drawn):
        image = images[i].numpy()[:, :, ::-1] if mirrored[i] else images[i].numpy()
        padded = np.pad(image, ((0, 0), (4, 4), (4, 4)), mode="edge")
        cropped = padded[:, 4 + down : 36 + down, 4 + right : 36 + right] / 255
        np.testing.assert_allclose(got[i], (cropped - 0.4734) / 0.2516, atol=1e-5)
        assert targets[i].tolist() == [float(k == labels[i]) for k in range(10)]


@pytest.mark.parametrize("hard", [True, False])
def test_a_batch_is_hard_only_where_it_shall_be_and_always_of_one_layout(hard):
    (images, labels), goal = noise(30), replace(GOAL, distort=0.5, cutmix=0.5)
    arguments = images, labels, torch.ones(30, dtype=torch.bool)
    got, targets = cifar10_train.batch_of(*arguments, goal, hard, torch.Generator().manual_seed(0))
    assert got.is_contiguous() and got.dtype == torch.float32 and got.shape == (30, 3, 32, 32)
    assert targets.is_contiguous() and targets.dtype == torch.float32 and targets.shape == (30, 10)
    plain, classes = cifar10_train.batch_of(*arguments, GOAL, hard, torch.Generator().manual_seed(0))
    mixed, distorted = (targets != classes).any(1), ((got - plain).abs() > 1e-3).flatten(1).any(1)
    assert 5 < mixed.sum() < 25 and distorted.sum() > mixed.sum() if hard else not (mixed | distorted).any()


def test_cutmix_shares_a_label_as_it_shares_the_area():
    images = torch.arange(200.0).view(200, 1, 1, 1).expand(200, 3, 32, 32)
    targets, (share, y, x) = torch.eye(200), torch.rand(3, 200)
    share[:3], y[:3], x[:3] = torch.tensor([0.0, 1.0, 0.25]), 0.5, 0.5
    mixed, labels = cifar10_data.cutmix(images, targets, share, torch.stack([y, x], dim=1))
    for i in range(200):
        theirs = mixed[i] != i
        assert (mixed[i][theirs] == (i - 1) % 200).all() and (theirs[0] == theirs[1]).all()
        assert labels[i, (i - 1) % 200] == pytest.approx(theirs.double().mean().item())
        assert labels[i].sum() == pytest.approx(1) and labels[i, i] == pytest.approx((~theirs).double().mean().item())
        half = 16 * share[i].sqrt()  # the box is a square around its centre, to half a pixel, cut off at the edges
        rows, columns = (theirs[0].any(dim).nonzero().flatten() for dim in (1, 0))
        for found, middle in ((rows, 32 * y[i]), (columns, 32 * x[i])):
            if len(found):
                assert abs(found[0] - max(middle - half, 0)) <= 0.51
                assert abs(found[-1] + 1 - min(middle + half, 32)) <= 0.51
    assert [(mixed[i] != i).double().mean().item() for i in range(3)] == [0, 1, 0.25]


def test_warp_turns_enlarges_and_slants_each_image_by_its_own():
    images, zero, one = torch.randn(4, 3, 32, 32), torch.zeros(4), torch.ones(4)
    quarters = torch.arange(4) * torch.pi / 2
    got = cifar10_data.warp(images, quarters, one, zero)
    for i in range(4):
        torch.testing.assert_close(got[i], torch.rot90(images[i], i, (1, 2)), atol=1e-4, rtol=0)
    got = cifar10_data.warp(images, zero, torch.tensor([1.0, 2, 1, 1]), zero)
    twice = torch.nn.functional.interpolate(images[1:2, :, 8:24, 8:24], scale_factor=2, mode="bilinear")
    torch.testing.assert_close(got[1, :, 1:-1, 1:-1], twice[0, :, 1:-1, 1:-1], atol=1e-4, rtol=0)
    torch.testing.assert_close(got[[0, 2, 3]], images[[0, 2, 3]], atol=1e-4, rtol=0)
    got = cifar10_data.warp(images, zero, one, 2 * one)  # row r moves by 2 (r + 1/2 - 16) pixels; outside it is 0
    for r in range(32):
        come = [c + 2 * r - 31 for c in range(32)]
        expected = [images[0, :, r, c] if 0 <= c < 32 else torch.zeros(3) for c in come]
        torch.testing.assert_close(got[0, :, r], torch.stack(expected, dim=1), atol=1e-4, rtol=0)


def test_recolour_changes_light_contrast_and_colour_of_each_image():
    images, one = torch.randn(5, 3, 32, 32), torch.ones(5)
    light, contrast, colour = one * 0, one.clone(), one.clone()
    light[1:3], contrast[2], colour[3] = 0.5, 0.5, 0.0
    got = cifar10_data.recolour(images, light, contrast, colour)
    torch.testing.assert_close(got[[0, 4]], images[[0, 4]])
    torch.testing.assert_close(got[1], images[1] + 0.5)
    torch.testing.assert_close(got[2].mean(), images[2].mean() + 0.5, atol=1e-5, rtol=0)
    torch.testing.assert_close(got[2].std(), images[2].std() / 2)
    torch.testing.assert_close(got[3], images[3].mean(0, keepdim=True).expand(3, -1, -1))


def test_distortion_meets_as_many_images_as_asked_for():
    images = torch.randn(400, 3, 32, 32)
    for probability, expected in ((0.0, 0.0), (0.5, 0.75), (1.0, 1.0)):  # neither warped nor recoloured: a quarter
        got = cifar10_data.distort(images, probability, torch.Generator().manual_seed(1))
        changed = ((got - images).abs().amax((1, 2, 3)) > 1e-3).double().mean()
        assert abs(changed - expected) < 0.07


# Training, and what is kept of it


def test_an_epoch_meets_each_image_once_and_mirrors_it_every_other_time(monkeypatch):
    seen = []

    def batch_of(images, labels, mirrored, goal, hard, chance):
        seen.append((labels.tolist(), mirrored.tolist(), hard))
        return torch.zeros(len(images), 3, 32, 32), torch.zeros(len(images), 10)

    monkeypatch.setattr(cifar10_train, "batch_of", batch_of)
    monkeypatch.setattr(cifar10_train, "train_step", lambda *_: torch.tensor(2.0))
    train = torch.zeros(130, 1), torch.arange(130), torch.arange(130) % 7 == 0
    chance, goal, mirrored = torch.Generator().manual_seed(0), replace(GOAL, epochs=4, plain=0.25), []
    for epoch in range(4):
        assert cifar10_train.train_epoch(None, [], train, goal, epoch, chance) == 2
        names = [name for labels, _, _ in seen for name in labels]
        sides = [side for _, mirrors, _ in seen for side in mirrors]
        assert len(seen) == 2 and len(set(names)) == 100  # 30 of 130 fill no batch of 50
        assert {hard for _, _, hard in seen} == {epoch < 3}
        mirrored.append(dict(zip(names, sides, strict=True)))
        seen.clear()
    for name, first in mirrored[0].items():
        assert first == (name % 7 == 0)
        assert [epoch.get(name, first ^ bool(i % 2)) for i, epoch in enumerate(mirrored)] == [first, not first] * 2
    assert list(mirrored[0]) != list(mirrored[2])


def test_attention_starts_by_looking_at_its_like_and_taking_away():
    torch.manual_seed(0)
    plain, config = ViT(cifar10.MIDDLE).encoder.blocks[3].attention, cifar10.MIDDLE
    ours = cifar10_train.mimetic(ViT(config)).encoder.blocks[3].attention
    tokens = torch.randn(8, 64, config.embed_dim)
    alone = tokens[:, :1]  # with nobody else to look at, attention is values and output
    for attention, looks, takes in ((ours, 0.9, -0.4), (plain, 0.05, 0.0)):
        itself = attention.weights(tokens).diagonal(dim1=-2, dim2=-1).mean(dim=(0, 2))  # one number per head
        assert (itself > looks).all() == (attention is ours)
        assert abs((attention(alone) * alone).sum() / (alone * alone).sum() - takes) < 0.05
    rest = ours(alone) + 0.4 * alone
    assert 0.3 < rest.std() < 0.5  # the noise is as large as what it is added to


def test_every_trained_parameter_has_one_optimiser_and_the_blocks_matrices_have_muon():
    model = ViT(TINY)
    muon, adamw = cifar10_train.optimisers(model, GOAL)
    assert isinstance(muon, Muon)
    ours = [[id(p) for group in o.param_groups for p in group["params"]] for o in (muon, adamw)]
    names = {id(p): name for name, p in model.named_parameters() if p.requires_grad}
    assert sorted(ours[0] + ours[1]) == sorted(names)
    assert {names[i].split(".", 3)[-1] for i in ours[0]} == {
        "attention.qkv.weight", "attention.out.weight", "mlp.fc1.weight", "mlp.fc2.weight"
    }  # fmt: skip


def test_a_threshold_counts_from_the_first_epoch_that_reaches_it():
    first = [0.4, 0.61, 0.59, 0.7], [0.55, 0.8, 0.8, 0.94]
    second = [0.5, 0.55, 0.58, 0.6], [0.5, 0.5, 0.5, 0.5]
    runs = [
        [{"seconds": 10.0 * (i + 1), "accuracy": a, "mirrored": m} for i, (a, m) in enumerate(zip(*run, strict=True))]
        for run in (first, second)
    ]
    assert cifar10.time_to(runs[0], "accuracy") == {
        "0.5": 20, "0.6": 20, "0.7": 40, "0.8": None, "0.9": None, "0.92": None, "0.93": None, "0.94": None
    }  # fmt: skip
    got = cifar10.summary(runs)
    assert got["accuracy"] == {"mean": pytest.approx(0.65), "sd": pytest.approx(0.005**0.5), "runs": 2}
    assert got["seconds_to_accuracy"]["0.6"] == {"mean": 30, "sd": pytest.approx(200**0.5), "runs": 2}
    assert got["seconds_to_accuracy"]["0.7"] == {"mean": 40, "sd": 0, "runs": 1}
    assert [*got["seconds_to_mirrored"]] == ["0.5", "0.6", "0.7", "0.8", "0.9", "0.92", "0.93", "0.94"]
    assert "0.8" not in got["seconds_to_accuracy"]


@pytest.fixture
def classes(monkeypatch, tmp_path):
    """Ten classes that can be told apart in the place of CIFAR-10, and results in a folder of their own."""
    found = {"train": striped(1000, seed=1), "test": striped(500, seed=2)}
    monkeypatch.setattr(cifar10, "read", lambda folder: found)
    monkeypatch.setattr(cifar10.data, "RESULTS", tmp_path)
    monkeypatch.setitem(cifar10.GOALS, "cpu", GOAL)
    return found


def main(monkeypatch, capsys, *arguments):
    """What the script prints, and on exit the line that it ends with."""
    monkeypatch.setattr(sys, "argv", ["cifar10.py", *map(str, arguments)])
    try:
        cifar10.main()
    except SystemExit as left:
        assert left.code == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error
    return capsys.readouterr().out


def test_it_learns_and_keeps_every_seed(classes, monkeypatch, capsys, tmp_path):
    line, path = ("--device", "cpu", "--weights", tmp_path / "w.safetensors"), tmp_path / "cifar10_cpu.json"
    main(monkeypatch, capsys, *line, "--seeds", 1)
    once = json.loads(path.read_text())["cpu"]
    main(monkeypatch, capsys, *line, "--seeds", 2)
    twice = json.loads(path.read_text())["cpu"]
    assert twice["runs"][0] == once["runs"][0]  # kept, not run again
    assert twice["runs"][1] != once["runs"][0] and len(twice["runs"]) == 2
    assert all(rows[-1]["accuracy"] > 0.85 for rows in twice["runs"])
    assert {"device", "torch", "recipe", "preparation_seconds", "flops_per_second"} <= set(twice)
    images, labels = classes["test"]
    with pytest.warns(UserWarning, match="float16"):
        model = weights.load(tmp_path / "w.safetensors")
    right = (model(cifar10_data.normalise(images)).argmax(1) == labels).double().mean()
    assert right == pytest.approx(once["runs"][0][-1]["accuracy"], abs=0.01)
    main(monkeypatch, capsys, *line, "--seeds", 1, "--epochs", 1)
    assert [len(rows) for rows in json.loads(path.read_text())["cpu"]["runs"]] == [1]  # another recipe: begun anew


def test_what_has_nothing_to_learn_is_not_learned(classes, monkeypatch):
    images, labels = classes["train"]
    pictures = {
        "train": (images, labels.roll(1)),
        "test": (cifar10_data.normalise(classes["test"][0]), classes["test"][1]),
    }
    model = ViT(TINY)
    assert cifar10.run(model, model, pictures, GOAL, 0)[-1]["accuracy"] < 0.25


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--device", "cuda"), "--device: torch finds no cuda device"),
        (("--seeds", "0"), "--seeds: expected at least 1, got 0"),
        (("--epochs", "-1"), "--epochs: expected at least 1, got -1"),
    ],
)
def test_what_cannot_be_had_is_one_line(arguments, what, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(monkeypatch, capsys, *arguments).startswith(what)
