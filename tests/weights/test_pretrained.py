"""Weights from the libraries' own downloads, with random numbers in place of the fetched ones."""

import os
import sys
import warnings

import huggingface_hub
import pytest
import timm
import torch
import transformers
from safetensors.torch import save_file
from torchvision.models.vision_transformer import VisionTransformer
from transformers import ViTConfig as TheirConfig
from transformers import ViTForImageClassification

from tests.reference import difference, with_noise
from vit_tutorial import data
from vit_tutorial.weights import pretrained


def test_download_says_in_one_line_that_there_is_no_network(monkeypatch):
    monkeypatch.setenv("VIT_TUTORIAL_OFFLINE", "1")
    for name, (library, _) in pretrained.NAMES.items():
        with pytest.raises(
            ConnectionError, match=f"^no weights of {name}: {library} could not fetch them .*OFFLINE is"
        ):
            pretrained.download(name)
    with pytest.raises(ValueError, match=r"name: expected one of \['clip', .*\], got 'keras'"):
        pretrained.download("keras")


def test_without_a_network_the_hub_is_asked_once(monkeypatch, capfd):
    class Session:
        def head(self, address, timeout):
            asked.append(address)
            raise LookupError("name not known")

    asked = []
    monkeypatch.delenv("VIT_TUTORIAL_OFFLINE", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda repository, name: None)
    monkeypatch.setattr(huggingface_hub, "get_session", Session)
    for name in ("timm", "transformers"):
        with pytest.raises(ConnectionError, match=r"could not fetch them \(no network: name not known\)$"):
            pretrained.download(name)
    assert asked == [huggingface_hub.constants.ENDPOINT] * 2 and capfd.readouterr().err == ""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Where torchvision's file lies, and, whatever is asked for, the hub's."""
    monkeypatch.delenv("VIT_TUTORIAL_OFFLINE", raising=False)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    path = tmp_path / "hub" / "checkpoints" / "vit_b_16-c867db91.pth"
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda repository, name: str(path))
    return path


@pytest.mark.parametrize("depth", [2, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("library", ["torchvision", "timm", "transformers"])
def test_download_gives_the_librarys_own_logits(library, depth, cache, monkeypatch):
    if library == "torchvision":
        theirs = VisionTransformer(224, 16, depth, 12, 768, 3072)
    elif library == "timm":
        theirs = timm.create_model("vit_base_patch16_224", depth=depth)
    else:
        theirs = ViTForImageClassification(TheirConfig(num_labels=1000, num_hidden_layers=depth))
        processor = transformers.ViTImageProcessor(image_mean=[0.5] * 3, image_std=[0.5] * 3)
        monkeypatch.setattr(transformers.AutoImageProcessor, "from_pretrained", lambda name: processor)
        monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", lambda name: theirs.config)
    theirs = with_noise(theirs).eval()
    if library == "transformers":
        theirs.save_pretrained(cache.parent)
        (cache.parent / "model.safetensors").rename(cache)
    else:
        (torch.save if library == "torchvision" else save_file)(theirs.state_dict(), cache)
    model, prepare, classes = pretrained.download(library)
    image = prepare(data.photo("cat"))
    assert image.shape == (3, 224, 224) and not model.training and len(classes) == 1000
    low = {"torchvision": -2.2, "timm": -1, "transformers": -1}[library]  # normalised as the weights expect
    assert low <= image.min() < low + 0.3
    with torch.no_grad():
        expected = theirs(image[None])
        assert difference(model(image[None]), getattr(expected, "logits", expected)) < 1e-5


@pytest.mark.parametrize("name", [name for name in pretrained.NAMES if name not in ("torchvision", "transformers")])
def test_published_names_are_known_and_give_the_librarys_own_features(name, cache):
    published, options = pretrained.NAMES[name][1], {"depth": 2}
    options |= {"global_pool": "token"} if name == "dinov3" else {}  # timm takes the mean, its authors the class token
    config = timm.get_pretrained_cfg(published)
    assert config.hf_hub_id and config.license
    theirs = with_noise(timm.create_model(published.partition(".")[0], **options)).eval()
    save_file(theirs.state_dict(), cache)
    with warnings.catch_warnings(action="ignore"):  # what the file lacks, a bias for keys, say
        model, prepare, classes = pretrained.download(name)
    image = prepare(data.photo("cat"))[None]
    assert image.shape[1:] == config.input_size and len(classes) == (1000 if name == "timm" else 0)
    with torch.no_grad():
        assert difference(model(image), theirs(image)) < 1e-4


class Code:
    def __reduce__(self):
        return os.mkdir, (os.environ["TORCH_HOME"] + "/ran",)


@pytest.mark.parametrize("content", ["code", b"", b"<html>", b"PK\x03\x04 cut off"])
@pytest.mark.parametrize("library", ["torchvision", "timm", "transformers", "dinov3"])
def test_a_file_that_is_not_the_published_one_is_named_and_never_run(library, content, cache, monkeypatch):
    fetched = (str(cache), None, [])
    monkeypatch.setattr(pretrained, "fetch_timm", lambda name: fetched)
    monkeypatch.setattr(pretrained, "fetch_transformers", lambda name: fetched)
    torch.save({"a": Code()}, cache) if content == "code" else cache.write_bytes(content)
    with pytest.raises(ValueError, match=r"Delete '.*c867db91\.pth', and it is fetched again"):
        pretrained.download(library)
    assert not (cache.parents[2] / "ran").exists()


def test_a_missing_peer_is_named(monkeypatch):
    monkeypatch.delenv("VIT_TUTORIAL_OFFLINE", raising=False)
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match="library: timm is not installed; pip install timm brings it"):
        pretrained.download("timm")
