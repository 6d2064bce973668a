"""Promise 5: every check accepts the right answer, names the known mistakes, and describes the unknown ones."""

import importlib
import math

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from torch import nn

import vit_tutorial as vt
from tests.checks.right import RIGHT, typed
from vit_tutorial import checks
from vit_tutorial.checks import mistakes
from vit_tutorial.checks.observe import numbers
from vit_tutorial.checks.seal import borrowed


def subclass(base, forward=None, init=None):
    """`base` with another forward, and with `init(self)` after its own constructor."""
    base = typed(base) if borrowed(base) else base

    class Wrong(base):
        def __init__(self, *args):
            super().__init__(*args)
            if init:
                init(self)

    if forward:
        Wrong.forward = forward
    return Wrong


def plain_token(self):
    shape = self.token.shape
    del self.token
    self.token = torch.zeros(shape)


def batched_token(self):
    self.token = nn.Parameter(torch.zeros(2, 1, self.token.shape[-1]))


def one_position(self):
    self.embedding = nn.Parameter(torch.zeros(1, 1, self.embedding.shape[-1]))


def one_norm(self):
    self.norm = self.norm1
    del self.norm1, self.norm2


def columns_divided(maps):
    reached = torch.eye(maps.shape[-1])
    for layer in maps:
        fused = layer.max(1).values + torch.eye(maps.shape[-1])
        reached = torch.matmul(fused / fused.sum(dim=-1), reached)
    return reached


def probabilities(self, x):
    return typed(vt.ClassificationHead).forward(self, x).softmax(1)


def by_name(ours, theirs, x):
    seen = ({}, {})
    for kept, model in zip(seen, (ours, theirs), strict=True):
        hooks = [
            module.register_forward_hook(lambda m, inputs, output, kept=kept, name=name: kept.update({name: output}))
            for name, module in model.named_modules()
        ]
        model(x)
        for hook in hooks:
            hook.remove()
    for name, _ in theirs.named_modules():
        if not (seen[0][name] - seen[1][name]).abs().max() <= 1e-4 * seen[1][name].abs().max():
            return name


def misspelled(q, k, v, mask):
    return (q @ k.mT).mask_fill(~mask, -math.inf).softmax(-1) @ v


NAMED = [  # known mistakes in other words than the tables'
    ("attention", lambda q, k, v: (q @ k.mT).softmax(-1) * q.shape[-1] ** -0.5 @ v, "after the softmax"),
    ("attention", lambda q, k, v: (q @ k.mT).softmax(-2) @ v, "(not scaled.*columns sum|columns sum.*not scaled)"),
    ("cls_token", subclass(vt.ClsToken, init=plain_token), "never trains"),
    ("cls_token", subclass(vt.ClsToken, init=batched_token), "batch size in it"),
    ("position_embedding", subclass(vt.PositionEmbedding, init=one_position), r"one position|has shape \(1, 1, 6\)"),
    ("encoder_block", subclass(vt.EncoderBlock, init=one_norm), "serves both sub-layers|`norm1`"),
    ("masked_attention", misspelled, "`masked_fill`"),
    ("head", subclass(vt.ClassificationHead, probabilities), "1.4612"),
    ("rollout", columns_divided, "without keepdim=True divides the columns"),
    ("mended_loss", lambda x, labels: -x.log_softmax(1)[range(len(x)), labels].mean(), "log_softmax does"),
    ("mended_loss", lambda x, labels: nn.NLLLoss()(nn.LogSoftmax(1)(x), labels), "log_softmax does"),
    ("halve", lambda places, differs: next((p for p in places if differs(p)), None), "one place after the other"),
    ("halve", lambda places, differs: differs(0), "takes one of `places`, not 0"),
    ("first_difference", by_name, r"^\w+: [^(].*containers that never run, such as the ModuleList"),
]


OTHERS = importlib.import_module("tests.checks.right.16").OTHERS  # where people's right answers differ most


@pytest.mark.parametrize(("name", "right"), [(name, right) for name in OTHERS for right in OTHERS[name]])
def test_another_right_answer_is_right(name, right, capsys):
    getattr(checks, name)(right)
    assert "right, on" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "wrong", "words"), NAMED)
def test_a_known_mistake_is_named(name, wrong, words, capsys):
    with pytest.raises(AssertionError, match=words):
        getattr(checks, name)(wrong)
    assert capsys.readouterr().out in ("", mistakes.LOOKING)  # nothing is called right first


def noise(*shape):
    return 0.01 * numbers(shape, 99)


def in_place(self, x):
    x += self.attention(self.norm1(x))
    return x + self.mlp(self.norm2(x))


