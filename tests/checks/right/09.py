"""Right answers to the exercises of lesson 09, most of them in another style than ours."""

import functools
import math

import torch
import torch.nn.functional as F


def right_attention(q, k, v):
    return torch.einsum("bhij,bhjd->bhid", (torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5).softmax(-1), v)


def right_rollout(maps):
    layers = maps.mean(2) + torch.eye(maps.shape[-1])
    return functools.reduce(lambda below, above: above @ below, layers / layers.sum(-1, keepdim=True))


def right_distance(maps, P):
    side = round((maps.shape[-1] - 1) ** 0.5)
    total = torch.zeros(maps.shape[0], maps.shape[2])
    for i in range(side**2):
        row = maps[..., 1 + i, 1:] / maps[..., 1 + i, 1:].sum(-1, keepdim=True)
        far = torch.tensor([math.dist(divmod(i, side), divmod(j, side)) for j in range(side**2)])
        total += (row * far * P).sum(-1).mean(1) / side**2
    return total


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


def right_budget(scores, ink, budget):
    mask = torch.zeros(scores.shape, dtype=torch.bool)
    for b, (row, paint) in enumerate(zip(scores.tolist(), ink.tolist(), strict=True)):
        spent = 0.0
        for n in sorted(range(len(row)), key=lambda n: -row[n]):
            spent += paint[n]
            if spent > budget * sum(paint):
                break
            mask[b, n] = True
    return mask


RIGHT = {
    "attention_map": lambda q, k: right_attention(q, k, torch.eye(k.shape[2]).expand(*k.shape[:3], -1)),
    "rollout": right_rollout,
    "attention_distance": right_distance,
    "occlusion_map": right_occlusion,
    "without_head": right_without,
    "within_budget": right_budget,
}
