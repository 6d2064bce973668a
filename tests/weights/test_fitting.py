"""Another head, another image size, another precision, odd entries: what is adjusted, what is said, what is refused."""

import pytest
import torch
from timm.models.vision_transformer import checkpoint_filter_fn
from torchvision.models.vision_transformer import VisionTransformer, interpolate_embeddings

from tests.reference import difference, with_noise
from tests.weights.others import (
    LIMIT,
    SMALL,
    changed,
    hf_model,
    images_for,
    jax_arrays,
    loud,
    new,
    silent,
    timm_model,
    torchvision_model,
)
from vit_tutorial import weights
from vit_tutorial.modern import build
from vit_tutorial.weights.fitting import square
from vit_tutorial.weights.infer_config import infer_config

pytestmark = pytest.mark.filterwarnings("ignore:num_heads=")


@pytest.mark.parametrize("classes", [1, 9])
def test_other_classes_keep_the_models_head_and_say_so(classes):
    state = {
        weights.load_torchvision: torchvision_model().float().state_dict(),
        weights.load_timm: timm_model().float().state_dict(),
        weights.load_transformers: hf_model().float().state_dict(),
        weights.load_jax: {name: a.astype("float32") for name, a in jax_arrays(SMALL, big=True).items()},
    }
    for load, theirs in state.items():
        model = with_noise(build(changed(infer_config(theirs), num_classes=classes, num_heads=3)))
        head, norm = model.head.linear.weight.clone(), model.head.norm.weight.clone()
        words = f"^the file has a head for 7 classes: the model keeps its own, for {classes}$"
        loud(words, load, model, theirs)
        assert torch.equal(model.head.linear.weight, head) and not torch.equal(model.head.norm.weight, norm)


def test_a_head_for_other_classes_leaves_the_pre_logits():
    arrays = jax_arrays(changed(num_classes=9), big=False)  # other classes, and no pre-logits
    model = new(changed(representation_size=5, gelu="tanh"))
    kept = model.head.pre_logits[0].weight.clone()
    loud("^the file has a head for 9 classes: the model keeps its own, for 7$", weights.load_jax, model, arrays)
    assert torch.equal(model.head.pre_logits[0].weight, kept)


@pytest.mark.parametrize("size", [(48, 48), (16, 16), (24, 56)])
def test_positions_are_resized_each_librarys_own_way(size):
    config, grid = changed(image_size=size), (size[0] // 8, size[1] // 8)
    words = f"^positions resized from 4x4 to {grid[0]}x{grid[1]} patches, {{}}'s way"
    images = images_for(config)

    theirs = timm_model()
    ours = loud(words.format("timm"), weights.load_timm, new(config), theirs.state_dict())
    larger = timm_model(size)
    larger.load_state_dict(checkpoint_filter_fn(theirs.state_dict(), larger))
    expected = larger(images)
    assert difference(ours(images), expected) < 1e-7  # timm resizes in float32
    other = loud(words.format("jax"), weights.load_timm, new(config), theirs.state_dict(), "jax")
    assert difference(other(images), expected) > 1e-3

    theirs = hf_model()
    arguments = (weights.load_transformers, new(changed(config, norm_eps=1e-12)), theirs.state_dict())
    ours = loud(words.format("transformers"), *arguments)
    expected = theirs(pixel_values=images, interpolate_pos_encoding=True).logits
    assert difference(ours(images), expected) <= LIMIT

    if size[0] == size[1]:  # torchvision knows squares alone
        theirs = torchvision_model()
        ours = loud(words.format("torchvision"), weights.load_torchvision, new(config), theirs.state_dict())
        larger = VisionTransformer(size[0], 8, 2, 3, 24, 48, num_classes=7).double().eval()
        larger.load_state_dict(interpolate_embeddings(size[0], 8, theirs.state_dict()))
        assert difference(ours(images), larger(images)) <= LIMIT


def test_jax_positions_are_resized_as_scipy_does():
    from scipy.ndimage import zoom

    arrays = jax_arrays(SMALL, big=False)
    config = changed(image_size=48, gelu="tanh")
    ours = loud("from 4x4 to 6x6 patches, jax's way", weights.load_jax, new(config), arrays)
    grid = arrays["Transformer/posembed_input/pos_embedding"][0, 1:].reshape(4, 4, 24)
    expected = torch.tensor(zoom(grid, (6 / 4, 6 / 4, 1), order=1)).reshape(36, 24)
    torch.testing.assert_close(ours.position_embedding.embedding[0, 1:], expected, rtol=0, atol=1e-12)


def test_resizing_keeps_registers_and_gives_missing_slots_zero():
    config = changed(num_registers=2, image_size=48)
    theirs = timm_model(reg_tokens=2, no_embed_class=True).state_dict()
    model = loud("4x4 to 6x6", weights.load_timm, new(config), theirs)
    assert not model.position_embedding.embedding[:, :3].any()
    theirs = timm_model(reg_tokens=2).state_dict()
    model = loud("4x4 to 6x6", weights.load_timm, new(config), theirs)
    assert torch.equal(model.position_embedding.embedding[:, :3], theirs["pos_embed"][:, :3])
    assert torch.equal(model.cls_token.token, torch.cat([theirs["cls_token"], theirs["reg_token"]], dim=1))


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        (56, (40, 80), "positions resized from 7x7 to 5x10 patches"),  # 7x7+1 = 5x10
        ((24, 40), 32, "only patches have positions"),  # 3x5+1 = 4x4: no way to know, so it is said
        (32, (16, 64), "17 positions are taken for 2x8 patches, not for 4x4"),
    ],
)
def test_token_counts_that_collide_are_said(source, target, words):
    state = timm_model(source).state_dict()
    loud(words, weights.load_timm, new(changed(image_size=target)), state)


