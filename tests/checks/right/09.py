"""Right answers to the exercises of lesson 09, most of them in another style than ours."""

import functools

import torch
import torch.nn.functional as F


def right_rollout(maps):
    layers = maps.mean(2) + torch.eye(maps.shape[-1])
    return functools.reduce(lambda below, above: above @ below, layers / layers.sum(-1, keepdim=True))


def right_hide(images, chosen, filler, patch_size):
    kept, columns = images.clone(), images.shape[-1] // patch_size
    for image, row in zip(kept, chosen.tolist(), strict=True):
        for patch in row:
            y, x = (patch_size * place for place in divmod(patch, columns))
            spot = slice(y, y + patch_size), slice(x, x + patch_size)
            image[:, *spot] = filler[:, *spot]
    return kept


def right_occlusion(model, images, patch_size, fill):
    (B, _, H, W), P = images.shape, patch_size
    rows, columns = H // P, W // P
    spots = torch.eye(rows * columns).reshape(-1, 1, rows, columns)
    holes = F.interpolate(spots, scale_factor=P).bool()  # (n, 1, H, W), one patch each
    maps = []
    for image in images:
        logits = model(torch.cat([image[None], torch.where(holes, torch.tensor(float(fill)), image)]))
        own = logits[:, logits[0].argmax()]
        maps.append((own[0] - own[1:]).reshape(rows, columns))
    return torch.stack(maps).detach().reshape(B, rows, columns)


def right_without(model, layer, head, images):
    out = model.encoder.blocks[layer].attention.out
    d = out.in_features // model.config.num_heads

    def hook(module, inputs):
        parts = list(inputs[0].split(d, dim=-1))
        parts[head] = torch.zeros_like(parts[head])
        return torch.cat(parts, dim=-1)

    handle = out.register_forward_pre_hook(hook)
    try:
        with torch.no_grad():
            return model(images)
    finally:
        handle.remove()


RIGHT = {
    "rollout": right_rollout,
    "hide": right_hide,
    "occlusion_map": right_occlusion,
    "without_head": right_without,
}
