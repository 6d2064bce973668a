"""Lesson 16: learning without labels, from what is hidden (2111.06377) or from two views (2104.14294)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import data, files
from .encoder import Encoder
from .interpret import inputs_of
from .patchify import patchify
from .train.loop import draw
from .train.recipe import Recipe, parameter_groups, schedule, shift
from .vit import ViT, ViTConfig

CONFIG = ViTConfig(28, 4, 1, 10, embed_dim=64, depth=6, num_heads=4, mlp_dim=128)  # lesson 08's reader of MNIST
FILE = "masked_mnist.safetensors"


def random_masks(noise: Tensor, share: float) -> Tensor:
    """Which patches are hidden, the same number in each image: (B, N) -> (B, N), bool.

    True where the noise is among the image's round(share * N) smallest. arXiv 2111.06377, section 3. ValueError if
    that hides no patch, or all.
    """
    N = noise.shape[-1]
    count = round(share * N)
    if not 0 < count < N:
        raise ValueError(f"share: expected to hide some of {N} patches and not all, got {share}, which hides {count}")
    order = noise.argsort(dim=-1)  # (B, N): which patch comes first, second, ...
    return torch.zeros_like(noise, dtype=torch.bool).scatter(-1, order[:, :count], True)


class MaskedAutoencoder(nn.Module):
    """A ViT sees some patches, a decoder draws all: (B, C, H, W), (B, N) -> (B, N, C*P*P).

    The mask is True where a patch is hidden, as often in each image. Its size makes no difference to the weights.
    arXiv 2111.06377, section 3.
    """

    def __init__(self, vit: ViT, embed_dim: int = 32, depth: int = 1, num_heads: int = 4):
        super().__init__()
        self.vit, c = vit, vit.config
        self.narrow = nn.Linear(c.embed_dim, embed_dim)
        self.mask_token = nn.Parameter(torch.randn(embed_dim) * 0.02)
        self.positions = nn.Parameter(torch.randn(c.num_tokens, embed_dim) * 0.02)
        self.decoder = Encoder(depth, embed_dim, num_heads, 4 * embed_dim)
        pixels = nn.Linear(embed_dim, c.in_channels * c.patch_size**2)
        self.draw = nn.Sequential(nn.LayerNorm(embed_dim, eps=1e-6), pixels)

    def encode(self, images: Tensor, hidden: Tensor) -> Tensor:
        """Class token and n visible patches after the ViT: (B, C, H, W), (B, N) -> (B, 1+n, D)."""
        check_hidden(images, hidden, self.vit.config)
        tokens = self.vit.position_embedding(self.vit.cls_token(self.vit.patch_embedding(images)))
        kept = ~F.pad(hidden, (1, 0))  # the class token stays
        tokens = tokens[kept].view(len(images), -1, tokens.shape[-1])  # (B, 1+N, D) -> (B, 1+n, D)
        return self.vit.head.norm(self.vit.encoder(tokens))

    def forward(self, images: Tensor, hidden: Tensor) -> Tensor:
        seen = self.narrow(self.encode(images, hidden))
        kept = ~F.pad(hidden, (1, 0))[..., None]
        tokens = self.mask_token.expand(*self.positions.shape)  # (1+N, d): nothing is known
        tokens = tokens.masked_scatter(kept, seen)  # (B, 1+N, d): what the seen became
        return self.draw(self.decoder(tokens + self.positions)[:, 1:])


def check_hidden(images: Tensor, hidden: Tensor, config: ViTConfig) -> None:
    """ValueError unless there is a class token, the images fit, and the mask (B, N) hides as many patches of each."""
    if config.pool != "cls":
        raise ValueError(f'vit: expected pool="cls", a class token before the patches, got pool="{config.pool}"')
    expected = (config.in_channels, *config.size)
    if images.shape[1:] != expected:  # 8x32 has as many patches as 16x16, in other places
        raise ValueError(f"images: expected {('B', *expected)}, got {tuple(images.shape)}")
    shape = (len(images), config.grid[0] * config.grid[1])
    if hidden.shape != shape or hidden.dtype != torch.bool:
        raise ValueError(f"hidden: expected bool {shape}, got {hidden.dtype} {tuple(hidden.shape)}")
    counts = hidden.sum(dim=1).unique().tolist()
    if len(counts) != 1 or not 0 < counts[0] < shape[1]:
        expected = f"as many of {shape[1]} patches in each image, some and not all"
        raise ValueError(f"hidden: expected {expected}, got {counts}")


def masked_loss(drawn: Tensor, images: Tensor, hidden: Tensor, patch_size: int) -> Tensor:
    """The mean squared error of the hidden patches' pixels: (B, N, C*P*P), (B, C, H, W), (B, N) -> one number."""
    return F.mse_loss(drawn[hidden], patchify(images, patch_size)[hidden])