UNNAMED = [  # what no table holds, and what can be said of it
    ("patchify", lambda x, P: RIGHT["patchify"](x, P) + 1.25, "off by the same amount, 1.25"),
    (
        "patchify",
        lambda x, P: (lambda p: p + noise(*p.shape))(RIGHT["patchify"](x, P)),
        "% of the numbers differ; the first",
    ),
    ("patchify", lambda x, P: None, "nothing is returned"),
    ("patchify", lambda x, P: 1 / 0, "stopped in line .* with ZeroDivisionError"),
    ("attention", lambda q, k, v: v + noise(*v.shape), "`q`, `k` have no effect.*% of the numbers differ"),
    ("attention", lambda q, k, v: RIGHT["attention"](q, k, v) * 3, "each number is 3 times the expected one"),
    ("attention", lambda q, k, v: RIGHT["attention"](q, k, v).tolist(), "a list comes back"),
    ("attention", lambda q, k, v: RIGHT["attention"](q, k, v) + torch.randn_like(v), "change from call to call"),
    *(
        (
            "attention",
            lambda q, k, v, new=new: torch.cat([RIGHT["attention"](q, k, v)[..., 1:], new(v)], -1),
            "holds nan",
        )
        for new in (  # what nobody wrote to is NaN, each time
            lambda v: torch.empty(*v.shape[:-1], 1),
            lambda v: torch.empty_like(v[..., :1]),
            lambda v: v.new_empty(*v.shape[:-1], 1),
            lambda v: torch.Tensor(*v.shape[:-1], 1),
            lambda v: torch.zeros(1).resize_(v.numel() + 1)[1:].view_as(v)[..., :1],
        )
    ),
    ("attention", lambda q, k, v: RIGHT["attention"](q, k, v).to_sparse(), "a plain tensor"),
    ("attention", lambda q, k: q, "stopped with TypeError"),
    ("attention", lambda q, k, v: (q @ k.T).softmax(-1) @ v, r"`\.T` turns all axes around"),
    ("patchify", lambda x, P: RIGHT["patchify"](x, P).double(), "right, but their dtype is not"),
    ("num_tokens", lambda h, w, p: 7, "7 comes back in each case"),
    ("our_order", lambda weight, P, images, tokens: None, "does the comparison allow for rounding"),
    ("lost_config", lambda state, config, images, expected: None, "may the logits differ by rounding"),
    # one mistake, not four: what the backward pass says of it is no other
    (
        "encoder_block",
        subclass(vt.EncoderBlock, in_place),
        r"^\w+: the argument `x` is changed in place[^()]*\([^()]*\)[^()]*$",
    ),
    ("mlp", subclass(vt.MLP, lambda s, x: -typed(vt.MLP).forward(s, x)), "-1 times|sign"),
    (
        "cls_token",
        subclass(vt.ClsToken, init=lambda s: s.register_parameter("gain", nn.Parameter(torch.ones(1)))),
        "`gain`",
    ),
    ("mlp", subclass(vt.MLP, lambda s, x: typed(vt.MLP).forward(s, x.flip(-1))), "100% of the numbers differ"),
    ("count_parameters", lambda c: RIGHT["count_parameters"](c) + 7, "expected 18271, got 18278"),
    ("rollout", lambda m: m[0], "expected shape|one layer"),
    ("mlp", type("Plain", (), {"__init__": lambda self, *sizes: None}), "inherits from nn.Module"),
    ("mlp", vt.MLP(2, 3), "pass the class itself"),
    ("mlp", lambda *sizes: vt.MLP(*sizes), "pass a class that"),
]


@pytest.mark.parametrize(("name", "wrong", "words"), UNNAMED)
def test_an_unknown_mistake_is_described(name, wrong, words):
    with pytest.raises(AssertionError, match=words):
        getattr(checks, name)(wrong)


def test_leaving_python_is_the_learners_own():
    def leaves(*arguments):
        raise SystemExit("done")

    with pytest.raises(SystemExit):
        checks.attention(leaves)


def test_a_check_asks_for_gradients_wherever_it_is_called(capsys):
    with torch.no_grad():
        checks.attention(RIGHT["attention"])
        assert not torch.is_grad_enabled()
    assert "right, on" in capsys.readouterr().out


def test_a_notebook_shows_the_message_alone_and_offers_the_hint_after_three_failures():
    shell, checks.num_tokens.failures = InteractiveShell.instance(), 0
    shown = []
    for _ in range(3):
        with capture_output() as output:
            shell.run_cell("from vit_tutorial import checks\nchecks.num_tokens(lambda height, width, patch_size: 7)")
        shown.append(output.stdout.strip())
    assert shown[0] == shown[1] and shown[0].startswith("num_tokens: ") and "Traceback" not in shown[0]
    assert shown[2] == shown[0] + "\nStuck? If there's a card above, its hint is folded."
    checks.num_tokens(RIGHT["num_tokens"])
    assert checks.num_tokens.failures == 0


def test_the_learners_own_line_is_shown(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("def my_attention(q, k, v):\n    scores = q @ k\n    return scores @ v\n")
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("mine").my_attention
    with pytest.raises(AssertionError, match=r"stopped in line 2, `scores = q @ k`, with RuntimeError: .*\(for q \("):
        checks.attention(mine)


def test_a_model_is_called_right_only_in_what_was_tried(capsys):
    checks.vit(RIGHT["vit"])
    out = capsys.readouterr().out
    assert "right, on 3 cases (not tried: " in out and "dropout" in out and 'pool="mean"' in out
