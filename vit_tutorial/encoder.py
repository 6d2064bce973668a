"""Lesson 05: the block, and a stack of them (paper, equations 2 and 3)."""

from torch import Tensor, nn

from .attention import MultiHeadAttention


class MLP(nn.Module):
    """Each token thinks by itself: two layers, an exact GELU between. (B, N, D) -> (B, N, D).

    Paper, section 3.1. Exact GELU as in torchvision and timm; the authors' JAX code takes the tanh
    approximation.
    """

    def __init__(self, embed_dim: int, mlp_dim: int, dropout: float = 0.0):
        super().__init__()
        self.fc1 = nn.Linear(embed_dim, mlp_dim)
        self.gelu = nn.GELU()
        self.fc2 = nn.Linear(mlp_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.dropout(self.gelu(self.fc1(x)))  # (B, N, D) -> (B, N, mlp_dim)
        return self.dropout(self.fc2(hidden))  # (B, N, mlp_dim) -> (B, N, D)


class EncoderBlock(nn.Module):
    """Talk, then think, each beside a shortcut: (B, N, D) -> (B, N, D). Equations 2 and 3.

    Normalisation comes before each part (pre-norm), so the shortcut is never touched.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.attention = MultiHeadAttention(embed_dim, num_heads, attention_dropout)
        self.norm2 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.mlp = MLP(embed_dim, mlp_dim, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    """`depth` blocks, one after the other: (B, N, D) -> (B, N, D).

    The final norm is not here: it belongs to the head (equation 4). `dropouts` are the block's.
    """

    def __init__(self, depth: int, embed_dim: int, num_heads: int, mlp_dim: int, **dropouts: float):
        super().__init__()
        sizes = embed_dim, num_heads, mlp_dim
        self.blocks = nn.ModuleList(EncoderBlock(*sizes, **dropouts) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x