def test_a_slot_is_more_likely_than_none():
    assert square(9, 5) == (2, 5) and square(9, 4) == (3, 0) and square(8, 1) is None
    assert square(10, 5) == (3, 1) and square(10, 0) is None and square(5, 5) == (2, 1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_converted_and_said(dtype):
    state = {name: tensor.to(dtype) for name, tensor in weights.to_timm(new()).items()}
    model = loud(f"^stored in {dtype}, converted to torch.float32$", weights.load_timm, build(SMALL), state)
    assert model.head.linear.weight.dtype == torch.float32
    assert all(torch.equal(tensor, state[name].float()) for name, tensor in weights.to_timm(model).items())
    state = weights.to_timm(model)
    loud(f"^stored in torch.float32, converted to {dtype}$", weights.load_timm, build(SMALL).to(dtype), state)


def test_half_precision_is_resized_in_the_models_own():
    state = {name: tensor.half() for name, tensor in timm_model(init_values=0.3).state_dict().items()}
    double = {name: tensor.double() for name, tensor in state.items()}
    config = changed(image_size=48, layer_scale=0.3)
    ours = loud("stored in torch.float16.*resized", weights.load_timm, new(config), state)
    expected = loud("^positions resized", weights.load_timm, new(config), double)
    images = images_for(config, 1)
    assert torch.equal(ours(images), expected(images))


def test_float32_into_double_is_not_worth_a_word():
    silent(weights.load_timm, new(), timm_model().float().state_dict())


def test_nothing_of_the_files_own_tensors_is_changed():
    state = timm_model(init_values=0.5, no_embed_class=True).state_dict()
    before = {name: tensor.clone() for name, tensor in state.items()}
    loud("only patches", weights.load_timm, new(changed(num_classes=3, layer_scale=0.1)), state)
    assert list(state) == list(before) and all(torch.equal(state[name], before[name]) for name in before)


def test_other_arithmetic_is_said():
    state = weights.to_torchvision(new())
    words = "expect norm_eps=1e-06, the model has 0.001; .* expect gelu='exact', the model has 'tanh'"
    loud(words, weights.load_torchvision, new(changed(gelu="tanh", norm_eps=1e-3)), state)
    arrays = jax_arrays(SMALL, big=False)
    loud("^weights of vit_jax as a rule expect gelu='tanh', the model has 'exact'$", weights.load_jax, new(), arrays)
