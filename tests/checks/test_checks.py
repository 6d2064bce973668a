"""Promise 5: every check accepts the right answer, names the known mistakes, and describes the unknown ones."""

import importlib
from dataclasses import replace

import pytest
import torch
from broken import subclass
from right_answers import RIGHT, right_count, right_patchify
from torch import nn
from wrong_answers import MISTAKES

import vit_tutorial as vt
from vit_tutorial import checks
from vit_tutorial.checks import core


@pytest.mark.parametrize("name", checks.__all__)
def test_the_right_answer_passes_in_one_line(name, capsys):
    getattr(checks, name)(RIGHT[name])
    assert len(capsys.readouterr().out.splitlines()) == 1


# --- wrong classes: the package's, with another forward or other parameters ---


@pytest.mark.parametrize(("number", "name", "wrong", "words"), MISTAKES)
def test_a_known_mistake_is_named(number, name, wrong, words, capsys):
    with pytest.raises(AssertionError, match=words):
        getattr(checks, name)(wrong)
    assert capsys.readouterr().out == ""  # nothing is called right first


def named_by(name, monkeypatch):
    """Each sentence of a check with an answer that makes this mistake, and the check's own reference cases."""
    caught = {}

    def spy(exercise, yours, reference, cases, mistakes, also=None):
        caught.update(exercise=exercise, reference=reference, cases=cases, mistakes=mistakes)

    for module in ("core", "pictures", "tokens", "heads", "blocks", "models", "training", "looking", "foreign"):
        target = importlib.import_module(f"vit_tutorial.checks.{module}")
        if hasattr(target, "compare"):
            monkeypatch.setattr(target, "compare", spy)
    getattr(checks, name)(RIGHT[name])
    monkeypatch.undo()
    return caught


@pytest.mark.parametrize("name", checks.__all__)
def test_every_sentence_of_a_check_is_said_for_its_mistake_and_no_other(name, monkeypatch):
    known = named_by(name, monkeypatch)
    assert len(known["mistakes"]) >= 2
    for sentence, mistaken in known["mistakes"].items():
        with pytest.raises(AssertionError) as error:
            core.compare(known["exercise"], mistaken, known["reference"], known["cases"], known["mistakes"])
        assert str(error.value) == f"{known['exercise']}: {sentence}"


UNNAMED = [
    ("patchify", lambda x, P: right_patchify(x, P)[:, :1], "expected shape"),
    ("patchify", lambda x, P: right_patchify(x, P) + 1, r"entries differ; the first at index \(0, 0, 0\)"),
    ("patchify", lambda x, P: None, "expected a Tensor, got a NoneType"),
    ("patchify", lambda x, P: 1 / 0, "stopped with ZeroDivisionError"),
    ("attention", lambda q, k, v: v, "entries differ"),
    ("num_tokens", lambda h, w, p: 7, "expected 197, got 7"),
    ("num_tokens", lambda h, w, p: h / p * w / p + 1, "expected a int, got a float"),
    ("conv_from_linear", lambda linear, P: None, "expected an nn.Conv2d"),
    ("mlp", subclass(vt.MLP, lambda s, x: -vt.MLP.forward(s, x)), "entries differ"),
    (
        "mlp",
        subclass(vt.MLP, init=lambda s: s.register_parameter("gain", nn.Parameter(torch.ones(1)))),
        "none of that name",
    ),
    ("vit", subclass(vt.ViT, lambda s, x: vt.ViT.forward(s, x.flip(-1))), "entries differ"),
    ("count_parameters", lambda c: right_count(replace(c, depth=c.depth - 1)), "expected 86567656"),
    ("count_parameters", lambda c: right_count(c) + 7, "got 86567663"),
    ("count_parameters", lambda c: right_count(replace(c, mlp_dim=4 * c.embed_dim)), r"expected \d+, got"),
    ("count_macs", lambda c: vt.count_macs(c) + 1, "expected 17563828224, got 17563828225"),
    ("parameter_groups", lambda m, d: [{"params": [], "weight_decay": d}], "expected 0.0500, got -1"),
    ("rollout", lambda m: m[0], "expected shape"),
    ("mlp", type("Plain", (), {"__init__": lambda self, *sizes: None}), "inherits from nn.Module"),
]


@pytest.mark.parametrize(("name", "wrong", "words"), UNNAMED)
def test_an_unknown_mistake_is_described(name, wrong, words):
    with pytest.raises(AssertionError, match=words):
        getattr(checks, name)(wrong)


@pytest.mark.parametrize("name", checks.__all__)
def test_an_empty_stub_is_told_so(name):
    class Stub(nn.Module):
        def __init__(self, *args):
            raise NotImplementedError

    def stub(*args):
        raise NotImplementedError

    is_class = isinstance(RIGHT[name], type)
    with pytest.raises(AssertionError, match="nothing is written yet"):
        getattr(checks, name)(Stub if is_class else stub)


def test_a_check_leaves_the_random_state_alone():
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    checks.multi_head_attention(vt.MultiHeadAttention)
    assert torch.equal(torch.rand(3), expected)
