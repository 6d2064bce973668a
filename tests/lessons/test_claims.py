"""What a card says of its exercise's outcome, and the page does not give away: tried here, with our solutions."""

import re
from dataclasses import replace

import nbformat
import torch
from torchvision.models.swin_transformer import ShiftedWindowAttention

from tools.lesson import LESSONS
from vit_tutorial import ViT, checks, data
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


def test_lesson_03_the_bias_of_its_exercise_is_swins():
    for h, w in ((2, 3), (4, 4), (5, 2)):
        table = torch.arange((2 * h - 1) * (2 * w - 1))
        swins = ShiftedWindowAttention(4, [h, w], [0, 0], 1).relative_position_index.view(h * w, h * w)
        assert torch.equal(checks.relative_bias.solution(table.view(2 * h - 1, 2 * w - 1), (h, w)), swins)


def test_lesson_13_torchrun_shows_the_reason_of_a_failure_and_what_all_processes_printed():
    path = next(path for path in LESSONS if path.stem.startswith("13"))
    space: dict = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if re.match(r"import math|ON_CPU|def torchrun", cell.source):
            exec(compile(cell.source, "lesson 13", "exec"), space)
    assert space["torchrun"]("import os; print('rank', os.environ['RANK'])").split("\n") == ["rank 0", "rank 1"]
    said = space["torchrun"]("raise ValueError('too few pictures')", processes=1)
    assert "ValueError: too few pictures" in said and said.endswith("status 1")
