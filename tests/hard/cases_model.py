"""Bad configs, layers and tokens, where torch's own errors are enough, and looking at models."""

from dataclasses import fields

import numpy as np
import torch
from torch import nn

import vit_tutorial as v
from tests.hard.judge import INF, NAN, NOT_COUNTS, NOT_RATES, NOT_TENSORS, NOT_TEXTS, TINY, Case, Named, another, each
from vit_tutorial import interpret

SIZES = ("patch_size", "in_channels", "num_classes", "embed_dim", "depth", "num_heads", "mlp_dim")


def configs() -> list[Case]:
    cases = []
    for field in fields(v.ViTConfig):
        odd = [*NOT_COUNTS, 0] if field.name in SIZES else NOT_RATES if "dropout" in field.name else NOT_TEXTS
        if field.name == "representation_size":
            odd = [*NOT_COUNTS[1:], "text"]
        if field.name == "image_size":
            odd = [None, "8", 2.5, -8, NAN, [], (8,), (8, 8, 8), {}, 10, (8, 9)]
        if field.name in ("depth", "num_classes"):
            odd = [value for value in odd if not isinstance(value, int) or value]

        def call(w, value, name=field.name):
            model = another(**{name: value})
            return model(torch.zeros(1, model.config.in_channels, *model.config.size))

        cases += each("ViT", field.name, odd, call)
    for function in (v.count_parameters, v.count_macs):
        odd = [None, 3, "B/16", {}, [], (Named("class"), v.ViT)]
        cases += each(function.__name__, "config", odd, lambda w, value, f=function: f(value))
    odd = [None, 3, "", "b/16", "B/17", "B", [], b"B/16"]
    cases += each("vit", "variant", odd, lambda w, value: v.vit(value))
    cases += each("ViT", "config", [None, 3, "B/16", {}, []], lambda w, value: v.ViT(value))
    square = lambda w, _: another(image_size=[8, 8])(w.images).shape == (16, 3)  # noqa: E731
    numbers = lambda w, _: another(depth=np.int64(1))(w.images).shape == (16, 3)  # noqa: E731
    cases += [Case("ViT(image_size=[8, 8])", square, fine=True), Case("ViT(depth=int64)", numbers, fine=True)]
    images = [
        *NOT_TENSORS,
        torch.ones(3, 8, 8),
        torch.ones(2, 1, 8, 8),
        torch.ones(2, 3, 4, 16),
        torch.ones(2, 3, 9, 8),
    ]
    images += [torch.ones(2, 3, 8, 8).double(), torch.ones(2, 3, 8, 8).byte(), torch.ones(2, 3, 8, 8).to("meta")]
    return cases + each("ViT", "images", images, lambda w, value: w.model(value))


def layers() -> list[Case]:
    cases, tokens, images = [], torch.ones(2, 5, 8), torch.ones(2, 3, 8, 8)
    makes = {
        "PatchEmbedding": (v.PatchEmbedding, {"patch_size": 4, "embed_dim": 8, "in_channels": 3}, images),
        "ClsToken": (v.ClsToken, {"embed_dim": 8}, tokens),
        "PositionEmbedding": (v.PositionEmbedding, {"num_tokens": 5, "embed_dim": 8}, tokens),
        "MultiHeadAttention": (v.MultiHeadAttention, {"embed_dim": 8, "num_heads": 2}, tokens),
        "MLP": (v.MLP, {"embed_dim": 8, "mlp_dim": 16}, tokens),
        "EncoderBlock": (v.EncoderBlock, {"embed_dim": 8, "num_heads": 2, "mlp_dim": 16}, tokens),
        "Encoder": (v.Encoder, {"depth": 1, "embed_dim": 8, "num_heads": 2, "mlp_dim": 16}, tokens),
        "ClassificationHead": (v.ClassificationHead, {"embed_dim": 8, "num_classes": 3}, tokens),
    }
    for name, (make, good, given) in makes.items():

        def build(changes, make=make, good=good, given=given):
            with torch.random.fork_rng(devices=[]):
                return make(**good | changes)(given)

        for size in good:
            values = NOT_COUNTS if size in ("depth", "num_classes") else [*NOT_COUNTS, 0]
            cases += each(name, size, values, lambda w, value, b=build, size=size: b({size: value}))
        with torch.random.fork_rng(devices=[]):
            layer = make(**good)
        odd = [*NOT_TENSORS, given[0, 0, 0], given[..., :3], given.double(), given.long(), given.to("meta")]
        cases += each(name, "input", odd, lambda w, value, layer=layer: layer(value))
    with torch.random.fork_rng(devices=[]):
        attention = v.MultiHeadAttention(8, 2)
    triangle = torch.ones(5, 5).tril()
    masks = ["text", 3, [], triangle, triangle.long(), triangle.bool()[:3], triangle.bool()[None, None, None, :4]]
    for call in (attention.forward, attention.weights):
        cases += each(call.__name__, "mask", masks, lambda w, value, call=call: call(tokens, value))
    cases += each("patchify", "images", [*NOT_TENSORS, images[0], images[0, 0]], lambda w, value: v.patchify(value, 4))
    sizes = [*NOT_COUNTS, 0, 3, 16, True, 4.0]
    cases += each("patchify", "patch_size", sizes, lambda w, value: v.patchify(images, value))
    patches = v.patchify(images, 4)
    odd = [*NOT_TENSORS, patches[0], patches[:, :3], patches[..., :7]]
    cases += each("unpatchify", "patches", odd, lambda w, value: v.unpatchify(value, 4, (2, 2)))
    cases += each("unpatchify", "patch_size", sizes, lambda w, value: v.unpatchify(patches, value, (2, 2)))
    grids = [None, 4, (), (4,), (2, 2, 1), (3, 1), (2.0, 2.0), ("2", "2"), (-2, -2), (0, 4), [], "22"]
    cases += each("unpatchify", "grid", grids, lambda w, value: v.unpatchify(patches, 4, value))
    cases += each("sincos2d", "grid", [g for g in grids if g not in ((3, 1), (0, 4), (2, 2, 1))], positions)
    cases += each("sincos2d", "embed_dim", [*NOT_COUNTS, 0, 4, 6, 9], lambda w, value: v.sincos2d((2, 2), value))
    spread = v.sincos2d((2, 2), 8)[None]
    resized = lambda w, value, **more: v.resize_positions(spread, (2, 2), value, num_prefix=0, **more)  # noqa: E731
    cases += each("resize_positions", "new_grid", [g for g in grids if g not in ((3, 1), None)], resized)
    ways = [None, 3, "", "keras", []]
    cases += each("resize_positions", "convention", ways, lambda w, value: resized(w, (3, 3), convention=value))
    odd = [*NOT_TENSORS, spread[0], spread[:, :3], spread.long()]
    call = lambda w, value: v.resize_positions(value, (2, 2), (3, 3), num_prefix=0)  # noqa: E731
    return cases + each("resize_positions", "embedding", odd, call)


