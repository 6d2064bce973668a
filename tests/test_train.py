"""Training: each part beside an independent reference, runs that repeat bit for bit, runs that are killed."""

import csv
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from runs import QUICK, checkpointed, killed_while_saving, small
from sklearn.metrics import accuracy_score, log_loss
from timm.optim import param_groups_weight_decay
from transformers import get_cosine_schedule_with_warmup

from vit_tutorial import ViT, data, files, interpret, train, weights
from vit_tutorial.recipe import draw, parameter_groups, schedule, shift
from vit_tutorial.train import Recipe, fit


@pytest.fixture(scope="module")
def digits():
    images, labels = data.mnist("train")
    return data.normalise(images[:320]), labels[:320]


def same(a: ViT, b: ViT) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


# --- the parts of the recipe ---


@pytest.mark.parametrize(("steps", "warm_up"), [(100, 10), (37, 5), (20, 0)])
def test_schedule_equals_that_of_transformers(steps, warm_up):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = get_cosine_schedule_with_warmup(optimizer, warm_up, steps)
    for step in range(steps):
        assert abs(schedule(step / steps, warm_up / steps) - theirs.get_last_lr()[0]) < 1e-9
        optimizer.step()
        theirs.step()
    assert schedule(1.0, warm_up / steps) < 1e-9


@pytest.mark.parametrize("changes", [{}, {"pool": "mean"}, {"representation_size": 8}, {"position": "sincos2d"}])
def test_groups_equal_timms(changes):
    model = small(**changes)
    kept = {"cls_token.token", "position_embedding.embedding"}
    theirs = param_groups_weight_decay(model, 0.05, no_weight_decay_list=kept)
    for ours, their in zip(
        parameter_groups(model, 0.05), sorted(theirs, key=lambda g: -g["weight_decay"]), strict=True
    ):
        assert ours["weight_decay"] == their["weight_decay"]
        assert {id(p) for p in ours["params"]} == {id(p) for p in their["params"]}


@pytest.mark.parametrize("shape", [(5, 1, 28, 28), (7, 3, 6, 9)])
def test_shift_equals_padding_and_cropping_each_image(shape):
    images, (B, _, H, W) = torch.randn(shape), shape
    offsets = torch.randint(-3, 4, (B, 2))
    padded = F.pad(images, (3, 3, 3, 3), mode="replicate")
    for image, pad, (dy, dx) in zip(shift(images, offsets), padded, offsets.tolist(), strict=True):
        assert torch.equal(image, pad[:, 3 + dy : 3 + dy + H, 3 + dx : 3 + dx + W])
    assert torch.equal(shift(images, torch.zeros(B, 2, dtype=torch.int64)), images)


def test_an_epoch_sees_every_image_once_in_an_order_of_its_own():
    recipe = Recipe(batch_size=10, shift=2, seed=3)
    orders = [draw(100, recipe, epoch)[0] for epoch in (0, 1)] + [draw(100, replace(recipe, seed=4), 0)[0]]
    assert all(order.flatten().sort().values.tolist() == list(range(100)) for order in orders)
    assert not torch.equal(orders[0], orders[1]) and not torch.equal(orders[0], orders[2])
    assert torch.equal(draw(100, recipe, 1)[0], orders[1])
    assert draw(109, recipe, 0)[0].shape == (10, 10)  # nine images sit out
    assert draw(1000, recipe, 0)[1].unique().tolist() == [-2, -1, 0, 1, 2]
    assert not draw(100, replace(recipe, shift=0), 0)[1].any()


@pytest.mark.parametrize("changes", [{"epochs": 2.5}, {"shift": "2"}, {"bfloat16": 1}, {"seed": None}, {"clip": True}])
def test_a_recipe_of_other_types_is_refused(changes):
    (name,) = changes
    with pytest.raises(TypeError, match=rf"{name}: expected (int|float|bool), got "):
        Recipe(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"learning_rate": -1.0},
        {"warm_up": 1.5},
        {"shift": -1},
        {"warm_up": 1},
        {"seed": 2**33},
        {"clip": 0.0},
    ],
)
def test_a_recipe_out_of_range_is_refused(changes):
    (name,) = changes
    with pytest.raises(ValueError, match=rf"{name}: expected a number from .* to .*, got {changes[name]}"):
        Recipe(**changes)


