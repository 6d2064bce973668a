"""The pad: MNIST's framing, and what the model answers."""

import math

import pytest
import torch
from traitlets import TraitError

from vit_tutorial import ViT, ViTConfig, data, interpret, weights
from vit_tutorial.widgets import draw_digit, frame_digit


@pytest.fixture(scope="module")
def model():
    return weights.load(data.path("vit_mnist.safetensors"))


def test_mnists_own_digits_are_framed_as_they_are():
    images, _ = data.mnist("test")
    assert all(torch.equal(frame_digit(image[0]), image) for image in images[:2000])


@pytest.mark.parametrize(("top", "left", "height", "width"), [(3, 90, 40, 7), (60, 0, 9, 30), (0, 0, 112, 112)])
def test_ink_fills_twenty_pixels_around_its_centre_wherever_it_was_drawn(top, left, height, width):
    drawing = torch.zeros(112, 112, dtype=torch.uint8)
    drawing[top : top + height, left : left + width] = 255
    (framed,) = frame_digit(drawing)
    rows, columns = framed.amax(1).nonzero()[:, 0], framed.amax(0).nonzero()[:, 0]
    sides = [int(line[-1] - line[0]) + 1 for line in (rows, columns)]
    assert max(sides) == 20 and min(sides) == round(20 * min(height, width) / max(height, width))
    for line in (rows, columns):
        assert abs(line.double().mean() - 14) <= 0.5


def test_ink_on_one_side_does_not_leave_the_field():
    drawing = torch.zeros(112, 112, dtype=torch.uint8)
    drawing[:100, :6] = 255  # heavy on the left, one thin line to the far right
    drawing[50, :100] = 9
    (framed,) = frame_digit(drawing)
    assert not framed[:, :8].any() and framed[:, 8:].amax(0).count_nonzero() == 20  # pushed against the edge, whole


def test_paper_stays_paper_and_another_kind_of_drawing_is_refused(model):
    assert not frame_digit(torch.zeros(5, 9, dtype=torch.uint8)).any()
    for wrong in (torch.zeros(5, 9), torch.zeros(1, 5, 9, dtype=torch.uint8)):
        with pytest.raises(ValueError, match="drawing: expected"):
            frame_digit(wrong)
    pad = draw_digit(model)
    assert not pad.probabilities.any() and not pad.image.any()
    with pytest.raises(ValueError, match="drawing: expected 12544 bytes, got 3"):
        pad.drawing = b"abc"
    before = pad.drawing
    with pytest.raises(TraitError, match="drawing: expected 12544 bytes, got 3"):  # from the page, too
        pad.set_state({"drawing": memoryview(b"abc")})
    assert pad.drawing == before
    for example in (torch.zeros(28, 28, dtype=torch.uint8), torch.zeros(1, 28, 28)):
        with pytest.raises(ValueError, match=r"example: expected \(1, 28, 28\) of uint8, got"):
            draw_digit(model, example)


def test_it_answers_what_the_model_answers_and_shows_where_it_looks(model):
    image = data.mnist("test")[0][4]
    pad, batch = draw_digit(model, image), data.normalise(image[None])
    torch.testing.assert_close(pad.probabilities, model(batch).softmax(-1)[0])
    assert torch.equal(pad.image, image) and pad.framed == image.numpy().tobytes()
    looks = interpret.attention_maps(model, batch).mean(dim=(0, 1, 2))[0, 1:]
    assert len(pad.colours) == 4 * 49 and pad.colours[4 * int(looks.argmax()) + 3] == 204  # 0.8 of 255
    shown, words = pad._repr_mimebundle_()
    assert shown["image/png"][:4] == b"\x89PNG" and "its answer: 4" in words["image/png"]["alt"]


@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_any_model_of_ten_digits_will_do_and_no_other(pool):
    sizes = {"image_size": 28, "patch_size": 14, "in_channels": 1, "embed_dim": 8, "depth": 1, "num_heads": 2}
    model = ViT(ViTConfig(**sizes, num_classes=10, mlp_dim=8, pool=pool)).train()
    assert math.isclose(draw_digit(model, data.mnist("test")[0][0]).probabilities.sum(), 1, rel_tol=1e-5)
    assert model.training
    with pytest.raises(ValueError, match="model: expected one that reads ten digits of 1x28x28, got 3 classes"):
        draw_digit(ViT(ViTConfig(**sizes, num_classes=3, mlp_dim=8)))
