"""The benchmarks compare like with like, and their page says what was measured."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
import torch

from benchmarks import mnist_minute as minute
from benchmarks import page, tables
from benchmarks import speed as bench
from vit_tutorial import ViT, ViTConfig, count_parameters, data, files, plots, speed

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize(("shape", "batch"), [("B/16", 8), ("MNIST", 3)])
def test_the_products_are_all_multiply_adds_of_the_model(shape, batch):
    config = bench.SHAPES[shape]
    flop = sum(2 * times * pairs * m * k * n for times, pairs, m, k, n in bench.products(config, batch))
    assert flop == 2 * batch * speed.count_macs(config)


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


def test_the_page_says_what_was_measured(tmp_path, monkeypatch):
    seconds = {name: [0.004, 0.004, 0.004] for name in ("ours, compiled", *page.PEERS)}
    seconds |= {"ours": [0.003, 0.006, 0.006], "timm": [0.001, 0.002, 0.003]}
    row = {"seconds": seconds, "peak_bytes": dict.fromkeys(seconds, 2**21), "products": {"seconds": 0.001, "flop": 1}}
    rows = {
        f"{build}, MNIST, {kind}, batch 8": row for build in ("forward", "step") for kind in ("float32", "bfloat16")
    }
    made = {"machine": {"device": "X1", "cores": 2, "threads": 1, "torch": "9", "date": "today"}, "rows": rows}
    monkeypatch.setattr(page, "HERE", tmp_path)
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    monkeypatch.setattr(data, "RESULTS", tmp_path / "none")
    monkeypatch.setattr(plots, "png", lambda figure: b"a picture")
    (tmp_path / "speed_avx2.json").write_text(json.dumps(made))
    page.write()
    text = (tmp_path / "README.md").read_text()
    assert "X1, 2 cores, 1 threads: torch 9; today" in text
    line = next(line for line in text.splitlines() if line.startswith("| forward, MNIST, float32"))
    assert "| 6 | 4 | 2 | 4 | 4 | 4 | timm: **3.00** (2.00 to 3.00) | 0.67 | 17% | 2.0 / 2.0 |" in line
    step = next(line for line in text.splitlines() if line.startswith("| step, MNIST, float32"))
    assert "| 50% |" in step and (tmp_path / "speed_avx2.png").read_bytes() == b"a picture"


def test_the_stored_page_is_made_from_the_stored_results(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "HERE", tmp_path)
    monkeypatch.setattr(page, "ratios", lambda result, path: None)
    page.write()
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


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


def short(rank: int, folder: str, without: str) -> None:
    """The minute's training on few pictures; writes how its model ends."""
    mnist, real = data.mnist, minute.evaluate

    def looked_at(model, *test):
        Path(folder, f"model {rank}").write_text(str(files.checksum(model.state_dict(), {})))
        return real(model, *test)

    few = mock.patch.object(data, "mnist", lambda split: tuple(t[:4096] for t in mnist(split)))
    with few, mock.patch.object(minute, "evaluate", looked_at):
        minute.train(rank, folder, 3, without)


@pytest.mark.long
@pytest.mark.parametrize(("without", "right"), [("all", 0.6), ("Muon", 0.15)])
def test_two_processes_of_the_minute_train_one_model(tmp_path, without, right):
    torch.multiprocessing.spawn(short, (str(tmp_path), without), 2)
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert len(rows) == len(minute.PASSES) and rows[-1]["accuracy"] > right
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    assert (tmp_path / "model 0").read_text() == (tmp_path / "model 1").read_text()


def test_the_minutes_section_says_how_many_runs_got_there():
    machine = {"device": "X1", "cores": 2, "threads": 1, "date": "today"}
    runs = [
        [{"seconds": s / 2, "accuracy": a - 0.01}, {"seconds": s, "accuracy": a}] for s, a in ((40, 0.992), (60, 0.98))
    ]
    *_, lines = tables.minute_section({"machine": machine, "runs": {"all": runs, "one": runs}})
    assert "| all | 98.60 ± 0.85 % | 50 ± 14 s | 1 of 2, in 40 to 40 s |" in lines
    assert "| without one | 98.60" in lines


def test_a_rung_that_a_machine_lacks_is_left_open():
    machine = {"date": "today"}
    pictures = {"loop": 1, "compiled": 4, "three lines": 1, "flash": 1}
    seconds = {"loop": [2.0] * 3, "compiled": [1.0] * 3, "three lines": [6.0] * 3, "flash": [2.0] * 3}
    both = {"a": {"machine": machine, "pictures": pictures, "seconds": seconds}}
    both["b"] = {
        "machine": machine,
        "pictures": {k: v for k, v in pictures.items() if k != "compiled"},
        "seconds": seconds,
    }
    _, lines = tables.ladder_section({"machines": both})
    assert "| compiled | 4 (8.0) |  |" in lines and "| flash | 0 (3.0) | 0 (3.0) |" in lines