# --- a run ---


def test_fit_equals_a_plain_loop_written_from_other_parts(digits):
    images, labels = digits
    recipe = replace(QUICK, shift=0, weight_decay=0.3, clip=0.1, label_smoothing=0.2, warm_up=0.2)
    ours, theirs = small().double(), small().double()  # a key's bias has no gradient but rounding, which Adam inflates
    images = images.double()
    fit(ours, images, labels, recipe)
    decayed = [p for name, p in theirs.named_parameters() if p.ndim in (2, 4)]
    rest = [p for name, p in theirs.named_parameters() if p.ndim not in (2, 4)]
    groups = [{"params": decayed, "weight_decay": 0.3}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.99))
    seen, rate = [], get_cosine_schedule_with_warmup(optimizer, 6, 30).lr_lambdas[0]
    for epoch in range(3):
        for batch in draw(320, recipe, epoch)[0]:
            optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = 5e-3 * rate(len(seen) + 1)
            seen.append(batch)
            log_p = theirs(images[batch]).log_softmax(-1)
            target = F.one_hot(labels[batch], 10) * 0.8 + 0.02
            optimizer.zero_grad()
            (-(target * log_p).sum(-1).mean()).backward()
            length = torch.stack([p.grad.norm() for p in theirs.parameters()]).norm()
            for p in theirs.parameters():
                p.grad *= min(1, 0.1 / (length + 1e-6))
            optimizer.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-9)


def test_a_run_learns_and_its_rows_say_so(digits):
    model = small()
    rows = fit(model, *digits, Recipe(40, 32, 1e-2, shift=0, label_smoothing=0.0), test=digits)
    assert [row["epoch"] for row in rows] == list(range(1, 41))
    assert rows[0]["loss"] > 2 and rows[-1]["loss"] < 0.2 and rows[-1]["test_accuracy"] > 0.95
    assert rows[-1]["test_accuracy"] == train.evaluate(model, *digits)["test_accuracy"]


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.1, "attention_dropout": 0.1}])
def test_the_same_seed_gives_the_same_weights_bit_for_bit(digits, changes):
    models = [small(**changes) for _ in range(3)]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        torch.rand(random.randrange(9))  # what was drawn before does not matter
        fit(model, *digits, replace(QUICK, seed=seed))
    assert same(models[0], models[1]) and not same(models[0], models[2])


def test_shifts_are_those_that_were_drawn(digits, monkeypatch):
    seen = []
    monkeypatch.setattr(train, "shift", lambda images, offsets: seen.append(offsets) or shift(images, offsets))
    plain, moved = small(), small()
    fit(plain, *digits, replace(QUICK, epochs=1, shift=0))
    fit(moved, *digits, replace(QUICK, epochs=1, shift=2))
    assert torch.equal(torch.stack(seen[10:]), draw(320, replace(QUICK, shift=2), 0)[1]) and not same(plain, moved)


def test_each_of_two_processes_takes_every_other_image_of_a_batch(digits, monkeypatch):
    seen, step = [], train.train_step
    second = {"process_index": 1, "num_processes": 2, "device": torch.device("cpu"), "prepare": lambda model: model}
    second |= {"reduce": lambda loss, how: loss, "wait_for_everyone": lambda: None}
    monkeypatch.setattr(train, "Accelerator", lambda **_: SimpleNamespace(**second))
    monkeypatch.setattr(train, "train_step", lambda m, o, x, y, *rest: seen.append(y) or step(m, o, x, y, *rest))
    fit(small(), *digits, replace(QUICK, epochs=1))
    order, _ = draw(320, replace(QUICK, epochs=1), 0)
    assert torch.equal(torch.stack(seen), digits[1][order[:, 1::2]])


