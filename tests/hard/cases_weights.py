"""Bad weights of other libraries and of our own, bad configs in files, bad models to load into."""

import functools
import json
from dataclasses import asdict

import numpy as np
import torch
from torch import nn

from tests.hard.broken_files import good, strange_tensors, strangers
from tests.hard.cases_files import at_places, on
from tests.hard.judge import INF, NAN, NOT_PATHS, NOT_TENSORS, NOT_TEXTS, TINY, Case, Named, another, each
from vit_tutorial import ViT, files, weights
from vit_tutorial.train.finetune import probe
from vit_tutorial.weights.dialects import DIALECTS, export
from vit_tutorial.weights.infer_config import infer_config
from vit_tutorial.weights.loading import load_exactly
from vit_tutorial.weights.pretrained import download

MATRIX = {
    "torchvision": "encoder.layers.encoder_layer_1.self_attention.out_proj.weight",
    "timm": "blocks.1.attn.proj.weight",
    "transformers": "vit.layers.1.attention.o_proj.weight",
    "vit_jax": "Transformer/encoderblock_1/MlpBlock_3/Dense_1/kernel",
    "vit_tutorial": "encoder.blocks.1.attention.out.weight",
}
LOADERS = {
    "torchvision": weights.load_torchvision,
    "timm": weights.load_timm,
    "transformers": weights.load_transformers,
    "vit_jax": weights.load_jax,
    "vit_tutorial": lambda model, state: load_exactly(model, state, {name: name for name in model.state_dict()}),
}


@functools.cache
def states() -> dict[str, dict[str, torch.Tensor]]:
    """One model's weights as each library writes them, none of them zero."""
    torch.manual_seed(5)
    model = ViT(TINY)
    for parameter in model.parameters():
        nn.init.normal_(parameter.data)
    return {dialect.name: export(model, dialect) for dialect in DIALECTS.values() if dialect.name in MATRIX}


def strange(tensor: torch.Tensor) -> dict[str, object]:
    """What a matrix of a file can be replaced by, and then nothing may be loaded."""
    big = np.ones(tensor.shape, np.longdouble)
    sparse = {"coo": tensor.to_sparse(), "csr": tensor.to_sparse_csr(), "csc": tensor.to_sparse_csc()}
    shapes = {"a row": tensor[:1], "a column": tensor[:, :1], "a vector": tensor[0], "a number": tensor[0, 0]}
    shapes |= {"one more axis": tensor[None], "flat": tensor.flatten(), "nothing": tensor[:0], "half": tensor[:, :4]}
    kinds = {str(dtype): tensor.to(dtype) for dtype in (torch.int64, torch.int8, torch.bool, torch.complex64)}
    more = {"meta": tensor.to("meta"), "mkldnn": tensor.to_mkldnn(), "bsr": tensor.to_sparse_bsr((1, 1))}
    more |= {"quantised": torch.quantize_per_tensor(tensor, 0.1, 0, torch.qint8)}
    more |= {name: strange_tensors()[name] for name in ("nested", "jagged")}
    odd = {repr(value): value for value in NOT_TENSORS[:-2]} | {"longdouble": big, "objects": big.astype(object)}
    return sparse | shapes | kinds | more | odd | {"texts": big.astype(str), "a dict": {"a": tensor}}


def said(tensor: torch.Tensor) -> dict[str, torch.Tensor]:
    """What may be loaded, with a word."""
    return {repr(value): tensor.clone().index_fill(0, torch.tensor(1), value) for value in (NAN, INF, -INF)}


