"""Weights: of another model, damaged, of another library, of a config that is none. All are taken, or none."""

import json
import tracemalloc
from dataclasses import asdict

import numpy as np
import timm
import torch

from tests.border import NAN, TINY, tiny
from tests.refusals import Refusal
from tests.weights.others import changed, new, timm_model
from vit_tutorial import files, weights
from vit_tutorial.train.finetune import with_new_head
from vit_tutorial.weights.dialects import DIALECTS, export
from vit_tutorial.weights.infer_config import infer_config

# --- of another model ---

MISFITS = [  # what timm's model has, what ours has, and what is said
    ({"patch": 16}, {}, r"patch_embed\.proj\.weight: expected \(24, 3, 8, 8\), got \(24, 3, 16, 16\)"),
    ({"D": 48}, {}, r"cls_token: expected \(1, 1, 24\), got \(1, 1, 48\)"),
    ({"depth": 3}, {}, r"extra blocks\.2\.norm1\.weight \(24,\)"),
    ({"depth": 1}, {}, r"missing blocks\.1\.attn\.qkv\.weight \(72, 24\)"),
    ({"reg_tokens": 1}, {}, r"extra reg_token \(1, 1, 24\)"),
    ({}, {"num_registers": 3}, r"missing reg_token \(1, 3, 24\)"),
    ({"reg_tokens": 2}, {"num_registers": 3}, r"reg_token: expected \(1, 3, 24\), got \(1, 2, 24\)"),
    ({"global_pool": "avg", "class_token": False}, {}, r"missing cls_token(.|\n)*extra fc_norm\.bias"),
    ({"in_chans": 1}, {}, r"patch_embed\.proj\.weight: expected \(24, 3, 8, 8\), got \(24, 1, 8, 8\)"),
    ({}, {"representation_size": 4}, r"missing head\.pre_logits\.0\.weight \(4, 24\)"),
    ({"qk_norm": True}, {}, r"extra blocks\.0\.attn\.q_norm\.weight \(8,\)"),
    ({"pre_norm": True}, {}, r"extra norm_pre\.weight \(24,\)"),
    ({"global_pool": "map", "class_token": False}, {}, r"extra attn_pool\.latent"),
    ({"mlp_layer": timm.layers.SwiGLU}, {}, r"blocks\.0\.mlp\.fc1\.weight: expected \(48, 24\), got \(96, 24\)"),
    ({"scale_attn_norm": True}, {}, r"extra blocks\.0\.attn\.norm\.weight"),
]
FAULTS = r"^state_dict: \d+ of its entries do(es)? not fit this model:"
CAUSELESS = r"(?!(.|\n)*Likely cause)"  # timm's names, for timm's loader


def misfit(options: dict, changes: dict, words: str) -> Refusal:
    given = new(changed(**changes)), timm_model(**options).state_dict()
    return Refusal(f"timm's {options} as {changes}", weights.load_timm, [given], rf"{CAUSELESS}{FAULTS}(.|\n)*{words}")


ODD = {  # shapes of entries that are changed, whatever is done about them: the comparison must name them
    "blocks.0.ls1.gamma": [(5,), (1,), (24, 1)],
    "pos_embed": [(2, 17, 24), (0, 1, 24), (1, 7, 24), (1, 0, 24), (17, 24)],
    "cls_token": [(1, 1, 25)],
    "head.bias": [()],
    "reg_token": [(), (24,), (1, 2, 25)],
    "patch_embed.proj.weight": [()],
    "blocks.1.attn.proj.weight": [None, (24,), (24, 1), (24, 24, 1)],
    "blocks.0.mlp.fc2.weight": [(48,), (1, 48), (3, 48)],
    "blocks.0.mlp.fc1.bias": [None],
}
LAYER_SCALED = timm_model(init_values=0.1).float().state_dict()


def odd_states(name: str) -> list[dict]:
    """A file of timm's whose entry `name` has another shape, or is missing."""
    rest = {other: tensor for other, tensor in LAYER_SCALED.items() if other != name}
    return [rest if shape is None else rest | {name: torch.zeros(shape)} for shape in ODD[name]]


def odd(name: str) -> Refusal:
    models = [new(changed(image_size=size)) for size in (32, 48)]
    models += [new(changed(image_size=size, pool="mean", num_registers=1)) for size in (32, 48)]
    given = [(model, state) for state in odd_states(name) for model in models]
    return Refusal(f"an odd {name}", weights.load_timm, given, rf"{FAULTS}(.|\n)*{name}")


def writes(library: str) -> dict[str, torch.Tensor]:
    return export(tiny(), DIALECTS[library])


def wrong_loader(library: str, loader: str) -> Refusal:
    right = {"vit_tutorial": "load", "vit_jax": "load_jax"}.get(library, f"load_{library}")
    words = f"Likely cause: these are the names of {library}, which weights.{right} reads"
    return Refusal(f"{library}'s for {loader}", getattr(weights, loader), [(tiny(), writes(library))], words)


