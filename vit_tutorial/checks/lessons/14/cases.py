"""What the exercises of lesson 14 are tried with: constructor's arguments, then the inputs of a call."""

from torch import nn

from ....attention import MultiHeadAttention
from ....encoder import MLP
from ....patchify import PatchEmbedding
from ...engine import Exercise
from ...observe import numbers
from .solutions import MendedAttention, MendedBlock, MendedReader, MendedTokens

TOKENS = [  # patch size, patches, embed_dim, channels; images (B, C, H, W)
    ((2, 6, 5, 1), (numbers((2, 1, 4, 6)),)),
    ((3, 8, 6, 3), (numbers((1, 3, 12, 6), 1),)),
    ((4, 2, 7, 2), (numbers((3, 2, 4, 8), 2),), (numbers((1, 2, 4, 8), 3),)),
]


ATTENTIONS = [  # embed_dim, heads; x (B, N, D)
    ((6, 2), (numbers((2, 3, 6)),)),
    ((16, 4), (numbers((3, 5, 16), 1),), (numbers((1, 4, 16), 2),)),
    ((12, 3), (2 * numbers((4, 2, 12), 3),)),
]


BLOCKS = [  # attention, MLP, embed_dim, dropout; x (B, N, D)
    ((MultiHeadAttention(6, 2), MLP(6, 10), 6, 0.3), (numbers((2, 5, 6)),)),
    ((nn.Linear(8, 8), MLP(8, 5), 8, 0.5), (3 * numbers((1, 4, 8), 1) + 1,)),
    ((MultiHeadAttention(4, 1), nn.Linear(4, 4), 4), (numbers((3, 2, 4), 2) - 2,)),
]


READERS = [  # tokens, blocks, embed_dim, classes; images (B, C, H, W)
    ((PatchEmbedding(2, 6, 1), nn.Linear(6, 6), 6, 4), (numbers((2, 1, 4, 6)),)),
    ((PatchEmbedding(3, 8, 3), MLP(8, 5), 8, 3), (numbers((3, 3, 6, 3), 1),)),
    ((PatchEmbedding(4, 5, 2), nn.Sequential(), 5, 7), (3 * numbers((1, 2, 8, 12), 2),)),
]


EXERCISES = {
    "digit_reader": Exercise(MendedReader, READERS),
    "digit_attention": Exercise(MendedAttention, ATTENTIONS),
    "digit_block": Exercise(MendedBlock, BLOCKS),
    "digit_tokens": Exercise(MendedTokens, TOKENS),
}
