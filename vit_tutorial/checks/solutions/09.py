"""Exercises of lesson 09."""

import math

import torch

from ..engine import Exercise
from ..observe import numbers


def my_map(q, k):
    """(B, h, N, d), twice -> (B, h, N, N), rows sum to 1."""
    ### BEGIN SOLUTION
    d = q.shape[-1]
    scores = q @ k.mT
    scores = scores / math.sqrt(d)
    return scores.softmax(dim=-1)
    ### END SOLUTION


def my_rollout(maps):
    """(L, B, h, N, N) -> (B, N, N), rows sum to 1."""
    ### BEGIN SOLUTION
    identity = torch.eye(maps.shape[-1], device=maps.device)
    reached = identity
    for layer in maps.mean(dim=2):
        layer = (layer + identity) / 2
        reached = layer @ reached
    return reached
    ### END SOLUTION


def my_distance(maps, patch_size):
    """(L, B, h, 1+n*n, 1+n*n) -> (L, h), in pixels."""
    ### BEGIN SOLUTION
    n = math.isqrt(maps.shape[-1] - 1)
    places = torch.cartesian_prod(torch.arange(n), torch.arange(n)) * float(patch_size)  # (n*n, 2)
    distances = torch.cdist(places, places)
    patches = maps[..., 1:, 1:]
    patches = patches / patches.sum(dim=-1, keepdim=True)
    far = (patches * distances).sum(dim=-1)  # (L, B, h, n*n)
    return far.mean(dim=(1, 3))
    ### END SOLUTION


EXERCISES = {
    "attention_map": Exercise(
        my_map,
        [(numbers(shape), numbers(shape, 1)) for shape in [(1, 2, 3, 4), (2, 3, 5, 16), (3, 1, 4, 6)]],
        gradients=False,
    ),
    "rollout": Exercise(
        my_rollout,
        [(numbers(shape).softmax(-1),) for shape in [(2, 1, 2, 3, 3), (3, 2, 4, 5, 5), (4, 3, 2, 4, 4)]],
        gradients=False,
    ),
    "attention_distance": Exercise(
        my_distance,
        [
            (numbers((*lead, N, N)).softmax(-1), P)
            for *lead, N, P in [(1, 3, 2, 5, 14), (2, 4, 5, 10, 5), (1, 1, 4, 5, 8)]
        ],
        gradients=False,
    ),
}
