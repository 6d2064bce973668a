"""Solutions of the exercises of lesson 16."""

import math  # noqa: F401 - mistakes are written with it

import torch
import torch.nn.functional as F  # noqa: F401 - and with this
from einops import rearrange  # noqa: F401 - and with this

from ....patchify import patchify


def my_random_masks(noise, share):
    """(B, N), a number -> (B, N), bool, True where a patch is hidden: as many in each image."""
    ### BEGIN SOLUTION
    N = noise.shape[-1]
    count = round(share * N)
    order = noise.argsort(dim=-1)  # (B, N): which patch comes first, second, ...
    first = order[:, :count]
    hidden = torch.zeros_like(noise, dtype=torch.bool)
    return hidden.scatter(-1, first, True)
    ### END SOLUTION


def loss_mended(drawn, images, hidden, patch_size):
    """(B, N, C*P*P), (B, C, H, W), (B, N) bool, P -> the hidden pixels' mean squared error."""
    ### BEGIN SOLUTION
    target = patchify(images, patch_size)  # (B, N, C*P*P)
    error = (drawn - target).square()
    where = error[hidden]  # (how many are hidden, C*P*P)
    return where.mean()
    ### END SOLUTION


def my_dino_loss(student, teacher, centre, sharp, soft):
    """(B, K), (B, K), (K,), two temperatures -> the mean cross-entropy, one number."""
    ### BEGIN SOLUTION
    centred = teacher - centre
    target = (centred / sharp).softmax(dim=-1)
    target = target.detach()
    log_p = (student / soft).log_softmax(dim=-1)
    each = -(target * log_p).sum(dim=-1)  # (B,)
    return each.mean()
    ### END SOLUTION
