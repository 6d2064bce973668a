"""Lesson 06: from tokens to one number per class (paper, equation 4)."""

from torch import Tensor, nn


class ClassificationHead(nn.Module):
    """Normalise, pool, project: (B, N, D) -> (B, num_classes), logits. Equation 4.

    `pool="cls"` reads the first token; `pool="mean"` averages all of them, for a model without a class
    token. `representation_size` adds the Linear and tanh that the paper pre-trains with. The last layer
    starts at zero, so an untrained model's cross-entropy is ln(num_classes).
    """

    def __init__(self, embed_dim: int, num_classes: int, pool: str = "cls", representation_size=None):
        super().__init__()
        if pool not in ("cls", "mean"):
            raise ValueError(f'pool: expected "cls" or "mean", got {pool!r}')
        self.pool = pool
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.pre_logits, width = nn.Identity(), embed_dim
        if representation_size is not None:
            width = representation_size
            self.pre_logits = nn.Sequential(nn.Linear(embed_dim, width), nn.Tanh())
            nn.init.normal_(self.pre_logits[0].weight, std=embed_dim**-0.5)
            nn.init.zeros_(self.pre_logits[0].bias)
        self.linear = nn.Linear(width, num_classes)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = self.norm(tokens)
        pooled = tokens[:, 0, :] if self.pool == "cls" else tokens.mean(dim=-2)  # (B, N, D) -> (B, D)
        return self.linear(self.pre_logits(pooled))  # (B, D) -> (B, num_classes)