def positions(world, grid):
    return v.sincos2d(grid, 8)


def looking() -> list[Case]:
    cases, odd = [], [*NOT_TENSORS, torch.ones(3, 8, 8), torch.ones(1, 1, 8, 8), torch.ones(1, 3, 8, 9)]
    odd += [torch.ones(1, 3, 8, 8).double(), torch.ones(1, 3, 8, 8).long(), torch.ones(1, 3, 8, 8).to("meta")]
    odd += [torch.full((1, 3, 8, 8), value) for value in (NAN, INF)]
    models = [None, 3, "model", {}, (Named("Linear"), nn.Linear(2, 2)), (Named("class"), v.ViT), TINY]
    for look in (interpret.attention_maps, interpret.token_features):
        cases += each(look.__name__, "images", odd, lambda w, value, look=look: look(w.model, value))
        cases += each(look.__name__, "model", models, lambda w, value, look=look: look(value, w.images))
    for look in (interpret.gradient_times_input, interpret.occlusion):
        cases += each(look.__name__, "images", odd, lambda w, value, look=look: look(w.model, value, 0.0))
        cases += each(look.__name__, "model", models, lambda w, value, look=look: look(value, w.images, 0.0))
        numbers = [None, "0", [], {}, NAN, INF]
        cases += each(look.__name__, "empty_value", numbers, lambda w, value, look=look: look(w.model, w.images, value))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        maps, tokens = torch.rand(2, 1, 2, 5, 5).softmax(-1), torch.rand(1, 5, 8)
    layer = another().encoder.blocks[0].attention
    queries = [None, "0", 2.5, -1, 5, NAN, [], torch.ones(2)]
    cases += each("attention_row", "query", queries, lambda w, value: interpret.attention_row(layer, tokens, value))
    odd = [*NOT_TENSORS, tokens[0], tokens[..., :3], tokens.double()]
    cases += each("attention_row", "tokens", odd, lambda w, value: interpret.attention_row(layer, value, 0))
    odd = [*NOT_TENSORS, maps[0], maps * 2, maps * NAN, maps[:, :, :0], maps[..., :4], maps.long(), maps[:, :, :, :4]]
    cases += each("rollout", "maps", odd, lambda w, value: interpret.rollout(value))
    odd = [*NOT_TENSORS, maps[0, 0, 0], maps[..., :4], torch.ones(1, 1, 1, 25, 34), torch.ones(1, 1, 1, 34, 34)]
    cases += each("attention_distance", "maps", odd, lambda w, value: interpret.attention_distance(value, 4))
    sizes = [None, "4", 0, -4, NAN, []]
    cases += each("attention_distance", "patch_size", sizes, lambda w, value: interpret.attention_distance(maps, value))
    grids = [4, (4,), (3, 3), (-2, -2), (2, 2, 1), "22", (0, 4), (2.0, 2.0)]
    call = lambda w, value: interpret.attention_distance(maps, 4, value)  # noqa: E731
    cases += each("attention_distance", "grid", grids, call)
    chosen = [
        *NOT_TENSORS,
        torch.zeros(1, 2).long(),
        torch.zeros(16, 2),
        torch.full((16, 1), 9),
        torch.full((16, 1), -9),
    ]
    config = TINY
    cases += each("empty", "chosen", chosen, lambda w, value: interpret.empty(w.images, value, config, 0.0))
    one = torch.zeros(16, 1).long()
    cases += each("empty", "empty_value", numbers, lambda w, value: interpret.empty(w.images, one, config, value))
    modules = [None, 3, [None], [3], "head", [(Named("foreign"), nn.Linear(2, 2))]]
    return cases + each("inputs_of", "modules", modules, lambda w, value: interpret.inputs_of(w.model, value, w.images))
