"""Weights from the libraries' own downloads, with random numbers in place of the fetched ones."""

import sys

import pytest
import timm
import torch
import torchvision
import transformers
from reference import difference, with_noise
from transformers import ViTConfig as TheirConfig
from transformers import ViTForImageClassification

from vit_tutorial import data
from vit_tutorial.weights import pretrained

REAL_CREATE, VisionTransformer_B16 = timm.create_model, torchvision.models.vit_b_16  # before they are replaced


def test_download_says_in_one_line_that_there_is_no_network(monkeypatch):
    monkeypatch.setenv("VIT_TUTORIAL_OFFLINE", "1")
    for library in pretrained.NAMES:
        with pytest.raises(ConnectionError, match=f"^no ImageNet weights: {library} could not fetch them .*OFFLINE is"):
            pretrained.download(library)
    with pytest.raises(ValueError, match=r"library: expected one of \['timm', .*\], got 'keras'"):
        pretrained.download("keras")


@pytest.mark.parametrize("library", pretrained.NAMES)
def test_download_gives_the_librarys_own_logits(library, monkeypatch):
    monkeypatch.delenv("VIT_TUTORIAL_OFFLINE", raising=False)
    made = []

    def instead(make):
        def build(*arguments, pretrained=True, weights=None, **options):
            made.append(with_noise(make()))
            return made[-1]

        return build

    if library == "torchvision":
        monkeypatch.setattr(torchvision.models, "vit_b_16", instead(VisionTransformer_B16))
    elif library == "timm":
        monkeypatch.setattr(timm, "create_model", instead(lambda: REAL_CREATE("vit_base_patch16_224")))
    else:
        build = instead(lambda: ViTForImageClassification(TheirConfig(num_labels=1000)))
        monkeypatch.setattr(ViTForImageClassification, "from_pretrained", build)
        processor = transformers.ViTImageProcessor(image_mean=[0.5] * 3, image_std=[0.5] * 3)
        monkeypatch.setattr(transformers.AutoImageProcessor, "from_pretrained", lambda name: processor)
    model, prepare, classes = pretrained.download(library)
    image = prepare(data.photo("cat"))
    assert image.shape == (3, 224, 224) and not model.training and len(classes) == 1000
    low = {"torchvision": -2.2, "timm": -1, "transformers": -1}[library]  # normalised as the weights expect
    assert low <= image.min() < low + 0.3
    with torch.no_grad():
        theirs = made[0](image[None])
        assert difference(model(image[None]), getattr(theirs, "logits", theirs)) < 1e-5


def test_a_missing_peer_is_named(monkeypatch):
    monkeypatch.delenv("VIT_TUTORIAL_OFFLINE", raising=False)
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match="library: timm is not installed; pip install timm brings it"):
        pretrained.download("timm")
