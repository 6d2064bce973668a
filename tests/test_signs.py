"""The four signs of lesson 11."""

import torch

from vit_tutorial.signs import CIRCLE, SIGNS, draw_signs, enlarged, milled


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


def test_a_digit_is_enlarged_into_its_box_and_black_around_it():
    counts = torch.full((2, 1, 8, 8), 16.0)
    for box in (28, 20, 13):
        images = enlarged(counts, box)
        assert images.shape == (2, 1, 28, 28) and images.dtype == torch.uint8
        inked = (images[0, 0] == 255).nonzero()
        assert len(inked) == box**2 and inked.min() == (28 - box) // 2
    assert 110 < enlarged(counts / 2, 28)[0, 0, 14, 14] < 140


def test_the_mill_counts_ink_in_squares():
    image = torch.zeros(2, 1, 28, 28, dtype=torch.uint8)
    image[0, 0, 4:24, 4:24] = 255  # a square fills all of them
    image[1, 0, 4:24, 10:15] = 255  # a stroke, a quarter as wide as it is high, those in the middle
    first, second = milled(image)
    assert (first == 16).all() and first.shape == (1, 8, 8)
    assert (second[0, :, 3:5] == 16).all() and not second[0, :, :3].any() and not second[0, :, 5:].any()
