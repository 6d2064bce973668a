"""Which of timm's ViTs does our model read, and with the same numbers? python -m benchmarks.timm_models

Every ViT, DeiT, BEiT and Eva that timm lists: two blocks, small patches, as many as it has, random numbers in every
parameter, in float64. Its tensors give the config, all but the number of heads, and fill our model. Then the tokens
and what the head makes of them are compared. At full size, without numbers, the number of heads is inferred, too. Two
minutes on one core.
"""

import warnings
from collections import Counter
from dataclasses import replace

import timm
import torch
from timm.models.beit import Beit
from timm.models.eva import Eva
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from vit_tutorial import ViT, weights
from vit_tutorial.modern import build
from vit_tutorial.weights.dialects import trait

from .families import randomised, timm_output
from .machine import RESULTS, Log

MODULES = ("beit", "deit", "eva", "vision_transformer", "vision_transformer_hybrid", "vitamin")
D, HEADS, DEPTH, PATCH = 48, 4, 2, 2
POOLS = {"token": "cls", "avg": "mean"}
GELUS = {"GELU": "exact", "GELUTanh": "tanh", "QuickGELU": "quick"}
GUESS = "num_heads="  # how the warning begins


def listed() -> list[str]:
    return sorted(name for module in MODULES for name in timm.list_models(module=module))


def empty(name: str) -> nn.Module:
    """timm's model at its own size, without memory."""
    with torch.device("meta"):
        model = timm.create_model(name)
    assert isinstance(model, VisionTransformer | Beit | Eva), type(model)
    return model


def small(name: str) -> nn.Module:
    """timm's model with random numbers, as small as it can be had; ValueError if it cannot."""
    sizes = {"depth": DEPTH, "embed_dim": D, "num_heads": HEADS}
    pictures = {"patch_size": PATCH, "img_size": tuple(PATCH * n for n in empty(name).patch_embed.grid_size)}
    for options in (sizes | pictures, sizes | pictures | {"num_kv_heads": 2}, sizes, {"depth": DEPTH}):
        try:
            return randomised(timm.create_model(name, **options))
        except (AssertionError, TypeError) as error:  # a part that has to have its own size
            said = error
    raise ValueError(f"not made small: {said}")


def read(state: dict[str, Tensor], told: dict) -> tuple[ViT, str, str]:
    """Our model with these weights; what was warned of, and what load_timm returns."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        config = replace(weights.infer_config(state), num_heads=HEADS)
        if told.get("pool") == "mean":  # then the class token is a register
            told = told | {"num_registers": config.num_registers + 1}
        model = build(replace(config, **told)).double().eval()
        said = weights.load_timm(model, state)
    notes = [str(warning.message) for warning in heard]
    return model, "; ".join(note for note in notes if not note.startswith(GUESS)), said


@torch.no_grad()
def differ(theirs: nn.Module, ours: ViT) -> bool:
    """Whether tokens, or what the head makes of them, are other numbers."""
    size, seen = theirs.patch_embed.img_size, []
    images = torch.randn(2, 3, *size, generator=torch.Generator().manual_seed(5), dtype=torch.double)
    with ours.encoder.register_forward_hook(lambda module, inputs, tokens: seen.append(tokens)):
        logits = ours(images)
    tokens = seen[0] if trait(ours.config, "norm_last") else ours.head.norm(seen[0])
    pairs = zip(timm_output(theirs, images), (tokens, logits), strict=True)
    dinov3 = trait(ours.config, "position") == "rope" and trait(ours.config, "coordinates") == "box"
    limit = 1e-5 if dinov3 else 1e-9  # timm's angles are float32 there, by another formula
    return max(((a - b).abs().max() / a.abs().max()).item() for a, b in pairs) > limit


def unseen(model: nn.Module) -> dict:
    """What no file shows, as timm's model has it."""
    act = GELUS.get(type(getattr(model.blocks[0].mlp, "act", None)).__name__)
    return {"pool": POOLS.get(model.global_pool), "gelu": act}


def compare(name: str) -> tuple[str, str]:
    """What became of a model, and why."""
    try:
        theirs = small(name)
    except ValueError as error:
        return "not made small", str(error)
    state = theirs.state_dict()
    try:
        ours, warned, said = read(state, {})
    except ValueError as error:
        return "refused", str(error).removeprefix("state_dict: ")
    if not differ(theirs, ours):
        return "equal", ""
    has = {key: trait(ours.config, key) for key in ("pool", "gelu")}
    told = {key: value for key, value in unseen(theirs).items() if value not in (None, has[key])}
    named = all(f"{key}={has[key]!r}" in said for key in told)
    if told and named and not differ(theirs, read(state, told)[0]):
        return "equal once told", ", ".join(f"{key}={value!r}" for key, value in told.items())
    return "different", warned


def heads(name: str) -> str:
    """Whether the number of heads is inferred rightly at full size, is said to be a guess, or is wrong."""
    model = empty(name)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        config = weights.infer_config(model.state_dict())
    if any(str(warning.message).startswith(GUESS) for warning in heard):
        return "a guess"
    return "right" if config.num_heads == model.blocks[0].attn.num_heads else "wrong"


def main() -> None:
    outcomes, inferred = {}, Counter()
    for name in listed():
        outcome, reason = compare(name)
        outcomes.setdefault(outcome, {}).setdefault(reason, []).append(name)
        if outcome not in ("refused", "not made small"):
            inferred[heads(name)] += 1
        print(f"{name:40} {outcome}: {reason}", flush=True)
    counts = {outcome: sum(map(len, reasons.values())) for outcome, reasons in outcomes.items()}
    print(counts, dict(inferred))
    Log("timm_models", "timm", folder=RESULTS).store(counts=counts, num_heads=inferred, outcomes=outcomes)


if __name__ == "__main__":
    main()
