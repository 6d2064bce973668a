"""Training: each part beside an independent reference, runs that repeat bit for bit, faults that are named."""

import inspect
import random
import shutil
from dataclasses import replace
from pathlib import Path

import accelerate
import pytest
import torch
import torch.nn.functional as F
from transformers import get_cosine_schedule_with_warmup

from tests.train.runs import QUICK, SMALL, digits, same, second_of_two, small
from vit_tutorial import ViT
from vit_tutorial.train import Recipe, draw, evaluate, fit, loop, parameter_groups, predict, shift, train_epoch

# --- an epoch ---


def test_an_epoch_sees_every_image_once_in_an_order_of_its_own():
    recipe = Recipe(batch_size=10, shift=2, seed=3)
    orders = [draw(100, recipe, epoch)[0] for epoch in (0, 1)] + [draw(100, replace(recipe, seed=4), 0)[0]]
    assert all(order.flatten().sort().values.tolist() == list(range(100)) for order in orders)
    assert not torch.equal(orders[0], orders[1]) and not torch.equal(orders[0], orders[2])
    assert torch.equal(draw(100, recipe, 1)[0], orders[1])
    assert draw(109, recipe, 0)[0].shape == (10, 10)  # nine images sit out
    assert draw(1000, recipe, 0)[1].unique().tolist() == [-2, -1, 0, 1, 2]
    assert not draw(100, replace(recipe, shift=0), 0)[1].any()


@pytest.mark.parametrize(("size", "patch_size", "half"), [(28, 7, True), (28, 7, False), (27, 3, True)])
def test_on_a_cpu_few_tokens_are_trained_by_plain_products_in_bfloat16(size, patch_size, half):
    images, labels, fused = torch.randn(4, 1, size, size), torch.arange(4), not half or patch_size == 3  # 82 tokens
    model = ViT(replace(small().config, image_size=size, patch_size=patch_size))
    with torch.profiler.profile() as profile:
        fit(model, images, labels, Recipe(epochs=1, batch_size=4, bfloat16=half))
    called = {event.key for event in profile.key_averages()}
    assert ("aten::_scaled_dot_product_flash_attention_for_cpu" in called) == fused
    assert ("aten::_scaled_dot_product_attention_math" in called) != fused


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.1, "attention_dropout": 0.1}])
def test_fit_is_one_train_epoch_after_the_other(changes):
    (images, labels), ours, theirs = digits(), small(**changes), small(**changes)
    rows = fit(ours, images, labels, QUICK)
    optimizer = torch.optim.AdamW(parameter_groups(theirs, QUICK.weight_decay), betas=(0.9, 0.99), fused=True)
    losses = [train_epoch(theirs, optimizer, images, labels, QUICK, epoch).item() for epoch in range(3)]
    assert same(ours, theirs) and losses == [row["loss"] for row in rows]


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.1}])
def test_the_callers_chance_is_as_it_was(changes):
    before = torch.get_rng_state()
    draw(100, QUICK, 0)
    model = small(**changes)
    torch.set_rng_state(before)
    fit(model, *digits(), QUICK, digits())
    assert torch.equal(torch.get_rng_state(), before)
    model.head.linear.bias.data[3] = float("nan")
    with pytest.raises(FloatingPointError, match="loss: nan at step 0"):
        fit(model, *digits(), QUICK)
    assert torch.equal(torch.get_rng_state(), before)


# --- a run ---


def test_fit_equals_a_plain_loop_written_from_other_parts():
    images, labels = digits()
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


def test_a_run_learns_and_its_rows_say_so():
    model = small()
    rows = fit(model, *digits(), Recipe(40, 32, 1e-2, shift=0, label_smoothing=0.0), test=digits())
    assert [row["epoch"] for row in rows] == list(range(1, 41))
    assert rows[0]["loss"] > 2 and rows[-1]["loss"] < 0.2 and rows[-1]["test_accuracy"] > 0.95
    assert rows[-1]["test_accuracy"] == evaluate(model, *digits())["test_accuracy"]


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.1, "attention_dropout": 0.1}])
def test_the_same_seed_gives_the_same_weights_bit_for_bit(changes):
    models = [small(**changes) for _ in range(3)]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        torch.rand(random.randrange(9))  # what was drawn before does not matter
        fit(model, *digits(), replace(QUICK, seed=seed))
    assert same(models[0], models[1]) and not same(models[0], models[2])