def loading() -> list[Case]:
    cases = []
    for name, load in LOADERS.items():
        state, key = states()[name], MATRIX[name]
        call = lambda w, changed, load=load: load(w.model, changed)  # noqa: E731
        label = f"load {name}"
        odd = [(Named(f"{key}: {what}"), state | {key: value}) for what, value in strange(state[key]).items()]
        missing = {n: t for n, t in state.items() if n != key}
        odd += [(Named("one missing"), missing), (Named("one more"), state | {"more.weight": torch.ones(2)})]
        odd += [(Named("a name that is none"), state | {3: torch.ones(2)}), (Named("empty"), {})]
        odd += [None, 3, [], [1], torch.ones(2), (Named("a model"), ViT(TINY)), (Named("pairs"), list(state.items()))]
        cases += each(label, "state_dict", odd, call)
        loud = [(Named(what), state | {key: value}) for what, value in said(state[key]).items()]
        cases += each(label, "state_dict", loud, call, warns=key)
        wide = (Named("float64"), {name: tensor.double() * 1e30 for name, tensor in state.items()})
        cases += each(label, "state_dict", [wide], call, warns="float64")
        if name == "vit_tutorial":  # lesson 07's, for any module
            continue
        models = [None, 3, "model", (Named("Linear"), nn.Linear(2, 2)), (Named("class"), ViT), []]
        models += [(Named("on meta"), ViT(TINY).to("meta")), (Named("config"), TINY)]
        cases += each(
            label, "model", models, lambda w, model, load=load, s=state: load(model, s), "model", "state_dict"
        )
        wrap = [{"model": state}, {"state_dict": state, "epoch": 3}, {"param_groups": [], "state": {}}]
        cases += each(label, "state_dict", [(Named(f"wrapped {n}"), value) for n, value in enumerate(wrap)], call)
        odd = [3, "", "Timm", [], b"timm", 0.5, (Named("object"), object())]
        resized = lambda w, value, load=load, s=state: load(w.model, s, value)  # noqa: E731
        cases += each(label, "resize", odd, resized)
        cases += at_places(label, lambda w, path, load=load: load(w.model, path))
        same = {n: t.clone() for n, t in state.items()}
        fit = {n: np.ascontiguousarray(t.numpy().astype(">f4")) for n, t in same.items()}
        flipped = {n: t.numpy()[::-1].copy()[::-1] for n, t in same.items()}
        for what, value in {"tensors": same, "big-endian": fit, "negative strides": flipped}.items():
            cases += each(label, "state_dict", [(Named(what), value)], call, fine=True)
    for name, content in [*strangers().items()][::4]:
        words = ("path", "state_dict")
        cases.append(Case(f"load timm: {name}", lambda w, p: weights.load_timm(w.model, p), words, on(content)))
    return cases + folded()


def folded() -> list[Case]:
    """LayerScale, registers, heads and positions of wrong shapes, before they are folded in."""
    state, cases = states()["timm"], []
    scales = {f"blocks.{i}.ls{n}.gamma": torch.ones(8) for i in (0, 1) for n in (1, 2)}
    shapes = {
        "blocks.0.mlp.fc2.weight": [(16,), (1, 16), (3, 16), (8,), ()],
        "blocks.0.attn.proj.weight": [(8,), (1, 8), (8, 1), (8, 8, 1)],
        "blocks.1.ls1.gamma": [(), (1,), (8, 1), (1, 8), (9,)],
        "reg_token": [(1, 2, 8), (1, 2, 9), (2, 8), (8,), ()],
        "register_tokens": [(1, 2, 8), (1, 2, 9), (2, 8), (8,), ()],
        "pos_embed": [(1, 5, 9), (5, 8), (2, 5, 8), (1, 7, 8), (1, 0, 8), ()],
        "cls_token": [(1, 1, 9), (1, 2, 8), (8,), ()],
        "head.weight": [(3, 9), (3,), (4, 8), ()],
        "head.bias": [(4,), (3, 1), ()],
        "patch_embed.proj.weight": [(8, 3, 4), (8, 48), (8, 3, 2, 2), ()],
    }
    for name, odd in shapes.items():
        both = (state | scales) if ".mlp" in name or ".attn" in name or ".ls" in name else state
        values = [(Named(f"{name} {shape}"), both | {name: torch.ones(shape)}) for shape in odd]
        cases += each("load timm", "state_dict", values, lambda w, value: weights.load_timm(w.model, value))
    bare = {n: t for n, t in state.items() if n != "pos_embed" and "qkv.bias" not in n}
    cases += each(
        "load timm", "state_dict", [(Named("bare"), bare)], lambda w, value: weights.load_timm(w.model, value)
    )
    return cases


def inferring() -> list[Case]:
    odd = [None, 3, [], {}, {"a": torch.ones(2)}, {3: torch.ones(2)}, {"a": 3}, torch.ones(2), {"pos_embed": None}]
    for name in ("torchvision", "timm", "transformers", "vit_jax"):
        state = states()[name]
        places = next(n for n in state if "pos" in n)
        patches = next(n for n, t in state.items() if t.ndim == 4)
        for key, shapes in {places: [(), (5,), (5, 8), (1, 7, 8), (1, 0, 8)], patches: [(), (8,), (8, 3)]}.items():
            odd += [(Named(f"{name} {key} {shape}"), state | {key: torch.ones(shape)}) for shape in shapes]
    call = lambda w, value: infer_config(value)  # noqa: E731
    cases = each("infer_config", "state_dict", odd, call) + at_places(
        "infer_config", lambda w, path: infer_config(path)
    )
    for name, content in [*strangers().items()][1::4]:
        cases.append(Case(f"infer_config: {name}", lambda w, p: infer_config(p), ("path", "state_dict"), on(content)))
    return cases


