"""Lesson 03: where each token stood (paper, section 3.1, equation 1 and appendix D.4)."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn


class PositionEmbedding(nn.Module):
    """Add to every token the vector of its place: (B, N, D) -> (B, N, D), equation 1's E_pos.

    `num_tokens` counts the class token, where there is one.
    """

    def __init__(self, num_tokens: int, embed_dim: int):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(1, num_tokens, embed_dim))
        nn.init.normal_(self.embedding, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        if tokens.shape[1:] != self.embedding.shape[1:]:  # one token would get all places
            expected = ("B", *self.embedding.shape[1:])
            raise ValueError(f"tokens: expected shape {expected}, got {tuple(tokens.shape)}")
        return tokens + self.embedding  # not +=, which would change the caller's tokens


def sincos2d(grid: tuple[int, int], embed_dim: int) -> Tensor:
    """Fixed positions from sines and cosines: (h*w, D), float32, without a class token.

    The quarters of a vector are sin(x f), cos(x f), sin(y f), cos(y f), with frequencies f that fall
    from 1 to 1/10000. arXiv 2205.01580, "Better plain ViT baselines".
    """
    if embed_dim % 4 or embed_dim < 8:  # 4 would leave one frequency, and nothing to spread
        raise ValueError(f"embed_dim: sincos2d needs a multiple of 4 from 8 up, got {embed_dim}")
    y, x = torch.meshgrid(*map(torch.arange, grid), indexing="ij")
    frequency = 10000.0 ** -torch.linspace(0, 1, embed_dim // 4, device=x.device)  # (D/4,)
    x, y = (place.reshape(-1, 1) * frequency for place in (x, y))  # (h, w) -> (h*w, D/4)
    return torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], dim=1)  # (h*w, D)


RESIZE = {  # how each library resizes positions, and one family; a checkpoint expects its own way
    "torchvision": {"mode": "bicubic", "align_corners": True},
    "transformers": {"mode": "bicubic", "align_corners": False},
    "timm": {"mode": "bicubic", "align_corners": False, "antialias": True},
    "jax": {"mode": "bilinear", "align_corners": True},
    "siglip2": {"mode": "bilinear", "align_corners": False, "antialias": True},  # NaFlex
}


def resize_positions(
    embedding: Tensor,
    old_grid: tuple[int, int],
    new_grid: tuple[int, int],
    convention: str = "torchvision",
    num_prefix: int = 1,
) -> Tensor:
    """Stretch positions over another grid (rows, columns): (1, n+h*w, D) -> (1, n+H*W, D).

    The n = `num_prefix` tokens before the grid (a class token, say) have no place in the picture and stay
    as they are. Paper, section 3.2. `convention` is a key of `RESIZE`.
    """
    expected = num_prefix + old_grid[0] * old_grid[1]
    if embedding.shape[1] != expected:  # 17 positions would pass for a grid of 2x8 as for 4x4
        raise ValueError(f"embedding: expected (1, {expected}, D), got {tuple(embedding.shape)}")
    prefix, places = embedding[:, :num_prefix], embedding[:, num_prefix:]
    picture = rearrange(places, "1 (h w) D -> 1 D h w", h=old_grid[0])  # D colours
    picture = F.interpolate(picture, size=new_grid, **RESIZE[convention])
    return torch.cat([prefix, rearrange(picture, "1 D h w -> 1 (h w) D")], dim=1)
