"""Solutions of the exercises of lesson 07."""

import torch
from torch import nn

from .... import ClassificationHead, ClsToken, Encoder, PatchEmbedding, PositionEmbedding


def my_count(config):
    """Parameters of a ViT with a class token and no pre-logits."""
    ### BEGIN SOLUTION
    C, P, D, M = config.in_channels, config.patch_size, config.embed_dim, config.mlp_dim
    patches = C * P**2 * D + D
    tokens = D + config.num_tokens * D
    norm = 2 * D
    qkv = 3 * D * D + 3 * D
    out = D * D + D
    fc1 = D * M + M
    fc2 = M * D + D
    block = norm + qkv + out + norm + fc1 + fc2
    head = norm + D * config.num_classes + config.num_classes
    return patches + tokens + config.depth * block + head
    ### END SOLUTION


class MyViT(nn.Module):
    """images (B, C, H, W) -> logits (B, num_classes)."""

    def __init__(self, c):
        super().__init__()
        ### BEGIN SOLUTION
        self.patch_embedding = PatchEmbedding(c.patch_size, c.embed_dim, c.in_channels)
        self.cls_token = ClsToken(c.embed_dim)
        self.position_embedding = PositionEmbedding(c.num_tokens, c.embed_dim)
        self.encoder = Encoder(c.depth, c.embed_dim, c.num_heads, c.mlp_dim)
        self.head = ClassificationHead(c.embed_dim, c.num_classes)
        ### END SOLUTION

    def forward(self, images):
        ### BEGIN SOLUTION
        tokens = self.patch_embedding(images)
        tokens = self.cls_token(tokens)
        tokens = self.position_embedding(tokens)
        tokens = self.encoder(tokens)
        return self.head(tokens)
        ### END SOLUTION


def first_difference(ours, theirs, x):
    """Name of the first module to finish whose output differs, or None: two modules, input -> str.

    `ours` and `theirs` are in eval mode and have equal names inside; every module gives one tensor.
    Outputs are equal where the largest difference is within 1e-4 of theirs' largest (without signs).
    """

    ### BEGIN SOLUTION
    def look(model):
        seen = []
        hooks = []
        for name, module in model.named_modules():

            def keep(module, inputs, output, name=name):
                seen.append((name, output))

            hooks.append(module.register_forward_hook(keep))
        with torch.no_grad():
            model(x)
        for hook in hooks:
            hook.remove()
        return seen

    pairs = zip(look(ours), look(theirs), strict=True)
    for (name, a), (_, b) in pairs:
        gap = (a - b).abs().max()
        size = b.abs().max()
        if not gap <= 1e-4 * size:  # a NaN isn't
            return name
    return None
    ### END SOLUTION


def read_kernels_mended(stored, own):
    """Tensors by name, in our layout, from kernels (in, out) and (P, P, C, D): dict -> dict.

    `own` is our model's state dict, with the same names.
    """
    ### BEGIN SOLUTION
    tensors = {}
    for name, tensor in stored.items():
        if tensor.ndim == 4:
            tensor = tensor.permute(3, 2, 0, 1)
        if tensor.ndim == 2:
            tensor = tensor.T
        tensors[name] = tensor
    return tensors
    ### END SOLUTION
