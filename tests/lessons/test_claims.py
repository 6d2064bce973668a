"""What a card says of its exercise's outcome, and the page does not give away: tried here, with our solutions."""

import re
from dataclasses import replace

import nbformat
import torch

from tools.lesson import LESSONS
from vit_tutorial import ViT, checks, data, interpret
from vit_tutorial.weights import load


@torch.no_grad()
def test_lesson_03_a_right_crop_reads_as_many_digits_as_its_bars_say():
    reader = load(data.path("vit_mnist.safetensors"))
    images, labels = (part[:500] for part in data.mnist("test"))
    table = reader.position_embedding.embedding
    for first, size in (((1, 0), (5, 7)), ((1, 1), (6, 5))):
        (top, left), (bottom, right) = first, (first[0] + size[0], first[1] + size[1])
        window = images[:, :, 4 * top : 4 * bottom, 4 * left : 4 * right]
        model = ViT(replace(reader.config, image_size=tuple(window.shape[-2:]))).eval()
        crop = checks.crop_positions.solution(table, (7, 7), first, size)
        model.load_state_dict(reader.state_dict() | {"position_embedding.embedding": crop})
        share = (model(data.normalise(window)).argmax(dim=1) == labels).double().mean().item()
        assert abs(100 * share - 99.6) < 0.25


def test_lesson_13_torchrun_shows_the_reason_of_a_failure_and_what_all_processes_printed():
    path = next(path for path in LESSONS if path.stem.startswith("13"))
    space: dict = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if re.match(r"import math|ON_CPU|def torchrun", cell.source):
            exec(compile(cell.source, "lesson 13", "exec"), space)
    assert space["torchrun"]("import os; print('rank', os.environ['RANK'])").split("\n") == ["rank 0", "rank 1"]
    said = space["torchrun"]("raise ValueError('too few pictures')", processes=1)
    assert "ValueError: too few pictures" in said and said.endswith("status 1")


@torch.no_grad()
def test_lesson_02_what_a_vote_of_the_patches_and_their_mean_read():
    model = load(data.path("vit_mnist.safetensors"))
    raw, labels = (part[:500] for part in data.mnist("test"))
    tokens = interpret.token_features(model, data.normalise(raw))[6]
    assert (checks.vote.solution(model.head, tokens) == labels).sum() == 446
    mean = tokens[:, 1:].mean(dim=1, keepdim=True)
    assert (model.head(mean).argmax(dim=1) == labels).sum() == 479