def test_a_model_in_eval_mode_is_trained_in_train_mode(digits):
    modes, model = [], small(dropout=0.5).eval()
    model.dropout.register_forward_hook(lambda module, *_: modes.append(module.training))
    fit(model, *digits, replace(QUICK, epochs=2), test=digits)
    assert modes == ([True] * 10 + [False]) * 2


def test_bfloat16_is_near(digits):
    plain, half = small(), small()
    fit(plain, *digits, replace(QUICK, epochs=1))
    fit(half, *digits, replace(QUICK, epochs=1, bfloat16=True))
    logits = [train.predict(model, digits[0]) for model in (plain, half)]
    assert 0 < (logits[1] - logits[0]).abs().max() < 0.1 * logits[0].abs().max()
    assert half.head.linear.weight.dtype == torch.float32


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="compiling needs a C++ compiler")
def test_compiling_changes_next_to_nothing(digits, monkeypatch):
    plain, compiled = small(), small()
    calls, original = [], torch.compile
    monkeypatch.setattr(torch, "compile", lambda model: calls.append(model) or original(model))
    fit(plain, *digits, replace(QUICK, epochs=1))
    fit(compiled, *digits, replace(QUICK, epochs=1, compile=True))
    logits = [train.predict(model, digits[0]) for model in (plain, compiled)]
    torch.testing.assert_close(logits[1], logits[0], rtol=1e-2, atol=1e-3)
    assert list(compiled.state_dict()) == list(plain.state_dict()) and calls == [compiled]


def test_evaluate_equals_scikit_learn(digits):
    model, (images, labels) = small(), digits
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    logits = train.predict(model.train(), images, batch_size=7)
    assert model.training and torch.allclose(logits, model.eval()(images), atol=1e-5)
    measured = train.evaluate(model, images, labels)
    assert measured["test_accuracy"] == accuracy_score(labels, logits.argmax(1))
    assert abs(measured["test_loss"] - log_loss(labels, logits.double().softmax(1), labels=range(10))) < 1e-4


# --- stopped and resumed ---


@pytest.fixture(scope="module")
def process():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["vit_tutorial.train"])  # so that a child starts at once
    return context.Process


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    checkpointed(folder)
    return files.load(folder / "checkpoint.safetensors")[0]


def assert_same_tensors(folder, expected):
    tensors, _ = files.load(folder / "checkpoint.safetensors")
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)


def test_a_run_killed_at_random_moments_ends_with_the_same_weights(process, uninterrupted, tmp_path):
    kills, seen, path = 0, [], tmp_path / "checkpoint.safetensors"

    def saved():
        return path.stat().st_mtime_ns if path.exists() else 0

    for _ in range(12):
        run, before = process(target=checkpointed, args=(tmp_path,)), saved()
        run.start()
        while kills and run.is_alive() and saved() == before:  # the first is killed anywhere, the others later
            time.sleep(0.005)
        run.join(timeout=random.uniform(0.0, 0.3))
        if run.exitcode is not None:
            break
        os.kill(run.pid, signal.SIGKILL)
        run.join()
        kills += 1
        seen.append(json.loads(files.load(path)[1]["run"])["history"][-1]["epoch"] if path.exists() else 0)
    checkpointed(tmp_path)
    print(f"killed {kills} times; epochs in the checkpoint after each: {seen}")
    assert kills and seen == sorted(seen) and any(0 < epoch < 20 for epoch in seen)
    assert_same_tensors(tmp_path, uninterrupted)


