"""Folders of runs: two at once, foreign files, edited checkpoints, other images; findings of a hunt, one test each."""

import json
import multiprocessing
import os
import socket
import threading
from dataclasses import replace

import pytest
import torch

from tests.hard import cases_checkpoint as checkpoints
from tests.hard.cases_train import typed
from tests.hard.judge import TINY, World
from vit_tutorial import ViT, files, train
from vit_tutorial.train import __main__, loop

FOREIGN = {"metrics.csv": "my table\n", "run.json": "{}", "model.safetensors": "mine", "curves.png": "mine"}


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # so that it is put back in the end
    return World(tmp_path / "world")


def tensors_of(model) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in model.state_dict().values()]


def listing(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(world, words="path|folder", error=ValueError, **changes) -> None:
    """`fit` in the folder "run" refuses, and neither the model nor a file has changed."""
    before, found = tensors_of(world.model), listing(world.here / "run")
    with pytest.raises(error, match=words):
        checkpoints.fit(world, **changes)
    assert all(map(torch.equal, before, tensors_of(world.model)))
    after = listing(world.here / "run")
    assert {name: after[name] for name in found} == found and set(after) <= set(found) | {".lock"}


def test_a_second_run_is_refused_before_it_touches_anything(world, monkeypatch):
    inside, go_on, real = threading.Event(), threading.Event(), loop.train_step
    first, second = threading.get_ident(), World(world.root.with_name("second"))
    os.chdir(world.here)

    def step(*arguments):
        if threading.get_ident() != first:
            inside.set()
            go_on.wait(30)
        return real(*arguments)

    monkeypatch.setattr(loop, "train_step", step)
    ended = []
    run = threading.Thread(target=lambda: ended.append(checkpoints.fit(world, world.here / "run")))
    run.start()
    try:
        assert inside.wait(60)
        assert {".lock", ".running"} <= {path.name for path in (world.here / "run").iterdir()}
        (world.here / "run" / ".checkpoint.safetensors.1.tmp").write_bytes(b"half")
        before, model = listing(world.here / "run"), tensors_of(second.model)
        with pytest.raises(BlockingIOError, match="folder"):
            checkpoints.fit(second, world.here / "run")
        assert listing(world.here / "run") == before and all(map(torch.equal, model, tensors_of(second.model)))
    finally:
        go_on.set()
        run.join()
    assert len(ended[0]) == 2 and not (world.here / "run" / ".running").exists()


def test_what_a_dead_process_left_is_taken_over_and_said(world):
    child = multiprocessing.get_context("forkserver").Process()
    child.start()
    child.join()
    checkpoints.lay(world)
    (world.here / "run" / ".running").write_text(json.dumps({"pid": child.pid, "host": socket.gethostname()}))
    with pytest.warns(UserWarning, match=str(child.pid)):
        assert len(checkpoints.fit(world)) == 2
    assert not (world.here / "run" / ".running").exists()


@pytest.mark.parametrize("shape", ["one number", "a scalar", "nothing", "one more row", "flat"])
def test_no_tensor_reaches_the_optimiser_unchecked(world, monkeypatch, shape):
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("a step"))
    checkpoints.edit(checkpoints.tensor_edits()[f"optimizerexp_avg {shape}"])(world)
    refused(world)


@pytest.mark.parametrize("part", ["position_embedding", "encoder", "patch_embedding"])
def test_a_run_in_which_other_parameters_are_trained_does_not_go_on(world, part):
    checkpoints.lay(world)
    world.model.get_submodule(part).requires_grad_(False)
    refused(world)


@pytest.mark.parametrize("name", ["without optimizer", "model.weight missing", "more x", "model.weight NaN"])
def test_a_checkpoint_that_does_not_fit_leaves_the_model_alone(world, monkeypatch, name):
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("a step"))
    checkpoints.edit(checkpoints.tensor_edits()[name])(world)
    refused(world)


@pytest.mark.parametrize("number", range(14))
def test_a_history_that_cannot_be_one_is_refused(world, monkeypatch, number):
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("a step"))
    checkpoints.edit(checkpoints.run_edits()[f"history {number}"])(world)
    refused(world)


