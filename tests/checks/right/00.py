"""Right answers to the exercises of lesson 00, most of them in another style than ours."""

import torch

import vit_tutorial as vt


def right_loop(z, blocks, listen, think):
    for block in blocks:
        for step in (listen, think):
            z = z + step(z, block)
    return z


def right_pixel(read, image, goal):
    H, W = image.shape[1:]
    flipped = torch.where(image < 128, torch.tensor(255, dtype=torch.uint8), torch.tensor(0, dtype=torch.uint8))
    one = torch.eye(H * W, dtype=torch.bool).reshape(H * W, 1, H, W)
    return divmod(int(read(torch.where(one, flipped, image))[:, goal].argmax()), W)


def right_block(z, p, num_heads):
    D, M = z.shape[-1], len(p["mlp.fc1.bias"])
    block = vt.EncoderBlock(D, num_heads, M).to(z.dtype)
    for parameter in block.parameters():
        parameter.requires_grad_(False)
    return torch.func.functional_call(block, p, (z,))


RIGHT = {
    "num_tokens": lambda h, w, p: 1 + (h * w) // (p * p),
    "all_blocks": right_loop,
    "best_pixel": right_pixel,
    "mended_block": right_block,
}