PLAIN = new()
TIMM, PAIRS = writes("timm"), {"torchvision": "load_torchvision", "timm": "load_timm"}
PAIRS |= {"transformers": "load_transformers", "vit_jax": "load_jax", "vit_tutorial": ""}
SIZES = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 3, "num_classes": 7}
DISTILLED = timm.models.deit.VisionTransformerDistilled(**SIZES).state_dict()
OTHERS = [
    *(misfit(*row) for row in MISFITS),
    *(odd(name) for name in ODD),
    *(wrong_loader(file, loader) for file in PAIRS for other, loader in PAIRS.items() if loader and other != file),
    Refusal(
        "a distilled model", weights.load_timm, [(new(), DISTILLED)],
        r"extra dist_token \(1, 1, 24\)(\n.*)*\nLikely cause: DeiT with distillation is not read: it has a second",
    ),
    *(  # a file of timm's may not slip in what has our name by chance
        Refusal(
            f"{name} in timm's", weights.load_timm, [(tiny(), TIMM | {name: torch.zeros(24)})],
            f"^state_dict: 1 of its entries does not fit this model:\nextra {name}",
        )
        for name in ("head.norm.weight", "head.linear.bias", "registers.token", "encoder.blocks.0.x")
    ),
    Refusal(
        "half a head", weights.load_timm,
        [(tiny(), {name: t for name, t in TIMM.items() if name != "head.bias"})], r"missing head\.bias \(3,\)",
    ),
    Refusal(
        "a prefix that not all names have", weights.load_timm,
        [(tiny(), {n if n == "cls_token" else f"module.{n}": t for n, t in TIMM.items()})], r"extra module\.pos_embed",
    ),
    Refusal("fixed positions", weights.load_timm, [(tiny(position="sincos2d"), {})], "model: its positions are fixed"),
    Refusal(
        "resize", lambda how: weights.load_timm(tiny(), TIMM, how), [3, "", "scipy", []],
        r"resize: expected one of \['jax', .*\], got {}",
    ),
]  # fmt: skip

# --- no state dict ---

MATRIX = "blocks.1.attn.proj.weight"
NAMELESS = {  # what is no state dict, and what is said
    "None": (None, "expected names with tensors, got NoneType"),
    "a list": ([*TIMM.items()], "expected names with tensors, got list"),
    "nothing": ({}, r"(.|\n)*(missing cls_token|has the names \[\])"),
    "a name that is a number": (TIMM | {3: torch.ones(2)}, "3 holds a Tensor, expected a name with a tensor"),
    "a number for a tensor": (TIMM | {"epoch": 3}, "'epoch' holds a int, expected a name with a tensor"),
    "None for a tensor": (TIMM | {MATRIX: None}, f"'{MATRIX}' holds a NoneType"),
    "a list for a tensor": (TIMM | {MATRIX: [1.0]}, f"'{MATRIX}' holds a list"),
    "an array that torch has no dtype for": (TIMM | {MATRIX: np.ones((8, 8), np.longdouble)}, ".* holds a ndarray"),
    "an optimizer's": (torch.optim.AdamW(tiny().parameters()).state_dict(), "this is the state of an optimizer; it"),
    "a checkpoint": ({"epoch": 3, "model": TIMM, "ema": TIMM}, r".* its weights are in \['model', 'ema'\]"),
}
SHAPES = [("pos_embed", (3,)), ("pos_embed", (17, 24)), ("patch_embed.proj.weight", ()), ("cls_token", (24,))]
UNREAD = [
    *(
        Refusal(f"{name} for {call.__name__}", call, [given], f"^state_dict: {words}", (TypeError, ValueError))
        for name, (wrong, words) in NAMELESS.items()
        for call, given in ((weights.load_timm, (tiny(), wrong)), (infer_config, (wrong,)))
    ),
    Refusal("names of no ViT", infer_config, [{"x": torch.zeros(2)}], r"^state_dict: no ViT has the names \['x'\]"),
    *(
        Refusal(f"{shape} for {name}", infer_config, [TIMM | {name: torch.zeros(shape)}],
                rf"^state_dict: not to be recognised: {name}: expected \(\w+ .*\), got ")
        for name, shape in SHAPES
    ),
    *(
        Refusal(f"{n} positions", infer_config, [TIMM | {"pos_embed": torch.zeros(1, n, 8)}],
                f"^state_dict: {n} positions are no square of patches")
        for n in (0, 7, 19)
    ),
]  # fmt: skip

# --- what another library cannot have ---


def exported(to, changes: dict, words: str) -> Refusal:
    return Refusal(f"{changes} {to.__name__}", to, [new(changed(**changes))], f"^model: has {words}")


