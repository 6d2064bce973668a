"""Right answers to the exercises of lesson 16, in another style than ours."""

import torch
import torch.nn.functional as F


def right_masks(noise, share):
    return noise.argsort(dim=1).argsort(dim=1) < int(share * noise.shape[1] + 0.5)


def masks_by_threshold(noise, share):
    threshold = noise.kthvalue(round(share * noise.shape[1]), dim=1, keepdim=True).values
    return noise <= threshold


def masks_one_by_one(noise, share):
    hidden = torch.full(noise.shape, False)
    for row, own in zip(hidden, noise, strict=True):
        row[own.topk(round(share * len(own)), largest=False).indices] = True
    return hidden


def right_loss(drawn, images, hidden, patch_size):
    target = F.unfold(images, patch_size, stride=patch_size).mT
    weight = hidden[..., None].to(drawn.dtype)
    return ((drawn - target) ** 2 * weight).sum() / (weight.sum() * drawn.shape[-1])


def loss_by_image(drawn, images, hidden, patch_size):
    P, losses = patch_size, []
    with torch.no_grad():
        cut = images.unfold(2, P, P).unfold(3, P, P)  # (B, C, h, w, P, P)
        target = torch.stack([image.permute(1, 2, 0, 3, 4).flatten(2).flatten(0, 1) for image in cut])
    for mine, theirs, own in zip(drawn, target, hidden, strict=True):
        losses.append(F.mse_loss(mine[own], theirs[own]))
    return torch.stack(losses).mean()


def loss_without_the_rest(drawn, images, hidden, patch_size):
    B, C, H, W = images.shape
    P = patch_size
    target = images.reshape(B, C, H // P, P, W // P, P).permute(0, 2, 4, 1, 3, 5).reshape(drawn.shape)
    rest = ~hidden[..., None]
    error = F.mse_loss(drawn.masked_fill(rest, 0), target.masked_fill(rest, 0), reduction="sum")
    return error / hidden.sum() / (C * P * P)


def right_dino(student, teacher, centre, sharp, soft):
    with torch.no_grad():
        target = torch.softmax((teacher - centre) / sharp, dim=1)
    return F.cross_entropy(student / soft, target)


def dino_by_hand(student, teacher, centre, sharp, soft):
    target = ((teacher.detach() - centre) / sharp).softmax(-1)
    logits = student / soft
    return torch.mean(logits.logsumexp(dim=-1) - torch.einsum("bk,bk->b", target, logits))


def dino_with_divergence(student, teacher, centre, sharp, soft):
    log_target = F.log_softmax((teacher.detach() - centre) / sharp, dim=-1)
    divergence = F.kl_div(F.log_softmax(student / soft, dim=-1), log_target, reduction="batchmean", log_target=True)
    return divergence - (log_target.exp() * log_target).sum(dim=-1).mean()


RIGHT = {"random_masks": right_masks, "masked_loss": right_loss, "dino_loss": right_dino}
OTHERS = {
    "random_masks": [masks_by_threshold, masks_one_by_one],
    "masked_loss": [loss_by_image, loss_without_the_rest],
    "dino_loss": [dino_by_hand, dino_with_divergence],
}