def pretrain(model: MaskedAutoencoder, images: Tensor, recipe: Recipe, share: float = 0.75) -> Tensor:
    """Train in place on images (n, C, H, W) alone, each time other patches hidden: the loss of each step, float32.

    Order and shifts are lesson 08's, masks are drawn on the CPU from the recipe's seed. AdamW with the betas of
    arXiv 2111.06377, table 8.
    """
    optimizer = torch.optim.AdamW(parameter_groups(model, recipe.weight_decay), betas=(0.9, 0.95), fused=True)
    chance, device = torch.Generator().manual_seed(recipe.seed), next(model.parameters()).device
    N, P, losses = model.vit.config.num_tokens - 1, model.vit.config.patch_size, []
    steps = len(images) // recipe.batch_size
    for epoch in range(recipe.epochs):
        for which, offsets in zip(*draw(len(images), recipe, epoch), strict=True):
            batch = shift(images[which].to(device), offsets.to(device))
            hidden = random_masks(torch.rand(len(batch), N, generator=chance), share).to(device)
            for group in optimizer.param_groups:
                progress = (len(losses) + 1) / (recipe.epochs * steps)
                group["lr"] = recipe.learning_rate * schedule(progress, recipe.warm_up)
            loss = masked_loss(model(batch, hidden), batch, hidden, P)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            optimizer.step()
            losses.append(loss.detach())
    return torch.stack(losses).cpu()


def shipped() -> MaskedAutoencoder:
    """The model of benchmarks/unlabelled.py in eval mode, float32: it has seen 50,000 digits and no label."""
    tensors, _ = files.read(data.path(FILE))
    model = MaskedAutoencoder(ViT(CONFIG))
    model.load_state_dict(tensors)  # stored in half precision
    return model.eval()


@torch.no_grad()
def features(vit: ViT, images: Tensor) -> Tensor:
    """What a ViT makes of whole images, the mean of their patches: (B, C, H, W) -> (B, D)."""
    tokens = inputs_of(vit, [vit.head], images)[0]
    return vit.head.norm(tokens)[:, vit.config.num_prefix :].mean(dim=1)


def dino_loss(student: Tensor, teacher: Tensor, centre: Tensor, sharp: float = 0.04, soft: float = 0.1) -> Tensor:
    """How little the student says what the teacher says of another view: (B, K), (B, K), (K,) -> one number.

    The cross-entropy between softmax((teacher - centre) / sharp), which takes no gradient, and
    softmax(student / soft). arXiv 2104.14294, section 3.1.
    """
    target = ((teacher - centre) / sharp).softmax(dim=-1).detach()
    return F.cross_entropy(student / soft, target)


@torch.no_grad()
def follow(teacher: nn.Module, student: nn.Module, momentum: float) -> None:
    """Move the teacher's weights towards the student's, in place: momentum times its own, the rest the student's.

    arXiv 2104.14294, section 3.1.
    """
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.lerp_(fast, 1 - momentum)