EXPORTS = [
    exported(weights.to_torchvision, {"pool": "mean"}, "pool='mean'; the ViT of torchvision can only have 'cls'"),
    exported(weights.to_torchvision, {"in_channels": 1}, "in_channels=1; .* can only have 3"),
    exported(weights.to_torchvision, {"num_registers": 1}, "num_registers=1; .* can only have 0"),
    exported(weights.to_torchvision, {"gelu": "tanh"}, "gelu='tanh'; .* can only have 'exact'"),
    exported(weights.to_torchvision, {"norm_eps": 1e-3}, r"norm_eps=0\.001; .* can only have 1e-06"),
    exported(weights.to_torchvision, {"norm_last": True}, "norm_last=True; .* can only have False"),
    exported(weights.to_torchvision, {"image_size": (32, 40)}, r"size=\(32, 40\); .* can only have \(32, 32\)"),
    exported(weights.to_timm, {"representation_size": 5}, "representation_size=5; the ViT of timm can only have None"),
    exported(weights.to_transformers, {"pool": "mean"}, ".*the ViT of transformers can only have 'cls'"),
    exported(weights.to_transformers, {"norm_last": True}, ".*the ViT of transformers can only have False"),
    exported(weights.to_transformers, {"num_registers": 2}, ".*the ViT of transformers can only have 0"),
    exported(weights.to_transformers, {"representation_size": 2}, ".*the ViT of transformers can only have None"),
    Refusal(
        "on disk", lambda value: weights.to_transformers(PLAIN, value), ["no", 1, None, "weights.bin"],
        "on_disk: expected a bool, got {}", TypeError,
    ),
]  # fmt: skip

# --- a file of ours with another config, other tensors or other labels: its sum is right ---

EDITS = [{"image_size": value} for value in (None, "8", -1, 0, 2.5, [8], [8, 8, 8], 7, 10**30)]
SIZED = ("patch_size", "in_channels", "num_classes", "embed_dim", "depth", "num_heads", "mlp_dim")
EDITS += [{size: value} for size in SIZED for value in ("8", 2.5, -1, True, 7)]
EDITS += [{size: value} for size in ("dropout", "attention_dropout") for value in (None, 2.0, True, NAN)]
EDITS += [{"representation_size": value} for value in (0, -1, "4", 2.5)] + [{"pool": "mean"}, {"pool": 3}]
EDITS += [{"num_registers": value} for value in (-1, 2, "2")] + [{"norm_eps": value} for value in (None, "x", True)]
EDITS += [{"gelu": "fast"}, {"gelu": 3}, {"norm_last": 3, "pool": "mean"}, {"position": "sincos"}, {"colour": "red"}]
HUGE = [{"mlp_dim": 10**12}, {"num_classes": 10**12}, {"depth": 10**7}, {"embed_dim": 2**40, "num_heads": 2**20}]
HUGE += [{"depth": 10**6, "embed_dim": 0, "mlp_dim": 0}]  # a million blocks without a number
TEXTS = ["", "no json", "[]", "null", "{}", '{"image_size": 8}', "[" * 100_000, '{"a":' * 50_000]
PLACE = "encoder.blocks.1.attention.out.weight"
TENSORS = [None, torch.ones(1, 8), torch.ones(64), torch.ones(8, 8).bool(), torch.ones(8, 8).to(torch.complex64)]
LABELLED, NO_LABELS = (
    with_new_head(tiny(), "abc"),
    [["cat", "dog"], ["cat", "dog", "cat"], ["cat", "dog", 3], ("cat", "dog", "yam"), "yam"],
)


def reload(text: str, labels=None, **tensors) -> None:
    """Write such a file (None takes a tensor away), and read it without much memory."""
    state = {name: tensor for name, tensor in (tiny().state_dict() | tensors).items() if tensor is not None}
    files.save("x", state, {"vit_config": text} | ({"vit_labels": json.dumps(labels)} if labels else {}))
    tracemalloc.start()
    try:
        weights.load("x")
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 50_000_000


def labelled(labels) -> None:
    LABELLED.labels = labels
    weights.save(LABELLED, "x")


OWN, TEXT = "^path: 'x' holds a config that is no ViT's, or another one's", json.dumps(asdict(TINY))
OURS = [
    *(Refusal(f"{edit!r:.40}", reload, [json.dumps(asdict(TINY) | edit)], OWN) for edit in (*EDITS, *HUGE)),
    *(Refusal(f"the text {text!r:.20}", reload, [text], OWN) for text in TEXTS),
    Refusal(
        "other tensors", lambda tensor: reload(TEXT, **{PLACE: tensor}), [*TENSORS, torch.ones(8, 8).long()],
        rf"{OWN}(.|\n)*{PLACE}",
    ),
    Refusal("labels", labelled, [(wrong,) for wrong in NO_LABELS], "^labels: expected 3 different names .*, got {}"),
    Refusal("labels in a file", lambda names: reload(TEXT, names), NO_LABELS[:3], f"{OWN}.*labels: expected 3"),
]  # fmt: skip
SIZED_AGAIN = [
    Refusal(
        "another size", weights.resized, [(tiny(), size) for size in (0, 10, -8, (8, 9), (8,), "8", None, [8, 8])],
        r"^image_size: expected an int, or \(height, width\), that patch_size=4 divides, got {}",
    ),
    Refusal("no model", lambda model: weights.resized(model, 8), [None, TINY], "^model: expected a ViT", TypeError),
]  # fmt: skip
ROWS = [*SIZED_AGAIN, *OTHERS, *UNREAD, *EXPORTS, *OURS]
