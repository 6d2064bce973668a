"""Writes vit_tutorial/checks/fieldguide.md: from a symptom to the likely cause, the smallest test and the lesson.

Symptoms and tests stand here; cause and lesson come from the tables of checks, by words that one mistake of an
exercise has to itself. Run as `python -m tools.fieldguide`; a test compares.
"""

import re
from pathlib import Path

from vit_tutorial import checks

from . import LESSONS

PAGE = Path(checks.__file__).parent / "fieldguide.md"
HEAD = """\
# A field guide to models that run and are wrong

Nothing crashes, and something is off. Look for what you see on the left, make the test, and read the lesson if the test
says yes. A mistake can hide another: fix one, test it, and look again. This page is written by
`python -m tools.fieldguide` from `mistakes.txt` in the folders of [lessons](lessons).

| what you see | likely cause | smallest test | lesson |
| --- | --- | --- | --- |
"""
ROWS = [  # symptom, exercise, words of its mistake, test
    ("the steps grow, and the loss begins to jump", "train_step", "old gradients are never cleared",
     "the gradient of one batch, twice: is the second one larger?"),
    ("the loss rests above a floor, 1.46 for ten classes", "mended_loss", "a softmax acts on the logits",
     "the loss of a perfect answer"),
    ("the answer depends on the other images of the batch", "attention", "over the batch, dim=0",
     "change image 1, watch image 0's logits"),
    ("it trains, a little flatter than the reference", "attention", "divided by the root of h*d",
     "nn.MultiheadAttention with the same numbers: one head agrees, more do not"),
    ("a row of attention's weights does not sum to 1", "attention", "columns sum to 1, rows do not",
     "sum the weights over each axis"),
    ("each row of weights sums to 1/√d", "attention", "comes after the softmax, where it only", "sum a row"),
    ("without positions the order of the tokens matters", "cross_attention", "the heads are merged by a bare reshape",
     "permute the tokens: the outputs must move along"),
    ("the order of the patches does not matter", "position_embedding", "one vector for all tokens",
     "permute the patches, watch the logits"),
    ("patches look like stripes", "patchify", "cut by reshape or view alone", "cut a picture of torch.arange"),
    ("a part never changes", "cls_token", "the class token is made in forward", "look for it in named_parameters()"),
    ("a parameter never changes", "position_embedding", "no gradient arrives at the positions",
     "after one backward: is its grad None, or zero?"),
    ("a block's output forgets how large its input was", "encoder_block", "both shortcuts start from the normalised",
     "silence the sub-layers: the block must be the identity"),
    ("2·D parameters per block are missing", "encoder_block", "one norm serves both", "count against the formula"),
    ("2·D parameters are missing at the end", "head", "the norm is missing", "count against the formula"),
    ("the count is exactly the class token and positions short", "count_parameters", "as torchsummary does",
     "sum p.numel() over parameters()"),
    ("no output of the MLP is below −0.17", "mlp", "a GELU follows the second layer too", "the smallest output"),
    ("the second use of a tensor gives other numbers", "position_embedding", "the caller's tokens are changed in place",
     "compare the input with a copy made before"),
    ("a mask changes nothing", "masked_attention", "masked_fill's result is dropped",
     "hide all keys but one: the output is its value"),
    ("a batch of one runs, larger ones stop", "cls_token", "not expanded over the batch",
     "batches of 1, 2 and 3"),
    ("all keys of a file match, and the logits are wrong", "fuse", "q, k and v alternate from row to row",
     "the first module whose output differs"),
    ("a loaded model's vectors look plausible, and are not the library's", "mended_scores",
     "neighbouring features are a pair", "the library's own numbers on the same input"),
    ("validation is too good to be true", "split_by_original", "to learn from still hold",
     "is a source of a validation image also in training?"),
]  # fmt: skip


def mistake(exercise: str, words: str) -> str:
    """The sentence of the one mistake of an exercise that has these words.

    Raises:
        LookupError: none has them, or several.
    """
    found = {edit.sentence for edit in checks.EXERCISES[exercise].edits if words in edit.sentence}
    if len(found) != 1:
        raise LookupError(f"{words!r}: {len(found)} mistakes of {exercise} have these words, expected 1")
    return found.pop()


def cell(text: str) -> str:
    """Text as it stands in a cell of a table in Markdown."""
    return text.replace("|", "\\|").replace("\n", " ")


def cause(sentence: str) -> str:
    """What is wrong, without what it should be: the sentence up to its first stop."""
    return re.split(r"[:.;] ", sentence)[0].rstrip(".")


def page() -> str:
    """The guide in Markdown."""
    lines = []
    for symptom, exercise, words, test in ROWS:
        path = next(path for path in LESSONS if path.name.startswith(checks.EXERCISES[exercise].lesson))
        link = f"[{path.stem[:2]}](../../notebooks/{path.name})"
        columns = symptom, cause(mistake(exercise, words)), test, link
        lines.append("| " + " | ".join(map(cell, columns)) + " |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