@pytest.mark.parametrize(
    ("call", "count"), [("replace", 3), ("fsync", 7), ("replace", 9), ("replace", 8), ("replace", 41)]
)
def test_a_run_killed_while_saving_ends_with_the_same_weights(process, uninterrupted, tmp_path, call, count):
    run = process(target=killed_while_saving, args=(tmp_path, call, count))
    run.start()
    run.join()
    assert run.exitcode == -signal.SIGKILL  # calls: run.json, then metrics.csv and the checkpoint of each epoch
    assert list(tmp_path.glob(".*.tmp"))
    checkpointed(tmp_path)
    assert_same_tensors(tmp_path, uninterrupted)
    with open(tmp_path / "metrics.csv") as file:
        assert [int(row["epoch"]) for row in csv.DictReader(file)] == list(range(1, 21))
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_finished_run_is_not_run_again_and_metrics_have_one_row_an_epoch(digits, tmp_path):
    first, second = small(), small()
    rows = fit(first, *digits, QUICK, digits, tmp_path)
    start = time.perf_counter()
    assert fit(second, *digits, QUICK, digits, tmp_path) == rows and same(first, second)
    assert time.perf_counter() - start < 1
    with open(tmp_path / "metrics.csv") as file:
        table = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in table] == [1, 2, 3]
    assert [float(row["test_accuracy"]) for row in table] == [row["test_accuracy"] for row in rows]


def test_a_folder_of_another_run_is_refused_and_left_alone(digits, tmp_path):
    fit(small(), *digits, QUICK, folder=tmp_path)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()
    for model, recipe, word in [
        (small(), replace(QUICK, epochs=9), "epochs=3"),
        (small(depth=3), QUICK, "depth=2"),
        (small(), replace(QUICK, seed=5, shift=1), "shift=2, seed=0"),
    ]:
        with pytest.raises(ValueError, match=rf"folder: .* is of a run with {word}; take another folder"):
            fit(model, *digits, recipe, folder=tmp_path)
    with pytest.raises(ValueError, match=r"is of a run with images=320, labels_crc32=\d+; take another"):
        fit(small(), digits[0][:300], digits[1][:300], QUICK, folder=tmp_path)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before
    weights.save(small(), tmp_path / "checkpoint.safetensors")
    with pytest.raises(ValueError, match="is of a run with image_size=None"):
        fit(small(), *digits, QUICK, folder=tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(before[:5000])
    with pytest.raises(ValueError, match="no whole safetensors file but truncated"):
        fit(small(), *digits, QUICK, folder=tmp_path)


# --- faults ---


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(digits, tmp_path, monkeypatch):
    step, real = 0, train.train_step

    def nan_at_17(*arguments):
        nonlocal step
        step += 1
        return real(*arguments) * (float("nan") if step == 18 else 1.0)

    monkeypatch.setattr(train, "train_step", nan_at_17)
    with pytest.raises(FloatingPointError, match="loss: nan at step 17; the last checkpoint is kept"):
        fit(small(), *digits, QUICK, folder=tmp_path)
    rows = fit(small(), *digits, QUICK, folder=tmp_path)  # ten steps an epoch: the first was saved, and is taken up
    assert len(rows) == 3 and step == 20 + 20


def test_a_weight_that_is_not_finite_is_not_saved(digits, tmp_path, monkeypatch):
    real = train.train_step

    def poison(model, *arguments):
        loss = real(model, *arguments)
        model.head.linear.bias.data[3] = float("inf")
        return loss

    monkeypatch.setattr(train, "train_step", poison)
    with pytest.raises(FloatingPointError, match=r"(loss: nan at step 1|head\.linear\.bias: not finite)"):
        fit(small(), *digits, replace(QUICK, batch_size=320), folder=tmp_path)
    assert not (tmp_path / "checkpoint.safetensors").exists()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda x, y: (data.mnist("test")[0][:320], y), TypeError, "expected torch.float32 and int64, got torch.uint8"),
        (lambda x, y: (x.double(), y), TypeError, "expected torch.float32 and int64, got torch.float64"),
        (lambda x, y: (x.numpy(), y), TypeError, "images: expected a tensor, got ndarray"),
        (lambda x, y: (x, y.float()), TypeError, "got torch.float32 and torch.float32"),
        (lambda x, y: (x, y[:-1]), ValueError, r"got \(320, 1, 28, 28\) and \(319,\)"),
        (lambda x, y: (x[0], y), ValueError, r"expected \(n, C, H, W\) and \(n,\), n from 32 up, got \(1, 28, 28\)"),
        (lambda x, y: (x[:31], y[:31]), ValueError, "n from 32 up"),
        (lambda x, y: (x, y + 1), ValueError, "labels: expected 0 to 9, got 1 to 10"),
        (lambda x, y: (x, y - 1), ValueError, "labels: expected 0 to 9, got -1 to 8"),
        (lambda x, y: (x.index_fill(0, torch.tensor([7]), float("nan")), y), ValueError, "image 7 holds a NaN"),
        (lambda x, y: (x[:, :, :14, :14], y), ValueError, r"images: expected \(1, 28, 28\) each, got \(1, 14, 14\)"),
    ],
)
def test_examples_that_do_not_fit_are_refused(digits, change, error, words):
    model = small()
    with pytest.raises(error, match=words):
        fit(model, *change(*digits), QUICK)
    with pytest.raises(error, match=words.replace("n from 32 up", "n from 1 up")):
        fit(model, *digits, QUICK, test=change(*digits) if "from 32 up" not in words else (digits[0][0], digits[1]))
    assert same(model, small())


