"""The benchmarks compare like with like, and their page says what was measured."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks import mnist_minute as minute
from benchmarks import page, tables
from benchmarks import speed as bench
from vit_tutorial import ViT, ViTConfig, count_macs, count_parameters, data, plots

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize(("shape", "batch"), [("B/16", 8), ("MNIST", 3)])
def test_the_products_are_all_multiply_adds_of_the_model(shape, batch):
    config = bench.SHAPES[shape]
    flop = sum(2 * times * pairs * m * k * n for times, pairs, m, k, n in bench.products(config, batch))
    assert flop == 2 * batch * count_macs(config)


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
    made = {
        "speed_cpu": {
            "machine": {"device": "X1", "cores": 2, "threads": 1, "torch": "9", "date": "today"},
            "rows": rows,
        }
    }
    monkeypatch.setattr(page, "HERE", tmp_path)
    monkeypatch.setattr(data, "RESULTS", tmp_path)
    monkeypatch.setattr(data, "result", made.get)
    monkeypatch.setattr(plots, "png", lambda figure: b"a picture")
    (tmp_path / "speed_cpu.json").touch()
    page.write()
    text = (tmp_path / "README.md").read_text()
    assert "X1, 2 cores, 1 threads: torch 9; today" in text
    line = next(line for line in text.splitlines() if line.startswith("| forward, MNIST, float32"))
    assert "| 6 | 4 | 2 | 4 | 4 | 4 | timm: **3.00** (2.00 to 3.00) | 0.67 | 17% | 2.0 / 2.0 |" in line
    step = next(line for line in text.splitlines() if line.startswith("| step, MNIST, float32"))
    assert "| 50% |" in step and (tmp_path / "speed_cpu.png").read_bytes() == b"a picture"


def test_the_stored_page_is_made_from_the_stored_results(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "HERE", tmp_path)
    monkeypatch.setattr(page, "ratios", lambda result, path: None)
    page.write()
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("setting", minute.SETTINGS)
def test_the_optimisers_of_a_setting_have_every_parameter_once(setting):
    start, make, *_ = minute.SETTINGS[setting]
    model = start(minute.ViT(minute.GOAL.config))
    groups = [group for optimizer in make(model, minute.GOAL) for group in optimizer.param_groups]
    assert sorted(id(p) for group in groups for p in group["params"]) == sorted(map(id, model.parameters()))
    decaying = {id(p) for group in groups if group["weight_decay"] for p in group["params"]}
    assert decaying == {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Linear | torch.nn.Conv2d)}


def test_attention_starts_by_looking_at_its_like_and_taking_away():
    config = ViTConfig(32, 4, 3, 10, 256, 2, 4, 64, pool="mean")
    tokens, blocks = (
        torch.randn(8, 64, 256),
        [model.encoder.blocks[1] for model in (minute.mimetic(ViT(config)), ViT(config))],
    )
    alone = tokens[:, :1]  # with nobody else to look at, attention is values and output
    for block, looks, takes in zip(blocks, (True, False), (-0.4, 0.0), strict=True):
        itself = block.attention.weights(tokens).diagonal(dim1=-2, dim2=-1).mean(dim=(0, 2))  # one number per head
        assert (itself > 0.9).all() if looks else (itself < 0.05).all()
        assert abs((block.attention(alone) * alone).sum() / (alone * alone).sum() - takes) < 0.05


def test_muon_has_the_blocks_matrices():
    model = ViT(minute.GOAL.config)
    names = {id(p): name.split(".", 3)[-1] for name, p in model.named_parameters()}
    first = {names[id(p)] for group in minute.muon(model, minute.GOAL)[0].param_groups for p in group["params"]}
    assert first == {"attention.qkv.weight", "attention.out.weight", "mlp.fc1.weight", "mlp.fc2.weight"}


def test_a_run_of_the_minute_learns_and_can_be_repeated(monkeypatch):
    monkeypatch.setattr(minute, "GOAL", replace(minute.GOAL, epochs=3))
    images, labels = data.mnist("train")
    images = data.normalise(images)
    train, test = (images[:1024], labels[:1024]), (images[-500:], labels[-500:])
    first, again = ([*minute.run(*minute.SETTINGS["Muon"][:3], seed, train, test)] for seed in (3, 3))
    assert len(first) == minute.GOAL.epochs and first[-1]["accuracy"] > 0.25
    assert [row["accuracy"] for row in first] == [row["accuracy"] for row in again]
    assert [row["seconds"] for row in first] == sorted(row["seconds"] for row in first)


def test_the_minutes_section_says_how_many_runs_got_there():
    machine = {"device": "X1", "cores": 2, "threads": 1, "date": "today"}
    runs = [
        [{"seconds": s / 2, "accuracy": a - 0.01}, {"seconds": s, "accuracy": a}] for s, a in ((40, 0.992), (60, 0.98))
    ]
    _, lines = tables.minute_section({"machine": machine, "goal": {"epochs": 2}, "runs": {"one": runs}})
    assert "| one | 98.60 ± 0.85 % | 1 of 2, in 40 to 40 s |" in lines


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
