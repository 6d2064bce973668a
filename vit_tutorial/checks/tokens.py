"""Checks of the exercises of lessons 02 and 03: class token and positions."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from ..cls_token import ClsToken
from ..position_embedding import PositionEmbedding
from ..position_embedding import resize_positions as _resize_positions
from .core import compare, compare_modules, randn

_UNREGISTERED = (
    "A tensor made in forward, or an nn.Parameter(...).to(device), is no parameter of the module: it never trains. "
    "Make it in __init__, under this name: self.name = nn.Parameter(...)."
)
_BATCHED = "It has no batch dimension, only a leading 1: the same for every image, whatever the batch size."


def cls_token(yours: type[nn.Module]) -> None:
    """Lesson 02: (B, N, D) -> (B, 1+N, D)."""
    compare_modules(
        "ClsToken",
        yours,
        ClsToken,
        [((8,), (randn(2, 5, 8),)), ((4,), (randn(3, 1, 4),)), ((6,), (randn(1, 9, 6),))],
        {
            "the class token stands last; ViT puts it first.": lambda m, x: torch.cat(
                [x, m.token.expand(len(x), -1, -1)], dim=1
            ),
            "the class token is added to every token; it is one more token.": lambda m, x: x + m.token,
        },
        {"missing token": _UNREGISTERED, "batched": _BATCHED},
    )


class RegisterTokens(nn.Module):
    """The reference of lesson 02's second exercise; arXiv 2309.16588. (B, 1+N, D) -> (B, 1+R+N, D)."""

    def __init__(self, num_registers: int, embed_dim: int):
        super().__init__()
        self.registers = nn.Parameter(0.02 * torch.randn(1, num_registers, embed_dim))

    def forward(self, tokens: Tensor) -> Tensor:
        registers = self.registers.expand(len(tokens), -1, -1)  # (1, R, D) -> (B, R, D)
        return torch.cat([tokens[:, :1], registers, tokens[:, 1:]], dim=1)


def register_tokens(yours: type[nn.Module]) -> None:
    """Lesson 02: registers between class token and patches."""
    compare_modules(
        "RegisterTokens",
        yours,
        RegisterTokens,
        [((4, 8), (randn(2, 5, 8),)), ((1, 4), (randn(3, 2, 4),))],
        {
            "the registers stand before the class token: the head would read a register.": lambda m, x: torch.cat(
                [m.registers.expand(len(x), -1, -1), x], dim=1
            ),
            "the registers stand last; they belong between class token and patches.": lambda m, x: torch.cat(
                [x, m.registers.expand(len(x), -1, -1)], dim=1
            ),
            "the class token is lost.": lambda m, x: torch.cat([m.registers.expand(len(x), -1, -1), x[:, 1:]], dim=1),
        },
        {"missing registers": _UNREGISTERED, "batched": _BATCHED},
    )


def position_embedding(yours: type[nn.Module]) -> None:
    """Lesson 03: (B, N, D) -> (B, N, D)."""
    compare_modules(
        "PositionEmbedding",
        yours,
        PositionEmbedding,
        [((5, 8), (randn(2, 5, 8),)), ((10, 4), (randn(3, 10, 4),)), ((5, 5), (randn(5, 5, 5),))],
        {
            "every token gets the same position: the encoder still cannot tell places apart.": lambda m, x: (
                x + m.embedding[:, :1]
            ),
            "the position follows the image in the batch, not the token.": lambda m, x: x + m.embedding.mT[:, : len(x)],
            "the class token gets no position; it has a slot, the first.": lambda m, x: torch.cat(
                [x[:, :1], x[:, 1:] + m.embedding[:, 1:]], dim=1
            ),
            "the positions are not used.": lambda m, x: x,
            "the tokens are lost: positions are added to them.": lambda m, x: m.embedding.expand_as(x),
        },
        {
            "missing embedding": _UNREGISTERED,
            "batched": _BATCHED,
            "one for all": "One position for all tokens: the encoder still cannot tell places apart.",
        },
    )


def sincos1d(yours: Callable[[Tensor, int], Tensor]) -> None:
    """Lesson 03: (N,) -> (N, dim), sines then cosines."""

    def angles(x: Tensor, dim: int, temperature: float = 10000.0) -> Tensor:
        return x[:, None] * temperature ** -torch.linspace(0, 1, dim // 2)

    def right(x: Tensor, dim: int) -> Tensor:
        return torch.cat([angles(x, dim).sin(), angles(x, dim).cos()], dim=1)

    compare(
        "sincos1d",
        yours,
        right,
        [(torch.arange(7.0), 8), (torch.tensor([0.5, 100.0]), 4), (torch.arange(3.0), 6)],
        {
            "sine and cosine alternate; here all sines come first.": lambda x, dim: rearrange(
                right(x, dim), "N (two f) -> N (f two)", two=2
            ),
            "the cosines come first.": lambda x, dim: right(x, dim).roll(dim // 2, dims=1),
            "the frequencies rise; they fall from 1 to 1/10000.": lambda x, dim: torch.cat(
                [angles(x, dim, 1e-4).sin(), angles(x, dim, 1e-4).cos()], dim=1
            ),
            "the last frequency is not 1/10000: divide by dim/2 - 1, not by dim/2.": lambda x, dim: torch.cat(
                [f(x[:, None] * 10000 ** (-torch.arange(dim // 2) / (dim // 2))) for f in (torch.sin, torch.cos)], dim=1
            ),
        },
    )


def resize_positions(yours: Callable[[Tensor, tuple[int, int], tuple[int, int]], Tensor]) -> None:
    """Lesson 03: (1, 1+h*w, D) -> (1, 1+H*W, D), torchvision's convention."""
    cases = [
        (randn(1, 1 + old[0] * old[1], 8), old, new)
        for old, new in [((4, 4), (6, 6)), ((3, 5), (6, 4)), ((4, 4), (4, 7)), ((2, 2), (2, 2))]
    ]

    def stretch(x: Tensor, old: tuple[int, int], new: tuple[int, int], **options) -> Tensor:
        picture = rearrange(x[:, 1:], "1 (h w) D -> 1 D h w", h=old[0])
        picture = F.interpolate(picture, size=new, **options)
        return torch.cat([x[:, :1], rearrange(picture, "1 D h w -> 1 (h w) D")], dim=1)

    bicubic = {"mode": "bicubic", "align_corners": True}
    compare(
        "resize_positions",
        yours,
        _resize_positions,
        cases,
        {
            "height and width have changed places; grids are (rows, columns).": lambda x, old, new: stretch(
                x, old, new[::-1], **bicubic
            ),
            "the new grid is taken for a square.": lambda x, old, new: stretch(x, old, (new[0], new[0]), **bicubic),
            "bicubic, but align_corners is off: torchvision's has it on.": lambda x, old, new: stretch(
                x, old, new, mode="bicubic"
            ),
            "bilinear; torchvision's is bicubic.": lambda x, old, new: stretch(
                x, old, new, mode="bilinear", align_corners=True
            ),
            "the class token's position is lost: keep row 0 as it is.": lambda x, old, new: stretch(
                x, old, new, **bicubic
            )[:, 1:],
            "the list of positions is stretched as one line; it is a grid.": lambda x, old, new: torch.cat(
                [x[:, :1], F.interpolate(x[:, 1:].mT, size=new[0] * new[1], mode="linear").mT], dim=1
            ),
        },
    )
