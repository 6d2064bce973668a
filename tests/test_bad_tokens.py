"""Inside the model torch's own errors are enough, but no bad size, image, token or map is taken in silence."""

import pytest
import torch
from torch import nn

import vit_tutorial as vt
from tests.border import IMAGES, INF, INSIDE, NAN, TINY, refused, tiny
from vit_tutorial import interpret, speed

TOKENS = torch.ones(2, 5, 8)
LAYERS = {  # made how, sizes, and what goes in
    "PatchEmbedding": (vt.PatchEmbedding, {"patch_size": 4, "embed_dim": 8, "in_channels": 3}, IMAGES),
    "ClsToken": (vt.ClsToken, {"embed_dim": 8}, TOKENS),
    "PositionEmbedding": (vt.PositionEmbedding, {"num_tokens": 5, "embed_dim": 8}, TOKENS),
    "Encoder": (vt.Encoder, {"depth": 1, "embed_dim": 8, "num_heads": 2, "mlp_dim": 16}, TOKENS),
    "ClassificationHead": (vt.ClassificationHead, {"embed_dim": 8, "num_classes": 3}, TOKENS),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_takes_no_size_and_no_tokens_that_are_none(name):
    make, sizes, given = LAYERS[name]
    for size in sizes:
        for value in (None, "2", 2.5, NAN, *[-1] * (size != "depth")):  # -1 blocks are none; a config refuses them
            with torch.random.fork_rng(devices=[]), pytest.raises(INSIDE):
                make(**sizes | {size: value})(given)
    layer, odd = make(**sizes), [None, "text", [[1.0]], given[0, 0, 0], given[..., :3]]
    if name not in ("ClsToken", "PositionEmbedding"):  # these only add: torch promotes, and no number is lost
        odd += [given.double(), given.long()]
    for value in odd:
        with refused(None, layer, value, error=INSIDE):
            layer(value)


LAYER, CAUSAL, SPREAD = vt.MultiHeadAttention(8, 2), torch.ones(5, 5).tril().bool(), vt.sincos2d((2, 2), 8)[None]
MAPS, ONE = torch.full((2, 1, 2, 5, 5), 0.2), torch.zeros(16, 1).long()
GRIDS = [(4,), (2, 2, 1), (2.0, 2.0), "22"]
CALLS = {  # what is called, and each time with what
    "vit": (vt.vit, [None, "", "b/16", "B"]),
    "count_parameters": (vt.count_parameters, [None, {}, "B/16", vt.ViT]),
    "count_macs": (speed.count_macs, [None, {}, "B/16", vt.ViT]),
    "forward's mask": (lambda mask: LAYER(TOKENS, mask), ["text", CAUSAL[:3], CAUSAL[None, None, None, :4]]),
    "weights' mask": (lambda mask: LAYER.weights(TOKENS, mask), ["text", CAUSAL[:3], CAUSAL[None, None, None, :4]]),
    "sincos2d's grid": (lambda grid: vt.sincos2d(grid, 8), [None, 4, (4,), (-2, -2), "22"]),
    "sincos2d's embed_dim": (lambda size: vt.sincos2d((2, 2), size), [None, "8", 2.5, NAN]),
    "a new grid": (lambda grid: vt.resize_positions(SPREAD, (2, 2), grid, num_prefix=0), [(0, 4), (-2, -2), *GRIDS]),
    "a convention": (lambda how: vt.resize_positions(SPREAD, (2, 2), (3, 3), how, 0), [None, "", "keras"]),
    "an embedding": (lambda value: vt.resize_positions(value, (2, 2), (3, 3), num_prefix=0), [None, SPREAD.long()]),
    "a query": (lambda query: interpret.attention_row(LAYER, TOKENS, query), [None, "0", 2.5, NAN, torch.ones(2)]),
    "a row's tokens": (lambda tokens: interpret.attention_row(LAYER, tokens, 0), [None, TOKENS[0], TOKENS.double()]),
    "rollout": (interpret.rollout, [None, "text", MAPS[..., :4], MAPS.long()]),
    "chosen": (lambda rows: interpret.hide(IMAGES, rows, IMAGES[0], 4), [None, ONE.float(), ONE + 9, ONE - 9]),
    "a filler": (lambda filler: interpret.hide(IMAGES, ONE, filler, 4), [None, "0", 0.0, IMAGES[0].byte(), IMAGES]),
    "modules": (lambda parts: interpret.inputs_of(tiny(), parts, IMAGES), [None, [None], "head", [nn.Linear(2, 2)]]),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_function_takes_nonsense_in_silence(name):
    call, odd = CALLS[name]
    for value in odd:
        with refused(None, LAYER, value, error=INSIDE):
            call(value)


LOOKS = {name: getattr(interpret, name) for name in ("attention_maps", "token_features")}
LOOKS["occlusion"] = lambda model, images: interpret.occlusion(model, images, IMAGES[0])


@pytest.mark.parametrize("look", LOOKS)
def test_looking_at_what_does_not_fit_changes_nothing_of_the_model(look):
    for images in (None, IMAGES[0], IMAGES[:, :1], IMAGES.double(), IMAGES.long(), IMAGES * NAN, IMAGES * INF):
        with refused(None, model := tiny(), images, error=INSIDE):
            LOOKS[look](model, images)
    for model in (None, nn.Linear(2, 2), vt.ViT, TINY):
        with refused(None, model, error=INSIDE):
            LOOKS[look](model, IMAGES)
