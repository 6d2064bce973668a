"""What a card says of its exercise's outcome, and the page does not give away: tried here, with our solutions."""

from dataclasses import replace

import torch

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


@torch.no_grad()
def test_lesson_02_what_a_vote_of_the_patches_and_their_mean_read():
    model = load(data.path("vit_mnist.safetensors"))
    raw, labels = (part[:500] for part in data.mnist("test"))
    tokens = interpret.token_features(model, data.normalise(raw))[6]
    assert (checks.vote.solution(model.head, tokens) == labels).sum() == 446
    mean = tokens[:, 1:].mean(dim=1, keepdim=True)
    assert (model.head(mean).argmax(dim=1) == labels).sum() == 479
