"""Training from the shell: the same code as `fit`, two processes equal one, faults are named."""

import re
from dataclasses import replace

import pytest
import torch

from tests.train.runs import TORCHRUN, assert_equal_runs, digits, in_two_processes, losses
from vit_tutorial import ViT, data, files
from vit_tutorial.train import Recipe, fit, loop
from vit_tutorial.train.__main__ import DIGITS, main

TINY = ["--images", "256", "--epochs", "2", "--batch-size", "32", "--patch-size", "7", "--embed-dim", "16"]
TINY += ["--depth", "1"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    main([*TINY, "--folder", str(folder)])
    return folder


LAUNCHERS = {"torchrun": TORCHRUN, "accelerate": ["accelerate.commands.launch", "--multi_gpu"]}
LAUNCHERS["accelerate"] += ["--num_processes", "2", "--main_process_port", "0"]


def test_the_shell_runs_the_same_code_as_fit(alone):
    names = {".lock", "checkpoint.safetensors", "curves.png", "metrics.csv", "model.safetensors", "run.json"}
    assert {path.name for path in alone.iterdir()} == names
    torch.manual_seed(0)
    model = ViT(replace(DIGITS, patch_size=7, embed_dim=16, depth=1))
    rows = fit(model, *digits(256), Recipe(epochs=2, batch_size=32))
    stored, _ = files.read(alone / "model.safetensors")
    assert all(torch.equal(stored[name], tensor) for name, tensor in model.state_dict().items())
    assert losses(alone) == [row["loss"] for row in rows]


def test_the_same_line_again_says_the_result_and_trains_no_more(alone, capsys, monkeypatch):
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("a step"))
    main([*TINY, "--folder", str(alone)])
    assert f"{alone}: test accuracy 0." in capsys.readouterr().out


@pytest.mark.long  # in short: test_processes.py, without the shell
@pytest.mark.parametrize("launcher", LAUNCHERS.values(), ids=LAUNCHERS)
def test_two_processes_equal_one(alone, tmp_path, launcher):
    two = in_two_processes("vit_tutorial.train", *TINY, "--folder", tmp_path, launcher=launcher)
    assert two.returncode == 0, two.stderr
    assert two.stdout.count("test accuracy 0.") == 1 and "step/s" in two.stderr
    assert_equal_runs(alone, tmp_path)


def test_help_has_a_line_for_each_number(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert stopped.value.code == 0
    for words in ("run:", "model:", "recipe:", "share of the steps in which the learning rate rises (default: 0.1)"):
        assert words in text
    assert "--no-compile" in text and "shuffling, shifts and dropout; the model brings its own start" in text


WRONG = {"images": ["0", "65", "-5", "x"], "epochs": ["", "0", "1e400", "2.5"], "batch-size": ["0", "65", "nan"]}
WRONG |= {"patch-size": ["0", "-1", "4.0"], "embed-dim": ["0", "30", "None"], "num-heads": ["0", "5", "x"]}
WRONG |= {"depth": ["-1", "2.5", "[]"], "mlp-dim": ["0", "1,5"], "dropout": ["2", "-1", "nan"], "pool": ["", "max"]}
WRONG |= {"position": ["", "rope"], "learning-rate": ["2", "-1", "x"], "weight-decay": ["-1", "inf", "x"]}
WRONG |= {"layer-decay": ["2", "nan"], "warm-up": ["1", "x"], "clip": ["0", "x"], "label-smoothing": ["2", "nan"]}
WRONG |= {"shift": ["-1", "0.5"], "seed": ["-1", "4096", "x"], "compile": ["yes"], "bfloat16": ["1"]}
WRONG |= {"folder": ["", "a\0b", "x" * 300, "/dev/null", "plain/x", "\ud800"], "colour": ["red"]}


SAID = {("images", value): f"^images: expected 1 to 64, got {value}$" for value in ("0", "65", "-5")}
SAID |= {("warm-up", "1"): r"^warm_up: expected a number from 0 to 0\.99, got 1\.0$"}
SAID |= {("embed-dim", "30"): "^num_heads: embed_dim=30 does not split into num_heads=4 heads$"}


@pytest.mark.parametrize(("flag", "value"), [(flag, value) for flag, values in WRONG.items() for value in values])
def test_a_bad_value_is_named_in_the_last_line_and_nothing_is_written(flag, value, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        data, "mnist", lambda split: (torch.zeros(64, 1, 28, 28, dtype=torch.uint8), torch.arange(64) % 10)
    )
    (tmp_path / "plain").write_bytes(b"x")
    with pytest.raises(SystemExit) as stopped:
        main(["--images=64", "--batch-size=16", "--folder=run", f"--{flag}={value}"])
    lines = capsys.readouterr().err.strip().splitlines()
    assert stopped.value.code in (1, 2) and (stopped.value.code == 2 or len(lines) == 1)
    assert re.search(
        SAID.get((flag, value), f"{flag}|{flag.replace('-', '_')}|{re.escape(value[:20]) or flag}"), lines[-1]
    )
    assert [path.name for path in tmp_path.iterdir()] == ["plain"]


def test_a_model_that_does_not_fit_into_memory_is_one_line(capsys, tmp_path):
    with pytest.raises(SystemExit) as stopped:
        main(["--embed-dim", "100000000", "--folder", str(tmp_path / "run")])
    message = capsys.readouterr().err.strip()
    assert stopped.value.code == 1 and "\n" not in message and not (tmp_path / "run").exists()
    assert re.fullmatch("patch_size=4, embed_dim=100000000, .*: [0-9,]+ parameters do not fit into memory", message)


def test_a_patch_size_that_does_not_divide_leaves_nothing_that_refuses_the_next(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main([*TINY, "--patch-size", "5", "--folder", str(tmp_path)])
    main([*TINY, "--epochs", "1", "--folder", str(tmp_path)])
    assert len(losses(tmp_path)) == 1


def test_ctrl_c_while_the_digits_are_read_is_one_line(capsys, tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(data, "mnist", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main(["--folder", str(tmp_path)])
    said = capsys.readouterr().err.strip()
    assert stopped.value.code == 130 and "the same line goes on" in said and "\n" not in said


def test_ctrl_c_says_how_to_go_on(capsys, tmp_path, monkeypatch):
    real, steps = loop.train_step, iter(range(12))  # eight steps an epoch: stopped in the second

    def interrupted(*arguments):
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(loop, "train_step", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main([*TINY, "--folder", str(tmp_path)])
    assert stopped.value.code == 130 and "the same line goes on" in capsys.readouterr().err
    assert len(losses(tmp_path)) == 1