def edited(config=None, texts=None, **tensors) -> object:
    """A set-up: a file of ours with another config or other tensors ("" takes one away)."""

    def setup(world):
        state = {n: t for n, t in (world.model.state_dict() | tensors).items() if not isinstance(t, str)}
        metadata = {"vit_config": json.dumps(asdict(TINY) | (config or {}))} if texts is None else texts
        files.save(world.here / "m.safetensors", state, metadata)
        return world.here / "m.safetensors"

    return setup


def own() -> list[Case]:
    load, words = lambda w, path: weights.load(path), ("path",)
    cases = each("weights.load", "path", NOT_PATHS, load) + at_places("weights.load", load)
    sizes = ("image_size", "patch_size", "in_channels", "num_classes", "embed_dim", "depth", "num_heads", "mlp_dim")
    odd = [None, "8", -1, 0, 2.5, [], {}, NAN, INF, [8], [8, 8, 8], 10**12, 10**30, 7, True]
    edits = [{size: value} for size in sizes for value in odd if not (size == "depth" and value == 10**12)]
    edits += [{"depth": 10**7}, {"depth": 10**4}, {"pool": "mean"}, {"pool": 3}, {"pool": []}, {"position": "sincos"}]
    edits += [{name: v} for name in ("dropout", "attention_dropout") for v in (None, "x", -1, 2.0, True, NAN, [], {})]
    edits += [{"representation_size": v} for v in (0, 4, -1, "4", 2.5, 10**12)] + [{"colour": "red"}]
    edits += [{"num_registers": v} for v in (-1, 2, None, "2", 10**12)] + [{"norm_last": 3, "pool": "mean"}]
    edits += [{"norm_eps": v} for v in (None, "x", [], True)] + [{"gelu": v} for v in (None, 3, "fast")]
    cases += [Case(f"weights.load: {edit}", load, words, edited(edit)) for edit in edits]
    strings = ["", "{", "[]", "3", "null", '"text"', "[" * 100_000, '{"a":' * 50_000, "\0", "{}", '{"image_size": 8}']
    cases += [Case(f"weights.load: config {t[:9]!r}", load, words, edited(texts={"vit_config": t})) for t in strings]
    cases += [Case("weights.load: no config", load, words, edited(texts={}))]
    key = MATRIX["vit_tutorial"]
    matrix = torch.ones(8, 8)
    changes = {"missing": "", "a row": matrix[:1], "whole numbers": matrix.long(), "flat": matrix.flatten()}
    for name, value in (changes | {"complex": matrix.to(torch.complex64), "bool": matrix.bool()}).items():
        cases.append(Case(f"weights.load: {name}", load, ("path", "state_dict"), edited(**{key: value})))
    for name, value in said(matrix).items():
        value = edited(**{key: value})
        cases.append(Case(f"weights.load: {name}", load, ("path", "state_dict"), value, warns=key))
    for name, content in [*[*strangers().items()][2::4], *good().items()]:
        cases.append(Case(f"weights.load: {name}", load, words, on(content)))
    cases += each("weights.save", "path", NOT_PATHS, lambda w, value: weights.save(w.model, value))
    cases += at_places("weights.save", lambda w, path: weights.save(w.model, path), "dangling")
    models = [None, 3, "model", {}, (Named("Linear"), nn.Linear(2, 2)), (Named("class"), ViT), TINY]
    models += [(Named("on meta"), ViT(TINY).to("meta"))]
    cases += each("weights.save", "model", models, lambda w, value: weights.save(value, "x"), "model", "tensors")
    tied = lambda w, _: weights.save(tie(), "x") or len(weights.load("x").state_dict()) == 32  # noqa: E731
    compiled = lambda w, _: weights.save(torch.compile(w.model), "x") or weights.load("x").config == TINY  # noqa: E731
    return [*cases, Case("weights.save: tied", tied, fine=True), Case("weights.save: compiled", compiled, fine=True)]


def tie() -> ViT:
    model = another()
    model.encoder.blocks[1].mlp.fc1.weight = model.encoder.blocks[0].mlp.fc1.weight
    return model


def probing() -> list[Case]:
    from tests.hard.cases_train import bad_examples, bad_models

    words = ("images", "labels")
    cases = [
        Case(f"probe: {name}", lambda w, _, pair=pair: probe(w.model, *pair), words)
        for name, pair in bad_examples().items()
    ]
    one = torch.zeros(16, dtype=torch.long)
    cases += [Case("probe: one class", lambda w, _: probe(w.model, w.images, one), ("labels",))]
    cases += each("probe", "model", bad_models(), lambda w, value: probe(value, w.images, w.labels))
    return cases + each("download", "library", [*NOT_TEXTS, "keras", "Timm"], lambda w, value: download(value))


def all_weights() -> list[Case]:
    return loading() + inferring() + own() + probing()
