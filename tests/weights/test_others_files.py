"""The files that timm, transformers and Flax wrote: we compute with each what its own library computed."""

import json
from dataclasses import replace

import pytest
import torch

from vit_tutorial import data, files, weights
from vit_tutorial.modern import build
from vit_tutorial.weights.dialects import find_dialect

RESULT = data.result("others_files")
FILES = {
    "timm": ("timm/model.safetensors", "timm", weights.load_timm),
    "transformers": ("transformers/model.safetensors", "transformers on disk", weights.load_transformers),
    "flax": ("flax.npz", "big_vision", weights.load_jax),
}


@pytest.mark.filterwarnings("ignore:num_heads=")
@pytest.mark.filterwarnings("ignore:.*GELU")  # JAX files as a rule expect the tanh
@pytest.mark.parametrize("library", FILES)
def test_their_file_gives_their_logits(library):
    name, dialect, load = FILES[library]
    path = data.path(f"others/{name}")
    assert find_dialect(files.read(path)[0]).name == dialect
    config = replace(weights.infer_config(path), num_heads=4)
    if library == "flax":
        assert weights.infer_config(path).num_heads == 4  # its shapes show it
        config = replace(config, gelu="exact")
    elif library == "transformers":  # eps is transformers' default, unless its config says something else
        card = json.loads(data.path("others/transformers/config.json").read_text())
        config = replace(config, norm_eps=card["layer_norm_eps"], gelu="exact")
    model = build(config).double().eval()
    with pytest.warns(match="float16"):
        load(model, path)
    if library == "timm":
        images = data.normalise(torch.stack([data.thumbnail(name) for name in RESULT["photos"]]), **data.CIFAR10)
    else:
        images = data.normalise(data.mnist("test")[0][:20])
    theirs = torch.tensor(RESULT["logits"][library], dtype=torch.double)
    with torch.no_grad():
        assert (model(images.double()) - theirs).abs().max() < 1e-9 * theirs.abs().max()
