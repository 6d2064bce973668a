"""What the exercises of lesson 14 are tried with: constructor's arguments, then the inputs of a call."""

import difflib
import inspect
from contextlib import suppress

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ....attention import MultiHeadAttention
from ....encoder import MLP
from ....patchify import PatchEmbedding
from ...engine import Exercise
from ...observe import Unfit, fill, numbers
from .solutions import FixedAttention, FixedBlock, FixedReader, FixedTokens, leaks

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


HIS_FORWARD = """\
    def forward(self, x):
        B, N, D = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, D // self.num_heads)  # 10
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # 11: three of (B, h, N, d)
        scores = q @ k.mT / math.sqrt(D)  # 12
        self.A = scores.softmax(dim=0)  # 13
        mixed = self.A @ v  # 14: (B, h, N, d)
        return self.out(mixed.reshape(B, N, D))  # 15
"""


def code(text):
    """The lines of a text, without comments, blank lines and indents."""
    return [line for line in (row.partition("#")[0].strip() for row in text.splitlines()) if line]


def few(answer):
    """How much of his forward is changed, where the answer's text is known."""
    lines = 0
    with suppress(OSError, TypeError):
        old, new = code(HIS_FORWARD), code(inspect.getsource(answer.forward))
        changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        lines = sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in changes if kind != "equal")
    return {
        "more than four lines of his forward are changed: find the lines with the mistakes, and leave the rest as it "
        "is.": lines <= 4
    }


class After(nn.Module):
    """A small network for images (B, 1, 4, 4), and what happens to its logits (B, 3) afterwards."""

    def __init__(self, what, layer: nn.Module):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), layer, nn.Tanh(), nn.Linear(8, 3))
        self.what = what
        fill(self)

    def forward(self, images: Tensor) -> Tensor:
        return self.what(self.net(images))


def rounded(logits: Tensor) -> Tensor:
    """Large logits and one near zero, rounded a little differently in a batch of one, as large products are."""
    sign = 1 if len(logits) > 1 else -1
    return 1e4 * (logits * logits.new_tensor([1, 1, 0]) + 5e-7 * sign * logits.detach().abs().max())


def sees_the_last(logits: Tensor) -> Tensor:
    """Each image sees the one before it; the first two see none, so that nobody sees the first or the last."""
    return logits + 0.5 * F.pad(logits, (0, 0, 1, 0))[:-1] * (torch.arange(len(logits)) > 1)[:, None]


def sees_the_brightest(logits: Tensor) -> Tensor:
    """Each image sees the others, in a step that lets no gradient back."""
    return logits + 0.5 * logits.detach().amax(dim=0)


def sees_its_pair(logits: Tensor) -> Tensor:
    """Images 0 and 1 see each other, and so do 2 and 3; the halves of a batch of four do not."""
    others = torch.cat([pair.flip(0) for pair in logits.split(2)])
    return logits + 0.5 * others * (len(logits) > 1)


def one_sees_one(logits: Tensor) -> Tensor:
    """Of many images the first alone sees one other, a little, and any change of it."""
    first = (torch.arange(len(logits)) == 0) & (len(logits) > 1)
    return logits + 0.05 * (100 * logits.roll(1, 0)).sin() * first[:, None]


MODELS = [  # what happens to the logits, a layer inside, and the mode
    (torch.sign, nn.Identity(), True),  # exact: no rounding anywhere
    (lambda x: x - x.abs().sum(dim=0), nn.Identity(), False),  # others only make a logit smaller
    (lambda x: x, nn.Dropout(0.5), True),
    (rounded, nn.Identity(), False),
    (lambda x: x + 0.04 * x.mean(dim=0), nn.Dropout(0.5), True),
    (sees_the_last, nn.Identity(), True),
    (lambda x: x, nn.BatchNorm1d(8), True),
    (sees_its_pair, nn.Identity(), False),
    (sees_the_brightest, nn.Identity(), True),
    (one_sees_one, nn.Identity(), True),
]


def modes_kept(answer):
    """Whether each module is in the mode in which it was: here one part is frozen, the others are not."""
    model = After(lambda x: x, nn.Dropout(0.5)).train()
    model.net[1].eval()
    before = [part.training for part in model.modules()]
    answer(model, numbers((3, 1, 4, 4)))
    return {
        "the verdicts are right, and afterwards the model is in another mode: eval_mode puts each part back into the "
        "mode in which it was.": before == [part.training for part in model.modules()]
    }


def verdict(answer, model, images):
    """True or False, however it is written."""
    said = answer(model, images)
    if isinstance(said, Tensor) and said.dtype == torch.bool and said.numel() == 1:
        said = said.item()
    if not isinstance(said, bool):
        raise Unfit(f"True or False is asked for; this is {type(said).__name__}.")
    return said


EXERCISES = {
    "digit_reader": Exercise(FixedReader, READERS),
    "digit_attention": Exercise(FixedAttention, ATTENTIONS, more=few),
    "digit_block": Exercise(FixedBlock, BLOCKS),
    "digit_tokens": Exercise(FixedTokens, TOKENS),
    "leaks": Exercise(
        leaks,
        [
            (After(what, layer).train(mode), 2 * numbers((B, 1, 4, 4), i))
            for i, ((what, layer, mode), B) in enumerate(zip(MODELS, (3, 4, 5, 3, 6, 4, 5, 4, 3, 64), strict=True))
        ],
        run=verdict,
        gradients=False,
        more=modes_kept,
    ),
}
