"""A linear probe beside scikit-learn's own logistic regression; what importing the weights does not cost."""

import subprocess
import sys

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from tests.reference import with_noise
from tests.weights.others import changed, images_for
from vit_tutorial import ViT
from vit_tutorial.interpret import inputs_of
from vit_tutorial.weights.probe import probe


@pytest.mark.parametrize("classes", [2, 5])
def test_a_probe_trains_the_last_layer_alone(classes):
    config = changed(num_classes=classes)
    model = with_noise(ViT(config), size=0.3)
    before = {name: p.clone() for name, p in model.named_parameters()}
    images, labels = images_for(config, 40).float(), torch.arange(40) % classes
    probe(model, images, labels)
    changes = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert changes == {"head.linear.weight", "head.linear.bias"}
    (features,) = inputs_of(model, [model.head.linear], images)
    reference = LogisticRegression(max_iter=5000).fit(features.double(), labels)
    expected = torch.tensor(reference.predict_log_proba(features.double()))
    torch.testing.assert_close(model(images).log_softmax(1).double(), expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match=f"labels: expected all {classes} classes, two at least, got 1"):
        probe(model, images, torch.zeros(40, dtype=torch.int64))


def test_a_small_c_pulls_the_layer_to_zero():
    config = changed(num_classes=3)
    images, labels, lengths = images_for(config, 30).float(), torch.arange(30) % 3, []
    for C in (1e-6, 0.01, 10.0):
        model = with_noise(ViT(config), size=0.3)
        (features,) = inputs_of(model, [model.head.linear], images)
        probe(model, images, labels, C=C)
        reference = LogisticRegression(C=C, max_iter=5000).fit(features.double(), labels)
        torch.testing.assert_close(model.head.linear.weight.detach().double(), torch.tensor(reference.coef_))
        lengths.append(model.head.linear.weight.norm().item())
    assert lengths[0] < 1e-2 < lengths[1] < lengths[2]


def test_one_class_is_nothing_to_tell_apart():
    config = changed(num_classes=1)
    with pytest.raises(ValueError, match="labels: expected all 1 classes, two at least, got 1"):
        probe(ViT(config), images_for(config).float(), torch.zeros(3, dtype=torch.int64))


def test_what_only_some_functions_need_is_imported_by_them():
    command = "import sys, vit_tutorial.weights.probe, vit_tutorial.weights.pretrained;"
    command += "assert not {'sklearn', 'torchvision', 'timm', 'transformers', 'accelerate'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", command], check=True)
