"""Lesson 06: from tokens to one number a class (paper, equation 4)."""

from torch import Tensor, nn

POOLS = ("cls", "mean", "mean_then_norm")


class ClassificationHead(nn.Module):
    """Normalise, pool, project: (B, N, D) -> (B, num_classes), logits. Equation 4.

    `pool="cls"` reads the first token; `pool="mean"` averages the patches, in a model without a class
    token, and leaves out `num_registers` tokens before them; `pool="mean_then_norm"` normalises after
    the mean (timm's `fc_norm`). `representation_size` adds the Linear and tanh that the paper pre-trains
    with. The last layer starts at zero, so an untrained model's cross-entropy is ln(num_classes).
    Built in lesson 06.

    Raises:
        ValueError: an unknown `pool`.
    """

    def __init__(
        self,
        embed_dim: int,
        num_classes: int,
        pool: str = "cls",
        representation_size: int | None = None,
        num_registers: int = 0,
    ):
        super().__init__()
        if pool not in POOLS:
            raise ValueError(f"pool: expected one of {POOLS}, got {pool!r}")
        self.pool = pool
        self.num_registers = num_registers
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.pre_logits, width = nn.Identity(), embed_dim
        if representation_size is not None:
            width = representation_size
            self.pre_logits = nn.Sequential(nn.Linear(embed_dim, width), nn.Tanh())
        self.linear = nn.Linear(width, num_classes)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        after = self.pool == "mean_then_norm"
        tokens = tokens if after else self.norm(tokens)
        # (B, N, D) -> (B, D)
        pooled = tokens[:, 0] if self.pool == "cls" else tokens[:, self.num_registers :].mean(dim=1)
        pooled = self.norm(pooled) if after else pooled
        return self.linear(self.pre_logits(pooled))  # (B, D) -> (B, num_classes)