def test_a_flipped_bit_of_a_checkpoint_is_damage_and_not_a_learning_rate(world, monkeypatch):
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("a step"))
    path = checkpoints.lay(world)
    content = path.read_bytes()
    for place in (len(content) // 2, len(content) - 1, len(content) - 3000):
        path.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        refused(world, "damaged")


def test_a_run_knows_its_images_its_labels_and_its_start(world):
    checkpoints.lay(world)
    refused(world, images=world.images + 1)
    refused(world, images=world.images.flip(0))
    refused(world, labels=(world.labels + 1) % 3)
    refused(world, recipe=replace(world.recipe, seed=9))
    world.model.cls_token.token.data[0, 0, 3] += 0.001
    refused(world)


def test_a_checkpoint_that_is_whole_goes_on_to_the_same_bits(world):
    checkpoints.lay(world)
    rows = checkpoints.fit(world)
    alone = World(world.root.with_name("alone"))
    expected = train.fit(alone.model, alone.images, alone.labels, alone.recipe)
    assert [row["loss"] for row in rows] == [row["loss"] for row in expected]
    assert all(map(torch.equal, tensors_of(world.model), tensors_of(alone.model)))


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_parameters_without_elements_and_another_default_dtype_go_on(world):
    for name, config, kind in (("empty", replace(TINY, mlp_dim=0), torch.float32), ("wide", TINY, torch.float64)):
        torch.set_default_dtype(kind)
        try:
            for _ in range(2):
                torch.manual_seed(0)
                rows = train.fit(ViT(config), world.images.to(kind), world.labels, world.recipe, folder=name)
        finally:
            torch.set_default_dtype(torch.float32)
        assert len(rows) == 2


@pytest.mark.parametrize("name", FOREIGN)
def test_somebodys_own_files_are_not_overwritten(world, name):
    (world.here / "run").mkdir()
    (world.here / "run" / name).write_text(FOREIGN[name])
    refused(world, "folder")


def test_a_failed_table_of_an_older_run_is_not_overwritten(world):
    path = checkpoints.lay(world)
    path.rename(path.with_name("older.safetensors"))
    refused(world, "folder", recipe=replace(world.recipe, epochs=3))


@pytest.mark.parametrize("parts", [3, 1, 0])
def test_test_is_a_pair(world, parts):
    test = (world.images, world.labels, 500)[:parts]
    before = tensors_of(world.model)
    with pytest.raises((TypeError, ValueError), match="test"):
        train.fit(world.model, world.images, world.labels, world.recipe, test)
    assert all(map(torch.equal, before, tensors_of(world.model)))


@pytest.mark.parametrize("folder", ["", 0, False, b"run", 3])
def test_a_folder_that_is_none_is_refused_before_the_first_step(world, monkeypatch, folder):
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("a step"))
    with pytest.raises((TypeError, ValueError), match="folder: "):
        checkpoints.fit(world, folder)
    assert not list(world.here.iterdir())


def test_the_shell_refuses_an_empty_folder_and_writes_nothing(world, capsys):
    with pytest.raises(SystemExit) as stopped:
        typed("--images", 64, "--batch-size", 16, "--folder", "")
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert stopped.value.code in (1, 2) and "folder" in last and not list(world.here.iterdir())


@pytest.mark.parametrize("moment", ["fit", "mnist"])
def test_ctrl_c_is_one_line_wherever_it_comes(world, monkeypatch, capsys, moment):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr({"fit": __main__, "mnist": __main__.data}[moment], moment, interrupted)
    with pytest.raises(SystemExit) as stopped:
        __main__.main(["--folder", "run"])
    said = capsys.readouterr().err.strip()
    assert stopped.value.code == 130 and "the same line goes on" in said and "\n" not in said


@pytest.mark.parametrize("how", [torch.no_grad, torch.inference_mode])
def test_fit_says_that_gradients_are_off(world, how):
    with how(), pytest.raises(ValueError):
        train.fit(world.model, world.images, world.labels, world.recipe)
    assert all(p.grad is None for p in world.model.parameters())


def test_fit_says_that_everything_is_frozen_and_names_what_is_no_model_or_recipe(world):
    with pytest.raises(ValueError):
        train.fit(ViT(TINY).requires_grad_(False), world.images, world.labels, world.recipe)
    for model in (None, torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="model"):
            train.fit(model, world.images, world.labels, world.recipe)
    with pytest.raises(TypeError, match="recipe"):
        train.fit(world.model, world.images, world.labels, None)


def test_fit_leaves_the_callers_generator_and_images_alone(world):
    images = world.images.clone().requires_grad_()
    model = ViT(TINY)
    before = torch.get_rng_state()
    train.fit(model, images, world.labels, world.recipe)
    assert torch.equal(torch.get_rng_state(), before) and images.grad is None


def test_accuracy_of_a_model_of_nan_is_refused(world):
    world.model.head.linear.bias.data[1] = float("nan")
    with pytest.raises(FloatingPointError):
        train.evaluate(world.model, world.images, world.labels)


def test_a_checkpoint_is_one_that_files_read_takes(world):
    tensors, texts = files.read(checkpoints.lay(world))
    assert "run" in texts and any(name.startswith("optimizer") for name in tensors)
