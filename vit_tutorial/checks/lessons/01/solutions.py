"""Solutions of the exercises of lesson 01."""

import itertools

import torch
from einops import rearrange
from torch import nn  # noqa: F401 - mistakes are written with it

from ....patchify import patchify


def my_patchify(images, patch_size):
    """(B, C, H, W) -> (B, N, C*P*P)."""
    ### BEGIN SOLUTION
    B, C, H, W = images.shape
    P = patch_size
    h, w = H // P, W // P
    split = images.reshape(B, C, h, P, w, P)
    moved = split.permute(0, 2, 4, 1, 3, 5)  # (B, h, w, C, P, P)
    return moved.reshape(B, h * w, C * P * P)
    ### END SOLUTION


def my_unpatchify(patches, patch_size, grid):
    """(B, N, C*P*P) -> (B, C, h*P, w*P), where grid is (h, w)."""
    ### BEGIN SOLUTION
    h, w = grid
    P = patch_size
    B, C = len(patches), patches.shape[2] // P**2
    split = patches.reshape(B, h, w, C, P, P)
    moved = split.permute(0, 3, 1, 4, 2, 5)  # (B, C, h, P, w, P)
    return moved.reshape(B, C, h * P, w * P)
    ### END SOLUTION


def our_order(weight, patch_size, images, tokens):
    """weight (D, L) in an unknown order, images and their tokens (B, N, D) -> weight (D, C*P*P)."""
    ### BEGIN SOLUTION
    P = patch_size
    patches = patchify(images, P)  # (B, N, C*P*P)
    candidates, errors = [], []
    for order in itertools.permutations(["C", "P1", "P2"]):
        theirs = " ".join(order)
        ours = rearrange(weight, f"D ({theirs}) -> D (C P1 P2)", P1=P, P2=P)
        error = (patches @ ours.mT - tokens).abs().max()
        candidates.append(ours)
        errors.append(error.item())
    best = min(errors)
    return candidates[errors.index(best)]
    ### END SOLUTION


def my_restore(kept, order):
    """(B, K, L) and (B, N) -> (B, N, L): each kept patch in its old place, zeros in the others."""
    ### BEGIN SOLUTION
    B, K, L = kept.shape
    N = order.shape[1]
    hidden = kept.new_zeros(B, N - K, L)
    shuffled = torch.cat([kept, hidden], dim=1)
    back = order.argsort(dim=1)  # where each patch has gone
    return torch.take_along_dim(shuffled, back[..., None], dim=1)
    ### END SOLUTION