def test_normalise_takes_raw_pixels_only():
    images, _ = data.mnist("train")
    floats = data.normalise(images)
    assert floats.dtype == torch.float32 and abs(floats.mean()) < 1e-3 and abs(floats.std() - 1) < 1e-3
    with pytest.raises(TypeError, match=r"images: expected uint8 from 0 to 255, got torch\.float32"):
        data.normalise(floats)


# --- from the shell ---

SHELL = ["--images", 256, "--epochs", 2, "--batch-size", 32, "--patch-size", 7, "--embed-dim", 16, "--depth", 1]


def shell(*arguments, launcher=()):
    command = [sys.executable, *launcher, "-m", "vit_tutorial.train", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_shell_runs_the_same_code_and_two_processes_equal_one(tmp_path):
    one = shell(*SHELL, "--folder", tmp_path / "one")
    assert one.returncode == 0 and "test accuracy 0." in one.stdout and "step/s" in one.stderr
    names = {"checkpoint.safetensors", "curves.png", "metrics.csv", "model.safetensors", "run.json"}
    assert {path.name for path in (tmp_path / "one").iterdir()} == names
    torch.manual_seed(0)
    model = ViT(replace(train.DIGITS, patch_size=7, embed_dim=16, depth=1))
    images, labels = data.mnist("train")
    fit(model, data.normalise(images[:256]), labels[:256], Recipe(epochs=2, batch_size=32))
    first = weights.load(tmp_path / "one" / "model.safetensors")
    assert same(model, first)
    rendezvous = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"]
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", *rendezvous]
    two = shell(*SHELL, "--folder", tmp_path / "two", launcher=launcher)
    assert two.returncode == 0, two.stderr
    second = weights.load(tmp_path / "two" / "model.safetensors")
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    losses = []
    for folder in ("one", "two"):
        with open(tmp_path / folder / "metrics.csv") as file:
            losses.append([float(row["loss"]) for row in csv.DictReader(file)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    odd = shell(*SHELL, "--batch-size", 33, "--folder", tmp_path / "odd", launcher=launcher)
    assert odd.returncode and "batch_size: expected a multiple of the 2 processes, got 33" in odd.stderr


def test_the_shell_explains_itself_and_its_faults():
    text = shell("--help").stdout
    for group in ("run:", "model:", "recipe:", "share of the steps in which the learning rate rises", "default: 64"):
        assert group in text
    wrong = shell("--embed-dim", "30", "--num-heads", "4")
    assert wrong.returncode == 1 and wrong.stderr.strip().endswith("does not split into num_heads=4 equal heads")
    assert "Traceback" not in wrong.stderr
    for images in (-5, 70_000):
        assert f"images: expected 1 to 60000, got {images}" in shell("--images", images).stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_a_gpu_gives_nearly_what_the_processor_gives(digits, monkeypatch):
    on_cpu, on_gpu = small(), small().cuda()
    maps = interpret.attention_maps(on_gpu, digits[0]).cpu()
    torch.testing.assert_close(maps, interpret.attention_maps(on_cpu, digits[0]), rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(train.predict(on_gpu, digits[0]), train.predict(on_cpu, digits[0]), rtol=1e-2, atol=1e-3)
