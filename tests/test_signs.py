"""The four signs of lesson 11, and how the programs that drew them come to its result."""

import torch

from benchmarks import handful
from tests.reference import with_noise
from vit_tutorial import ViT, ViTConfig
from vit_tutorial.signs import CIRCLE, SIGNS, draw_signs
from vit_tutorial.train import Recipe, fit


def test_a_seed_draws_the_same_signs_again_and_another_draws_others():
    images, labels = draw_signs(3, seed=5)
    assert images.shape == (12, 1, 28, 28) and images.dtype == torch.uint8
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3] and len(SIGNS) == 4
    assert torch.equal(images, draw_signs(3, seed=5)[0])
    others = torch.cat([images, draw_signs(3, seed=6)[0], draw_signs(3, seed=5, shake=0.25)[0]])
    assert len({image.numpy().tobytes() for image in others}) == 36


def test_signs_are_framed_as_digits_are_and_a_circle_is_round():
    images, _ = draw_signs(20, seed=0)
    for image in images[:, 0]:
        inked = [image.amax(axis).nonzero()[:, 0] for axis in (0, 1)]
        assert max(int(places.max() - places.min()) + 1 for places in inked) == 20
    assert torch.allclose(torch.tensor(CIRCLE).norm(dim=1), torch.ones(25))
    assert (images[40:60, 0, 12:16, 12:16] == 0).all()  # nothing in the middle of a ring


def test_held_layers_stay_where_they_are_for_as_long_as_asked():
    model = with_noise(ViT(ViTConfig(8, 4, 1, 2, 6, 2, 3, 8)), size=0.3)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    handful.hold(model, 2)
    images, labels = torch.randn(4, 1, 8, 8), torch.arange(4) % 2
    for epochs, still in ((2, True), (2, False)):  # steps 1 and 2, then two more
        fit(model, images, labels, Recipe(epochs=epochs, batch_size=4, weight_decay=0.0))
        kept = {name for name, p in model.named_parameters() if torch.equal(p, before[name])}
        assert kept == (set(before) - {"head.linear.weight", "head.linear.bias"} if still else set())
