"""What the exercises of lesson 09 are tried with, and what is asked of them."""

import copy
import functools

import torch

from ....vit import ViT, ViTConfig
from ...common import hooks, network
from ...engine import Exercise
from ...observe import fill, numbers, same
from .solutions import my_hide, my_rollout, occlusion_map, without_head_mended


def silenced(answer, num_heads, earlier, layer, head, images):
    """The logits of a second call, after an `earlier` one, (layer, head), on the same model."""
    model = copy.deepcopy(patient(*images.shape[1:], num_heads))
    answer(model, *earlier, images)
    return answer(model, layer, head, images)


@functools.cache
def patient(channels, height, width, num_heads):
    """A small ViT with random numbers in it."""
    model = ViT(ViTConfig((height, width), 4, channels, 5, 12, 3, num_heads, 10))
    fill(model)
    return model.eval()


def left_behind(answer):
    """Whether the model is as it was, and has no hooks."""
    model, images = copy.deepcopy(patient(1, 4, 8, 3)), numbers((2, 1, 4, 8))
    before = model(images)
    answer(model, 1, 2, images)
    left = hooks(model)
    return {
        "a hook stays on the model and runs at every later call: keep what register_forward_pre_hook returns, and call "
        "its remove().": not left,
        "the model computes something else afterwards: leave it as it was.": bool(left) or same(before, model(images)),
    }


EXERCISES = {
    "rollout": Exercise(
        my_rollout,
        [(numbers(shape).softmax(-1),) for shape in [(2, 1, 2, 3, 3), (3, 2, 4, 5, 5), (4, 3, 2, 4, 4)]],
        gradients=False,
    ),
    "hide": Exercise(
        my_hide,
        [
            (numbers((len(chosen), *size), len(chosen)), torch.tensor(chosen), numbers(size, 9), P)
            for size, P, chosen in [
                ((1, 8, 12), 4, [[4, 0], [1, 5]]),
                ((2, 6, 4), 2, [[1, 3, 4], [5, 0, 2], [3, 1, 0]]),
                ((3, 12, 6), 3, [[7, 2, 3, 1], [6, 4, 0, 5]]),
            ]
        ],
        gradients=False,
    ),
    "occlusion_map": Exercise(
        occlusion_map,
        [
            (network(C * H * W, 7, classes).eval(), numbers((B, C, H, W), seed), P, value)
            for seed, (B, C, H, W, P, classes, value) in enumerate(
                [(2, 1, 4, 6, 2, 3, -0.7), (1, 3, 8, 4, 4, 4, 0.5), (5, 2, 9, 12, 3, 6, 1.25)]
            )
        ],
        gradients=False,
    ),
    "without_head": Exercise(
        without_head_mended,
        [
            (heads, earlier, layer, head, numbers((B, C, 4, 8), heads))
            for heads, earlier, layer, head, B, C in [
                (2, (0, 1), 1, 0, 2, 1),
                (4, (2, 3), 0, 1, 1, 3),
                (6, (1, 4), 2, 3, 2, 1),
            ]
        ],
        run=silenced,
        gradients=False,
        more=left_behind,
    ),
}
