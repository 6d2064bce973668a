"""What a card says of its exercise's outcome, and the page does not give away: tried here, with our solutions."""

import math
import re
from dataclasses import replace

import nbformat
import torch
from torchvision.models.swin_transformer import ShiftedWindowAttention

from tools.lesson import LESSONS
from vit_tutorial import ViT, checks, data, patchify, unpatchify
from vit_tutorial.interpret import attention_maps, rollout
from vit_tutorial.train import predict
from vit_tutorial.weights import load


def test_lesson_08_seven_rows_differ_and_one_is_better():
    runs = data.result("ablation")["accuracy"]
    far = {row: checks.gap_in_errors.solution(runs["all of it"], values) for row, values in runs.items()}
    lost = {"no attention", "no positions", "no scaling", "scaled after the softmax", "no residual", "no MLP"}
    assert {row for row in far if far[row] < -4} == lost
    assert {row for row in far if far[row] > 4} == {"no shifts"}


@torch.no_grad()
def test_lesson_09_at_equal_ink_attention_beats_chance_and_rollout_does_not():
    model = load(data.path("vit_mnist.safetensors")).eval()
    images = data.normalise(data.mnist("test")[0][:300])
    black, answers, maps = images.min().item(), predict(model, images).argmax(dim=1), attention_maps(model, images)
    patches = patchify(images, 4)
    inked, ink = patches.amax(dim=-1) > black, (patches - black).sum(dim=-1)
    scores = {"attention": maps[-1].mean(dim=1)[:, 0, 1:], "rollout": rollout(maps)[:, 0, 1:]}
    scores["chance"] = torch.rand(300, 49, generator=torch.Generator().manual_seed(0))
    stay, emptied = {}, {}
    for name, score in scores.items():
        mask = checks.within_budget.solution(score.masked_fill(~inked, -math.inf), ink, 0.5)
        left = unpatchify(patches.masked_fill(mask[:, :, None], black), 4, (7, 7))
        stay[name] = (predict(model, left).argmax(dim=1) == answers).double().mean().item()
        emptied[name] = mask.sum(dim=1).double().mean().item()
    assert abs(stay["rollout"] - stay["chance"]) < 0.1 < stay["chance"] - stay["attention"]
    assert 3.5 < emptied["rollout"] < 5.5 < emptied["attention"]


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