def test_shifts_are_those_that_were_drawn(monkeypatch):
    seen = []
    monkeypatch.setattr(loop, "shift", lambda images, offsets: seen.append(offsets) or shift(images, offsets))
    plain, moved = small(), small()
    fit(plain, *digits(), replace(QUICK, epochs=1, shift=0))
    fit(moved, *digits(), replace(QUICK, epochs=1, shift=2))
    assert torch.equal(torch.stack(seen[10:]), draw(320, replace(QUICK, shift=2), 0)[1]) and not same(plain, moved)


def test_each_of_two_processes_takes_every_other_image_of_a_batch(monkeypatch):
    seen, waited, step, second = [], [], loop.train_step, second_of_two()
    second.wait_for_everyone = lambda: waited.append(len(seen))  # for the first to save
    monkeypatch.setattr(accelerate, "Accelerator", lambda **_: second)
    monkeypatch.setattr(loop, "train_step", lambda m, o, x, y, *rest: seen.append(y) or step(m, o, x, y, *rest))
    fit(small(), *digits(), replace(QUICK, epochs=1))
    order, _ = draw(320, replace(QUICK, epochs=1), 0)
    assert torch.equal(torch.stack(seen), digits()[1][order[:, 1::2]]) and waited == [10]


def test_a_model_in_eval_mode_is_trained_in_train_mode():
    modes, model = [], small(dropout=0.5).eval()
    model.dropout.register_forward_hook(lambda module, *_: modes.append(module.training))
    fit(model, *digits(), replace(QUICK, epochs=2), test=digits(70))  # one batch of predict
    assert modes == ([True] * 10 + [False]) * 2


def test_bfloat16_is_near():
    plain, half = small(), small()
    fit(plain, *digits(), replace(QUICK, epochs=1))
    fit(half, *digits(), replace(QUICK, epochs=1, bfloat16=True))
    logits = [predict(model, digits()[0]) for model in (plain, half)]
    assert 0 < (logits[1] - logits[0]).abs().max() < 0.1 * logits[0].abs().max()
    assert half.head.linear.weight.dtype == torch.float32


NO_COMPILER = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler")


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=[pytest.mark.long, NO_COMPILER])])
def test_compiling_changes_next_to_nothing(monkeypatch, backend):
    plain, compiled = small(), small()
    calls, original = [], torch.compile
    monkeypatch.setattr(torch, "compile", lambda model: calls.append(model) or original(model, backend=backend))
    fit(plain, *digits(), replace(QUICK, epochs=1))
    fit(compiled, *digits(), replace(QUICK, epochs=1, compile=True))
    logits = [predict(model, digits()[0]) for model in (plain, compiled)]
    torch.testing.assert_close(logits[1], logits[0], rtol=1e-2, atol=1e-3)
    assert list(compiled.state_dict()) == list(plain.state_dict()) and calls == [compiled]


def test_the_bar_counts_every_step_of_the_run(capsys, tmp_path):
    fit(small(), *digits(), QUICK, folder=tmp_path)
    assert "30/30" in capsys.readouterr().err
    fit(small(), *digits(), QUICK, folder=tmp_path)  # taken up at its end
    assert "30/30" in capsys.readouterr().err


def test_a_loss_that_is_lost_ends_the_epoch_early_and_names_the_step(monkeypatch):
    steps, real = [], loop.train_step
    monkeypatch.setattr(loop, "train_step", lambda *a: steps.append(0) or real(*a) * (len(steps) < 11 or torch.nan))
    with pytest.raises(FloatingPointError, match="loss: nan at step 10; "):
        fit(small(), *digits(), replace(QUICK, batch_size=5))
    assert len(steps) == 50  # of 64


def test_a_model_that_a_notebook_defines_is_trained_as_ours(tmp_path):
    notebook = {"__name__": "__main__", "__package__": "vit_tutorial"}
    exec(Path(inspect.getsourcefile(ViT)).read_text(), notebook)
    torch.manual_seed(0)
    theirs = notebook["ViT"](notebook["ViTConfig"](**vars(SMALL)))
    ours = small()
    rows = [fit(model, *digits(), QUICK, digits(), tmp_path / name) for model, name in ((ours, "a"), (theirs, "b"))]
    assert same(ours, theirs) and rows[0][-1]["test_accuracy"] == evaluate(theirs, *digits())["test_accuracy"]
    assert not isinstance(theirs, ViT)
