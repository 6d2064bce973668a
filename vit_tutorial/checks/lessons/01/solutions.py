"""Solutions of the exercises of lesson 01."""

import torch
from torch import nn


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


def conv_from_linear(linear, patch_size):
    """Linear(C*P*P, D) -> Conv2d(C, D, P, stride=P) with the same numbers."""
    ### BEGIN SOLUTION
    channels = linear.in_features // patch_size**2
    conv = nn.Conv2d(channels, linear.out_features, patch_size, stride=patch_size)
    kernels = linear.weight.reshape(conv.weight.shape)  # (D, C, P, P)
    with torch.no_grad():
        conv.weight.copy_(kernels)
        conv.bias.copy_(linear.bias)
    return conv
    ### END SOLUTION


def our_order(weight, patch_size):
    """(D, P*P*C) -> (D, C*P*P): the weight of a Linear, for patches with the colours first."""
    ### BEGIN SOLUTION
    P = patch_size
    D, length = weight.shape
    C = length // P**2
    hers = weight.reshape(D, P, P, C)
    ours = hers.permute(0, 3, 1, 2)  # (D, P, P, C) -> (D, C, P, P)
    return ours.reshape(D, C * P * P)
    ### END SOLUTION


def tubes(film, frames, patch_size):
    """(B, C, T, H, W) -> (B, N, C*F*P*P), where F is `frames` and P `patch_size`."""
    ### BEGIN SOLUTION
    B, C, T, H, W = film.shape
    F, P = frames, patch_size
    t, h, w = T // F, H // P, W // P
    split = film.reshape(B, C, t, F, h, P, w, P)
    ordered = split.permute(0, 2, 4, 6, 1, 3, 5, 7)  # (B, t, h, w, C, F, P, P)
    return ordered.reshape(B, t * h * w, C * F * P * P)
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
