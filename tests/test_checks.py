"""Promise 5: every check accepts the right answer, names the known mistakes, and describes the unknown ones.

The wrong answers are written as learners write them, not as the checks spell them. The number before each is
its number in the list of real mistakes this project keeps.
"""

import functools
import importlib
import math
from dataclasses import replace

import pytest
import sklearn.metrics
import torch
import torch.nn.functional as F
from einops import rearrange
from timm.layers import resample_abs_pos_embed
from torch import nn

import vit_tutorial as vt
from vit_tutorial import checks
from vit_tutorial.checks import core
from vit_tutorial.checks.tokens import RegisterTokens

# --- right answers, most of them spelled otherwise than in the package ---


def right_patchify(x, P):
    B, C, H, W = x.shape
    return x.reshape(B, C, H // P, P, W // P, P).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


def right_unpatchify(p, P, grid):
    return F.fold(p.mT, (grid[0] * P, grid[1] * P), kernel_size=P, stride=P)


def right_conv(linear, P):
    conv = nn.Conv2d(linear.in_features // P**2, linear.out_features, P, P)
    conv.weight.data, conv.bias.data = linear.weight.data.view_as(conv.weight), linear.bias.data
    return conv


def right_sincos1d(x, dim):
    angle = torch.outer(x, 10000.0 ** (-torch.arange(dim // 2) / (dim // 2 - 1)))
    return torch.cat([angle.sin(), angle.cos()], 1)


def right_attention(q, k, v):
    return torch.einsum("bhij,bhjd->bhid", (torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5).softmax(-1), v)


def right_masked(q, k, v, mask):
    return (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v


def right_layer_norm(x, w, b, eps):
    x = x - x.mean(-1, keepdim=True)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w + b


def right_count(c):
    with torch.device("meta"):
        return sum(p.numel() for p in vt.ViT(c).parameters())


def right_groups(model, decay):
    plain = [p for n, p in model.named_parameters() if n.endswith((".bias", "token", "embedding")) or "norm" in n]
    rest = [p for p in model.parameters() if not any(p is q for q in plain)]
    return [{"params": plain, "weight_decay": 0.0}, {"params": rest, "weight_decay": decay}]


def right_confusion(labels, predictions, C):
    return torch.from_numpy(sklearn.metrics.confusion_matrix(labels, predictions, labels=range(C)))


def right_rollout(maps):
    layers = maps.mean(2) + torch.eye(maps.shape[-1])
    return functools.reduce(lambda below, above: above @ below, layers / layers.sum(-1, keepdim=True))


def right_distance(maps, P):
    side = round((maps.shape[-1] - 1) ** 0.5)
    total = torch.zeros(maps.shape[0], maps.shape[2])
    for i in range(side**2):
        row = maps[..., 1 + i, 1:] / maps[..., 1 + i, 1:].sum(-1, keepdim=True)
        far = torch.tensor([math.dist(divmod(i, side), divmod(j, side)) for j in range(side**2)])
        total += (row * far * P).sum(-1).mean(1) / side**2
    return total


def right_fit(positions, grid):
    if round(positions.shape[1] ** 0.5) ** 2 == positions.shape[1]:
        positions = F.pad(positions, (0, 0, 1, 0))
    larger = resample_abs_pos_embed(positions, list(grid), num_prefix_tokens=1)
    return larger


def wrong_confusion(labels, predictions, C):
    matrix = torch.zeros(C, C, dtype=torch.int64)
    matrix[labels, predictions] += 1
    return matrix


def wrong_rollout(maps):
    reached = torch.eye(maps.shape[-1])
    for layer in maps:
        fused = layer.max(1).values + torch.eye(maps.shape[-1])
        reached = torch.matmul(fused / fused.sum(dim=-1), reached)
    return reached


RIGHT = {
    "num_tokens": lambda h, w, p: 1 + (h * w) // (p * p),
    "normalise": lambda x: (x.float() / 255 - 0.5).movedim(-1, 0) / 0.5,
    "patchify": right_patchify,
    "unpatchify": right_unpatchify,
    "conv_from_linear": right_conv,
    "cls_token": vt.ClsToken,
    "register_tokens": RegisterTokens,
    "position_embedding": vt.PositionEmbedding,
    "sincos1d": right_sincos1d,
    "resize_positions": vt.resize_positions,
    "attention": right_attention,
    "masked_attention": right_masked,
    "multi_head_attention": vt.MultiHeadAttention,
    "layer_norm": right_layer_norm,
    "mlp": vt.MLP,
    "encoder_block": vt.EncoderBlock,
    "mean_pool": lambda x: x[:, 1:].sum(1) / (x.shape[1] - 1),
    "head": vt.ClassificationHead,
    "count_parameters": right_count,
    "count_macs": vt.count_macs,
    "vit": vt.ViT,
    "schedule": lambda p, w, f: p / w if p < w else 1 - (1 - f) * math.sin(math.pi / 2 * (p - w) / (1 - w)) ** 2,
    "parameter_groups": right_groups,
    "confusion_matrix": right_confusion,
    "attention_map": lambda q, k: right_attention(q, k, torch.eye(k.shape[2]).expand(*k.shape[:3], -1)),
    "rollout": right_rollout,
    "attention_distance": right_distance,
    "timm_name": lambda name: vt.dialects.rename(name, vt.dialects.TIMM),
    "fit_positions": right_fit,
    "regroup_qkv": lambda rows, h: torch.cat([rows[i::3] for i in range(3)]),
}


@pytest.mark.parametrize("name", checks.__all__)
def test_the_right_answer_passes_in_one_line(name, capsys):
    getattr(checks, name)(RIGHT[name])
    assert len(capsys.readouterr().out.splitlines()) == 1


# --- wrong classes: the package's, with another forward or other parameters ---


def subclass(base, forward=None, init=None):
    """`base` with another forward, and with `init(self)` after its own constructor."""

    class Wrong(base):
        def __init__(self, *args):
            super().__init__(*args)
            if init:
                init(self)

    if forward:
        Wrong.forward = forward
    return Wrong


def replace_parameter(name, value):
    def init(self):
        new = value(self)
        delattr(self, name)
        setattr(self, name, new)

    return init


def mha(mix):
    """A MultiHeadAttention whose forward is `mix(self, q, k, v)`, merged and projected."""

    def forward(self, x):
        B, N, D = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        return self.out(mix(self, q, k, v).transpose(1, 2).reshape(B, N, D))

    return subclass(vt.MultiHeadAttention, forward)


def mha_heads_merged_without_transpose(self, x):
    q, k, v = self.project(x)
    return self.out(F.scaled_dot_product_attention(q, k, v).reshape(x.shape))


def mha_hdqkv(self, x):
    q, k, v = self.qkv(x).reshape(*x.shape[:2], self.num_heads, -1, 3).permute(4, 0, 2, 1, 3)
    return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape))


def mha_batch_first(self, x):
    q, k, v = self.project(x.transpose(0, 1))
    mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return self.out(mixed).transpose(0, 1)


def mha_no_out(self, x):
    return rearrange(F.scaled_dot_product_attention(*self.project(x)), "B h N d -> B N (h d)")


def mha_dropout_in_eval(self, x):
    mixed = F.scaled_dot_product_attention(*self.project(x), dropout_p=self.dropout)
    return self.out(rearrange(mixed, "B h N d -> B N (h d)"))


def mha_dropout_unused(self, x):
    return self.out(rearrange(F.scaled_dot_product_attention(*self.project(x)), "B h N d -> B N (h d)"))


def slice_heads(self):
    d = self.out.in_features // self.num_heads
    self.qkv = nn.Linear(d, 3 * d)


def position_in_place(self, x):
    x += self.embedding
    return x


def masked_dropped(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v


def masked_misspelled(q, k, v, mask):
    return (q @ k.mT).mask_fill(~mask, -math.inf).softmax(-1) @ v


def block_residual_from_norm(self, x):
    x = self.norm1(x)
    x = self.attention(x) + x
    x = self.norm2(x)
    return self.mlp(x) + x


def block_post_norm(self, x):
    x = self.norm1(self.attention(x) + x)
    return self.norm2(self.mlp(x) + x)


def block_shared_norm(self, x):
    x = x + self.attention(self.norm1(x))
    return x + self.mlp(self.norm1(x))


def share_norm(self):
    self.norm2 = self.norm1


def head_norm_missing(self, x):
    return self.linear(x[:, 0] if self.pool == "cls" else x.mean(1))


def head_norm_after(self, x):
    return self.linear(self.norm(x[:, 0] if self.pool == "cls" else x.mean(1)))


def head_softmax(self, x):
    return vt.ClassificationHead.forward(self, x).softmax(1)


def head_tanh(self, x):
    return torch.tanh(vt.ClassificationHead.forward(self, x))


def vit_positions_first(self, images):
    x = self.patch_embedding(images)
    x = x + self.position_embedding.embedding[:, : x.shape[1]]
    return self.head(self.encoder(self.cls_token(x)))


def vit_cls_unused(self, images):
    x = self.patch_embedding(images) + self.position_embedding.embedding[:, 1:]
    return self.head(self.encoder(x))


def batched_token(self):
    self.token = nn.Parameter(torch.zeros(2, 1, self.token.shape[-1]))


def registers_first(self, x):
    return torch.cat([self.registers.repeat(len(x), 1, 1), x], 1)


def interleaved(x, dim):
    return right_sincos1d(x, dim).unflatten(1, (2, -1)).mT.flatten(1)


def norm_unbiased(x, w, b, eps):
    return (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + eps) ** 0.5 * w + b


def norm_eps_outside(x, w, b, eps):
    return (x - x.mean(-1, True)) / (x.std(-1, keepdim=True, correction=0) + eps) * w + b


def head_eps(self, x):
    x = F.layer_norm(x, x.shape[-1:], self.norm.weight, self.norm.bias)
    return self.linear(x[:, 0] if self.pool == "cls" else x.mean(1))


def head_mean_of_patches(self, x):
    x = self.norm(x)
    return self.linear(x[:, 0] if self.pool == "cls" else x[:, 1:].mean(1))


def extra_norm(self):
    self.norm = nn.LayerNorm(self.config.embed_dim)


def extra_projection(self):
    self.patch_projection = nn.Linear(self.config.embed_dim, self.config.embed_dim)


def wrong_sum(c):
    return vt.count_parameters(c) - c.embed_dim * (c.num_tokens + 1)


def one_position():
    def init(self):
        self.embedding = nn.Parameter(torch.zeros(1, 1, self.embedding.shape[-1]))

    return subclass(vt.PositionEmbedding, init=init)


def without(part, base=vt.ViT):
    return subclass(base, init=lambda self: setattr(self, part, nn.Identity()))


def block_with_one_norm():
    def init(self):
        self.norm = self.norm1
        del self.norm1, self.norm2

    return subclass(vt.EncoderBlock, init=init)


def mha_dropout_on_output(self, x):
    mixed = F.scaled_dot_product_attention(*self.project(x))
    return F.dropout(self.out(rearrange(mixed, "B h N d -> B N (h d)")), self.dropout, self.training)


MISTAKES = [
    (1, "attention", lambda q, k, v: (q @ k.mT).softmax(-1) / math.sqrt(q.shape[-1]) @ v, "after the softmax"),
    (1, "multi_head_attention", mha(lambda s, q, k, v: (q @ k.mT).softmax(-1) * q.shape[-1] ** -0.5 @ v), "after the"),
    (
        2,
        "multi_head_attention",
        mha(lambda s, q, k, v: (q @ k.mT / s.out.in_features**0.5).softmax(-1) @ v),
        r"sqrt\(embed_dim\)",
    ),
    (3, "attention", lambda q, k, v: (q @ k.mT).softmax(-1) @ v, "not scaled"),
    (3, "multi_head_attention", mha(lambda s, q, k, v: (q @ k.mT).softmax(-1) @ v), "not scaled"),
    (4, "attention", lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v, "columns sum to 1"),
    (4, "multi_head_attention", mha(lambda s, q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v), "columns"),
    (5, "multi_head_attention", subclass(vt.MultiHeadAttention, mha_heads_merged_without_transpose), "merged by"),
    (6, "multi_head_attention", subclass(vt.MultiHeadAttention, mha_hdqkv), r"\(h d qkv\)"),
    (7, "multi_head_attention", subclass(vt.MultiHeadAttention, init=slice_heads), "only its slice"),
    (7, "multi_head_attention", subclass(vt.MultiHeadAttention, mha_no_out), "projection is missing"),
    (8, "patchify", lambda x, P: x.view(len(x), -1, x.shape[1] * P * P), "reshape or view alone"),
    (8, "patchify", lambda x, P: right_patchify(x, P).unflatten(2, (-1, P * P)).mT.flatten(2), "colours come last"),
    (8, "unpatchify", lambda p, P, g: p.view(len(p), -1, g[0] * P, g[1] * P), "reshape or view alone"),
    (8, "normalise", lambda x: x.view(3, *x.shape[:2]) / 127.5 - 1, "mixes the colours"),
    (9, "multi_head_attention", subclass(vt.MultiHeadAttention, mha_batch_first), "batch_first"),
    (
        10,
        "cls_token",
        subclass(vt.ClsToken, init=batched_token),
        "no batch dimension",
    ),
    (10, "position_embedding", subclass(vt.PositionEmbedding, lambda s, x: x + s.embedding[0, 0]), "same position"),
    (
        11,
        "cls_token",
        subclass(vt.ClsToken, init=replace_parameter("token", lambda m: torch.zeros(1, 1, m.token.shape[-1]))),
        "never trains",
    ),
    (12, "vit", subclass(vt.ViT, vit_positions_first), "before the class token"),
    (
        12,
        "position_embedding",
        subclass(vt.PositionEmbedding, lambda s, x: torch.cat([x[:, :1], (x + s.embedding)[:, 1:]], 1)),
        "gets no position",
    ),
    (13, "head", subclass(vt.ClassificationHead, head_softmax), "1.4612"),
    (13, "vit", subclass(vt.ViT, lambda s, x: F.softmax(vt.ViT.forward(s, x), 1)), "softmax"),
    (14, "head", subclass(vt.ClassificationHead, head_tanh), "loss stays flat"),
    (15, "encoder_block", subclass(vt.EncoderBlock, block_residual_from_norm), "normalised value"),
    (16, "head", subclass(vt.ClassificationHead, head_norm_missing), "norm is missing"),
    (16, "head", subclass(vt.ClassificationHead, head_norm_after), "after pooling"),
    (17, "encoder_block", subclass(vt.EncoderBlock, block_shared_norm), "one norm serves both"),
    (17, "encoder_block", subclass(vt.EncoderBlock, init=share_norm), "parameters fewer"),
    (18, "mlp", subclass(vt.MLP, lambda s, x: F.gelu(s.fc2(F.gelu(s.fc1(x))))), "never below -0.17"),
    (19, "mean_pool", lambda x: x.mean(dim=1), "class token is in the mean"),
    (19, "vit", subclass(vt.ViT, vit_cls_unused), "no class token"),
    (20, "position_embedding", subclass(vt.PositionEmbedding, position_in_place), "changed in place"),
    (21, "masked_attention", masked_dropped, "returns the masked copy, and yours is dropped"),
    (21, "masked_attention", masked_misspelled, "`masked_fill`"),
    (22, "multi_head_attention", subclass(vt.MultiHeadAttention, mha_dropout_in_eval), r"still on in eval\(\)"),
    (24, "multi_head_attention", subclass(vt.MultiHeadAttention, mha_dropout_unused), "nobody uses it"),
    (29, "resize_positions", lambda e, old, new: vt.resize_positions(e, old, new[::-1]), "changed places"),
    (29, "resize_positions", lambda e, old, new: vt.resize_positions(e, old, (new[0], new[0])), "for a square"),
    (32, "count_parameters", wrong_sum, "torchsummary"),
    (35, "encoder_block", subclass(vt.EncoderBlock, block_post_norm), "norm_first forgotten"),
    (36, "mlp", subclass(vt.MLP, lambda s, x: s.fc2(F.relu(s.fc1(x)))), "ViT has GELU"),
    (36, "vit", subclass(vt.ViT, init=extra_projection), "One projection too many"),
    (16, "head", subclass(vt.ClassificationHead, head_eps), "1e-6"),
    (19, "head", subclass(vt.ClassificationHead, head_mean_of_patches), "no class token"),
    (None, "vit", subclass(vt.ViT, init=extra_norm), "final norm is in the head"),
    (None, "count_parameters", lambda c: right_count(c) - c.embed_dim, "class token is left out"),
    (None, "count_parameters", lambda c: right_count(c) - 2 * c.embed_dim, "final norm is left out"),
    (None, "count_parameters", lambda c: right_count(c) - 2 * c.embed_dim * c.depth, "one of the two norms"),
    (None, "count_parameters", lambda c: right_count(c) - 3 * c.embed_dim * c.depth, "biases of qkv"),
    (None, "count_macs", lambda c: vt.count_macs(c) * 2, "FLOPs"),
    (None, "count_macs", lambda c: vt.count_macs(c) - c.depth * c.embed_dim * c.num_tokens**2, "one of attention's"),
    (None, "count_macs", lambda c: vt.count_macs(c) + c.in_channels * c.patch_size**2 * c.embed_dim, "on the patches"),
    (None, "num_tokens", lambda h, w, p: h // p * (w // p), "class token"),
    (10, "position_embedding", one_position(), "One position for all"),
    (12, "vit", without("position_embedding"), "Without positions"),
    (16, "head", without("norm", vt.ClassificationHead), "final norm is missing"),
    (17, "encoder_block", block_with_one_norm(), "parameters fewer"),
    (19, "vit", without("cls_token"), "no class token"),
    (24, "multi_head_attention", subclass(vt.MultiHeadAttention, mha_dropout_on_output), "acts on the output"),
    (None, "conv_from_linear", lambda lin, P: _conv(lin, P, lin.bias * 0), "bias is left out"),
    (None, "sincos1d", interleaved, "alternate"),
    (None, "register_tokens", subclass(RegisterTokens, registers_first), "read a register"),
    (None, "layer_norm", norm_unbiased, "D - 1"),
    (None, "layer_norm", norm_eps_outside, "under the root"),
    (None, "schedule", lambda p, w, f: f + (1 - f) * (1 + math.cos(math.pi * p)) / 2, "no warm-up"),
    (None, "schedule", lambda p, w, f: p / w if p < w else 1 - (1 - f) * (1 - math.cos(math.pi * p)) / 2, "rate jumps"),
    (None, "schedule", lambda p, w, f: p / w if p < w else 1 - (1 - f) * (p - w) / (1 - w), "on a straight line"),
    (None, "schedule", lambda p, w, f: min(1.0, p / w if w else 1.0), "never falls"),
    (None, "schedule", lambda p, w, f: RIGHT["schedule"](p, w, 0.0), "the floor is not used"),
    (None, "schedule", lambda p, w, f: max(f * (p >= w), RIGHT["schedule"](p, w, 0.0)), "cuts the cosine off"),
    (23, "parameter_groups", lambda m, d: [{"params": [*m.parameters()], "weight_decay": d}], "everything decays"),
    (23, "parameter_groups", lambda m, d: [
        {"params": [p for p in m.parameters() if p.dim() >= 2], "weight_decay": d},
        {"params": [p for p in m.parameters() if p.dim() < 2], "weight_decay": 0.0}], "have three dimensions"),
    (None, "parameter_groups", lambda m, d: [
        {"params": [p for n, p in m.named_parameters() if n.endswith("weight")], "weight_decay": d},
        {"params": [p for n, p in m.named_parameters() if not n.endswith("weight")], "weight_decay": 0.0}], "norms"),
    (34, "confusion_matrix", lambda y, p, C: right_confusion(p, y, C), "rows and columns have changed places"),
    (None, "confusion_matrix", wrong_confusion, "repeated pairs count once"),
    (1, "attention_map", lambda q, k: (q @ k.mT).softmax(-1) / q.shape[-1] ** 0.5, "scaled after the softmax"),
    (4, "attention_map", lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).softmax(2), "softmax runs over the queries"),
    (28, "attention_map", lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).mT.softmax(-1), "a row must be one query"),
    (26, "rollout", wrong_rollout, "without keepdim=True divides the columns"),
    (None, "rollout", lambda m: functools.reduce(lambda a, b: b @ a, m.mean(2)), "the shortcut is missing"),
    (None, "attention_distance", lambda m, P: right_distance(m, 1), "this is in patches"),
    (None, "attention_distance", lambda m, P: right_distance(m.roll((1, 1), (3, 4)), P), "the last token is left out"),
    (None, "count_macs", lambda c: vt.count_macs(c) - 2 * c.depth * c.embed_dim * c.num_tokens**2, "16.85 G"),
    (None, "timm_name", lambda n: RIGHT["timm_name"](n).replace("attn.proj", "attn.out"), "is `proj`, not `out`"),
    (None, "timm_name", lambda n: RIGHT["timm_name"](n).replace("blocks", "encoder.blocks"), "timm has no `encoder`"),
    (29, "fit_positions", lambda p, g: right_fit(p, (g[0], g[0])), r"expected shape \(1, 22, 4\), got \(1, 10, 4\)"),
    (29, "fit_positions", lambda p, g: right_fit(p, (g[1], g[0])), "height and width have changed places"),
    (None, "fit_positions", lambda p, g: right_fit(p, g)[:, -g[0] * g[1] :], "expected shape"),
    (None, "fit_positions", lambda p, g: right_fit(p, g)[:, [*range(1, 1 + g[0] * g[1]), 0]], "belongs in front"),
    (6, "regroup_qkv", lambda r, h: r, "nothing has moved"),
    (6, "regroup_qkv", lambda r, h: r.unflatten(0, (h, 3, -1)).movedim(1, 0).flatten(0, 2), r"\(h qkv d\) in your"),
    (6, "regroup_qkv", lambda r, h: r.unflatten(0, (3, h, -1)).movedim(0, 2).flatten(0, 2), "this is the way back"),
]  # fmt: skip


def _conv(linear, P, bias):
    conv = right_conv(linear, P)
    conv.bias.data = bias.data
    return conv


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
