"""Answers that no edit of a table makes, of which a check said too much, too little or what is not true."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from vit_tutorial import checks, modern
from vit_tutorial.modern import rope_angles, rotate


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
    ("attention_in_pieces", pieces_of_queries, ONE + "he queries come in pieces"),
    ("attention_in_pieces", whole_pieces, ONE + "he last piece is left out where it is shorter"),
    ("leaks", first_alone, "rounded a little.*only the first place of the batch.*is in another mode"),
    ("warm_start", Unwritten, ONE + " parameter starts at NaN, which is no number.$"),
    ("mended_scores", named(lambda *given: rope_angles(*given)), "`rope_angles` does the work here"),
    ("mended_scores", named(lambda *given: modern.rope_angles(*given)), "`rope_angles` does the work here"),
]


@pytest.mark.parametrize(("name", "answer", "words"), FRESH)
def test_what_a_reader_was_told_wrongly_is_named(name, answer, words):
    with pytest.raises(checks.Wrong, match=words):
        checks.EXERCISES[name](answer)
