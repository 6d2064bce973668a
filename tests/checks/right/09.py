"""Right answers to the exercises of lesson 09, spelled otherwise than in the package."""

import torch
import torch.nn.functional as F


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


RIGHT = {"occlusion_map": right_occlusion, "without_head": right_without, "within_budget": right_budget}
