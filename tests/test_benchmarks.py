"""The benchmarks compare like with like, their page says what was measured, and experiments go on where they were."""

import importlib
import inspect
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks import mnist_minute as minute
from benchmarks import page
from benchmarks import speed as bench
from benchmarks.machine import Log
from experiments import __main__ as experiments
from vit_tutorial import ViT, ViTConfig, count_parameters, data

ROOT = Path(__file__).parents[1]


def test_the_six_are_the_same_model():
    config = replace(bench.SHAPES["MNIST"], in_channels=2, num_classes=7)
    for name, make in bench.MODELS.items():
        model = make(config).eval()
        parameters = sum(p.numel() for p in model.parameters())
        if name == "vit-pytorch":  # no biases at its qkv, one norm more
            assert parameters == pytest.approx(count_parameters(config), rel=0.01)
        else:
            assert parameters == count_parameters(config), name
        if name != "ours, compiled":
            assert model(torch.zeros(3, 2, 28, 28)).shape == (3, 7), name


def test_einsum_is_ours_written_otherwise():
    config = bench.SHAPES["MNIST"]
    torch.manual_seed(0)
    ours, theirs = bench.ViT(config).eval(), bench.einsum(config).eval()
    theirs.load_state_dict(ours.state_dict())
    images = torch.randn(3, 1, 28, 28)
    torch.testing.assert_close(theirs(images), ours(images), rtol=1e-5, atol=1e-6)


def test_a_row_holds_every_sample(monkeypatch):
    models = {name: make for name, make in bench.MODELS.items() if name in ("ours", "timm", "einsum")}
    monkeypatch.setattr(bench, "MODELS", models)  # compiling takes half a minute
    row = bench.measure(bench.step, bench.SHAPES["MNIST"], 32, torch.float32, "cpu", 0)
    assert {name: len(times) for name, times in row["seconds"].items()} == dict.fromkeys(models, 6)
    assert row["peak_bytes"]["einsum"] > row["peak_bytes"]["ours"] > 4 * count_parameters(bench.SHAPES["MNIST"])


def test_a_gpu_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["speed.py", "--device", "cuda"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="--device: cuda was asked for, and this machine has no GPU"):
        bench.main()


def test_attention_starts_by_looking_at_its_like_and_taking_away():
    config = ViTConfig(32, 4, 3, 10, 256, 2, 4, 64, pool="mean")
    models, tokens = (ViT(config), ViT(config)), torch.randn(8, 64, 256)
    minute.mimetic(models[0])
    blocks = [model.encoder.blocks[1] for model in models]
    alone = tokens[:, :1]  # with nobody else to look at, attention is values and output
    for block, looks, takes in zip(blocks, (True, False), (-0.4, 0.0), strict=True):
        itself = block.attention.weights(tokens).diagonal(dim1=-2, dim2=-1).mean(dim=(0, 2))  # one number per head
        assert (itself > 0.9).all() if looks else (itself < 0.05).all()
        assert abs((block.attention(alone) * alone).sum() / (alone * alone).sum() - takes) < 0.05


def test_muon_moves_every_matrix_of_a_block_by_one_that_is_nearly_orthogonal():
    torch.manual_seed(0)
    matrices = [p for p in ViT(minute.CONFIG).encoder.blocks[0].parameters() if p.ndim == 2]
    before = [p.detach().clone() for p in matrices]
    for p in matrices:
        p.grad = torch.randn_like(p) * torch.logspace(0, -1, p.shape[1])
    minute.Muon(matrices, {"lr": 0.1}).step()
    for p, old in zip(matrices, before, strict=True):
        for new, was in zip(*(t.chunk(3 if len(p) == 192 else 1) for t in (p, old)), strict=True):  # q, k and v
            move = (was * (1 - 0.1 * minute.DECAY) - new) / (0.1 * 0.2 * max(new.shape) ** 0.5)
            lengths = torch.linalg.svdvals(move)
            assert lengths.quantile(0.1) > 0.6 and lengths.max() < 1.3  # five rounds do not lift the very smallest


def test_the_page_is_made_from_the_stored_results():
    assert page.text() == page.PAGE.read_text(encoding="utf-8")


def test_a_row_of_the_page_by_hand():
    seconds = {"ours": [0.003, 0.006, 0.006], "timm": [0.001, 0.002, 0.003], "einsum": [0.004] * 3}
    expected = ["a label", "6", "2", "4", "timm: **3.00** (2.00 to 3.00)"]
    assert page.race("a label", seconds, ("timm", "einsum")) == expected


def test_each_result_has_its_experiment():
    scripts = {path.stem[3:]: path.stem for path in (ROOT / "experiments").glob("[01][0-9]_*.py")}
    trained = {"cifar10", "weights", "others_files"}  # by scripts of benchmarks, beside the files that they made
    assert {*scripts} | trained == {path.stem for path in data.RESULTS.iterdir()}
    for script in scripts.values():
        takes = {*inspect.signature(importlib.import_module(f"experiments.{script}").main).parameters}
        assert int(script[:2]) <= 16 and takes <= {"folder"}, script


@pytest.mark.parametrize(
    ("words", "said"),
    [(["luck"], "invalid choice: 'luck'"), (["misuse"], "misuse: expected the folder"), (["rule", "x"], "no folder")],
)
def test_a_wrong_line_is_one_sentence(words, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiments", *words])
    monkeypatch.setattr(torch, "set_num_threads", lambda number: None)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    with pytest.raises(SystemExit):
        experiments.main()
    assert said in capsys.readouterr().err


def test_what_is_there_is_not_measured_again(tmp_path):
    measured = []

    def measure(seed):
        measured.append(seed)
        return seed / 10

    def run(seeds, **settings):
        log = Log("x", folder=tmp_path, **settings)
        return log.fill(measure, "share", 0.5, seeds=range(10, 10 + seeds))

    assert run(2, rates=(1, 2)) == [1.0, 1.1] and run(3, rates=(1, 2)) == [1.0, 1.1, 1.2] and measured == [10, 11, 12]
    stored = json.loads((tmp_path / "x.json").read_text())
    assert stored["share"] == {"0.5": [1.0, 1.1, 1.2]} and stored["rates"] == [1, 2]
    assert stored["machine"].keys() > {"device", "cores", "threads", "torch", "date"}
    assert run(3, rates=(1, 2), timed=True) == [1.0, 1.1, 1.2] and len(measured) == 3, "of this machine"
    stored["machine"]["device"] = "another"
    (tmp_path / "x.json").write_text(json.dumps(stored))
    assert run(3, rates=(1, 2)) == [1.0, 1.1, 1.2] and len(measured) == 3
    (tmp_path / "x.json").write_text(json.dumps(stored))
    assert run(1, rates=(1, 2), timed=True) == [1.0] and len(measured) == 4, "seconds of another machine"
    assert run(1, rates=(1, 3)) == [1.0] and len(measured) == 5, "other settings"
