"""Answers of readers to whom a check said nothing by name, too much, or what is not true of them."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from vit_tutorial import checks, count_parameters, modern
from vit_tutorial.modern import rope_angles, rotate
from vit_tutorial.speed import seconds


def fused(joined, beside=lambda tensor: tensor):
    def fuse(parts):
        state = {name: beside(tensor) for name, tensor in parts.items() if not {"q", "k", "v"} & {*name.split(".")}}
        for name in (name for name in parts if ".q." in name):
            three = [parts[name.replace(".q.", f".{letter}.")] for letter in "qkv"]
            state[name.replace(".q.", ".qkv.")] = joined(torch.cat(three))
        return state

    return fuse


def folded(*columns):
    """The scales named in `columns` multiply columns."""

    def fold(state):
        found = {name: tensor for name, tensor in state.items() if "gamma" not in name}
        for name, gamma in state.items():
            if "gamma" in name:
                scale = name.split(".")[2]
                for part, where in (("weight", gamma if scale in columns else gamma[:, None]), ("bias", gamma)):
                    layer = {"ls1": "attention.out", "ls2": "mlp.fc2"}[scale]
                    path = name.replace(f"{scale}.gamma", f"{layer}.{part}")
                    found[path] = found[path] * where
        return found

    return fold


def at_a_stretch(works, rounds=16):
    for work in works.values():
        seconds(work)
    return {name: [seconds(work) for _ in range(rounds)] for name, work in works.items()}


def pieces_of_queries(q, k, v, size):
    return torch.cat([(x @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v for x in q.split(size, dim=-2)], dim=-2)


def whole_pieces(q, k, v, size):
    largest = None
    for i in range(0, k.shape[-2] - size + 1, size):
        scores = q @ k[..., i : i + size, :].mT / math.sqrt(q.shape[-1])
        here = scores.amax(dim=-1, keepdim=True)
        new = here if largest is None else torch.maximum(largest, here)
        weights = torch.exp(scores - new)
        sums, mixed = weights.sum(dim=-1, keepdim=True), weights @ v[..., i : i + size, :]
        if largest is not None:
            shrink = torch.exp(largest - new)
            sums, mixed = sums + shrink * total, mixed + shrink * output  # noqa: F821
        largest, total, output = new, sums, mixed
    return output / total


def room_for(per_image, once):
    """Counts with checkpointing: numbers kept for each image, and for one alone."""

    def largest(c, batch, room, checkpointed):
        block = 8 * c.embed_dim + 2 * c.mlp_dim + 4 + c.num_heads
        kept = {"enter": c.depth * c.embed_dim, "block": block, "all": c.depth * block}
        many, one = (kept[per_image], kept[once]) if checkpointed else (kept["all"], 0)
        left = room - 16 * count_parameters(c) - 4 * c.num_tokens * one
        return max(
            (n for n in range(1, batch + 1) if batch % n == 0 and 4 * c.num_tokens * many * n <= left), default=0
        )

    return largest


def first_alone(model, images):
    model.eval()  # for good
    with torch.no_grad():
        return not torch.allclose(model(images)[0], model(images[:1])[0])


class Unwritten(nn.Module):
    def __init__(self, sample):
        super().__init__()
        self.token = nn.Parameter(torch.empty(1, 1, sample.shape[-1]))

    def forward(self, tokens):
        return torch.cat([self.token.expand(len(tokens), -1, -1), tokens], dim=1)


def named(angles):
    def scores(q, k, grid, num_prefix, theta):
        angle = F.pad(angles(grid, q.shape[-1], theta), (0, 0, num_prefix, 0))
        turned = [rotate(x, angle.cos(), angle.sin()) for x in (q, k)]
        return turned[0] @ turned[1].mT

    return scores


ONE = r"^\w+: [^(]"  # one sentence, not several with their numbers
FRESH = [
    ("fuse", fused(torch.Tensor.float), ONE + "he fused tensors come back in single precision"),
    ("fuse", fused(torch.clone, torch.Tensor.float), ONE + "he tensors beside qkv come back in single precision"),
    ("fold_scales", folded("ls1", "ls2"), ONE + "oth scales multiply the columns"),
    ("fold_scales", folded("ls2"), ONE + "s2 multiplies the columns of the MLP's last matrix"),
    ("race", at_a_stretch, ONE + "ach work has all its rounds at a stretch"),
    ("attention_in_pieces", pieces_of_queries, ONE + "he queries come in pieces"),
    ("attention_in_pieces", whole_pieces, ONE + "he last piece is left out where it is shorter"),
    ("largest_micro_batch", room_for("enter", "block"), ONE + ".*the block .* is counted for one image"),
    ("largest_micro_batch", room_for("block", "enter"), ONE + ".*what enters the blocks is counted for one image"),
    ("leaks", first_alone, "rounded a little.*only the first place of the batch.*is in another mode"),
    ("warm_start", Unwritten, ONE + " parameter starts at NaN, which is no number.$"),
    ("mended_scores", named(lambda *given: rope_angles(*given)), "`rope_angles` does the work here"),
    ("mended_scores", named(lambda *given: modern.rope_angles(*given)), "`rope_angles` does the work here"),
]


@pytest.mark.parametrize(("name", "answer", "words"), FRESH)
def test_what_a_reader_was_told_wrongly_is_named(name, answer, words):
    with pytest.raises(checks.Wrong, match=words):
        checks.EXERCISES[name](answer)
