"""Lesson 16: masks, drawings and losses, beside transformers' ViTMAE and beside plain code."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import ViTMAEConfig, ViTMAEForPreTraining

from tests.reference import difference, with_noise
from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.patchify import patchify
from vit_tutorial.train import Recipe
from vit_tutorial.unlabelled import (
    MaskedAutoencoder,
    dino_loss,
    features,
    follow,
    masked_loss,
    pretrain,
    random_masks,
    shipped,
)

TINY = ViTConfig(16, 4, 3, 5, 16, 2, 2, 24)
OBLONG = replace(TINY, image_size=(8, 20), in_channels=1, embed_dim=24, num_heads=3)


def example(config, share=0.6, seed=0, n=5):
    chance = torch.Generator().manual_seed(seed)
    images = torch.randn(n, config.in_channels, *config.size, generator=chance)
    return images, random_masks(torch.rand(n, config.num_tokens - 1, generator=chance), share)


def theirs(ours: MaskedAutoencoder) -> ViTMAEForPreTraining:
    """transformers' model with the numbers of ours: heads one under the other, pixels with the channel last."""
    c, state = ours.vit.config, {}
    config = ViTMAEConfig(
        hidden_size=c.embed_dim, num_hidden_layers=c.depth, num_attention_heads=c.num_heads, num_channels=c.in_channels,
        intermediate_size=c.mlp_dim, image_size=c.image_size, patch_size=c.patch_size, layer_norm_eps=1e-6,
        decoder_hidden_size=8, decoder_num_hidden_layers=2, decoder_num_attention_heads=4, decoder_intermediate_size=32,
        mask_ratio=0.5,
    )  # fmt: skip
    names = {"vit.embeddings.cls_token": ours.vit.cls_token.token, "decoder.mask_token": ours.mask_token}
    names["vit.embeddings.position_embeddings"] = ours.vit.position_embedding.embedding
    names["decoder.decoder_pos_embed"] = ours.positions
    parts = {"vit.embeddings.patch_embeddings.projection": ours.vit.patch_embedding.projection}
    parts |= {"vit.layernorm": ours.vit.head.norm, "decoder.decoder_embed": ours.narrow}
    parts |= {"decoder.decoder_norm": ours.draw[0], "decoder.decoder_pred": ours.draw[1]}
    for place, blocks in (("vit.layers", ours.vit.encoder.blocks), ("decoder.decoder_layers", ours.decoder.blocks)):
        for i, block in enumerate(blocks):
            for kind in ("weight", "bias"):
                split = getattr(block.attention.qkv, kind).chunk(3)
                names |= {f"{place}.{i}.attention.{n}_proj.{kind}": x for n, x in zip("qkv", split, strict=True)}
            parts |= {f"{place}.{i}.attention.o_proj": block.attention.out, f"{place}.{i}.mlp.fc1": block.mlp.fc1}
            parts |= {f"{place}.{i}.mlp.fc2": block.mlp.fc2, f"{place}.{i}.layernorm_before": block.norm1}
            parts |= {f"{place}.{i}.layernorm_after": block.norm2}
    names |= {f"{place}.{kind}": getattr(part, kind) for place, part in parts.items() for kind in ("weight", "bias")}
    model = ViTMAEForPreTraining(config)
    for name, tensor in names.items():
        if "decoder_pred" in name:  # (C P P) -> (P P C)
            tensor = tensor.unflatten(0, (c.in_channels, -1)).transpose(0, 1).flatten(0, 1)
        state[name] = tensor.reshape(model.state_dict()[name].shape)
    model.load_state_dict(state)
    return model.eval()


@pytest.mark.parametrize("config", [TINY, replace(TINY, image_size=8, in_channels=1, embed_dim=24, depth=3)])
def test_drawing_and_loss_are_transformers(config):
    ours = with_noise(MaskedAutoencoder(ViT(config), 8, 2, 4), size=0.2)
    images, _ = example(config)
    noise = torch.rand(len(images), config.num_tokens - 1)
    with torch.no_grad():
        expected = theirs(ours)(images, noise=1 - noise)  # it keeps the smallest, ours hides them
        hidden = random_masks(noise, 0.5)
        drawn = ours(images, hidden)
    assert torch.equal(hidden, expected.mask.bool())
    channel_last = drawn.unflatten(2, (config.in_channels, -1)).transpose(2, 3).flatten(2)
    assert difference(channel_last, expected.logits) < 1e-5
    assert masked_loss(drawn, images, hidden, config.patch_size).item() == pytest.approx(expected.loss.item(), rel=1e-5)


@pytest.mark.parametrize("config", [TINY, OBLONG])
def test_what_is_hidden_changes_nothing_and_what_is_seen_does(config):
    model = with_noise(MaskedAutoencoder(ViT(config), 8), size=0.2)
    images, hidden = example(config)
    patches = patchify(images, config.patch_size)
    where = hidden[..., None].expand_as(patches)
    grid, P = config.grid, config.patch_size

    def drawn(patches):
        pictures = patches.unflatten(1, grid).unflatten(-1, (config.in_channels, P, P))
        return model(pictures.permute(0, 3, 1, 4, 2, 5).reshape(images.shape), hidden)

    plain = drawn(patches)
    assert torch.equal(plain, model(images, hidden))
    assert torch.equal(drawn(torch.where(where, torch.randn_like(patches), patches)), plain)
    assert (drawn(torch.where(where, patches, patches + 1)) - plain).abs().amin(dim=(1, 2)).min() > 0
    one_by_one = [model(image[None], mask[None]) for image, mask in zip(images, hidden, strict=True)]
    assert torch.allclose(torch.cat(one_by_one), plain, atol=1e-5)


@pytest.mark.parametrize(("N", "share"), [(49, 0.75), (49, 0.01), (16, 0.97), (7, 0.5)])
def test_masks_hide_the_smallest_and_as_many_in_each_image(N, share):
    noise = torch.rand(20, N)
    count = round(share * N)
    limit = noise.sort(dim=1).values[:, count - 1 : count] if count else noise.new_full((20, 1), -1)
    if 0 < count < N:
        assert torch.equal(random_masks(noise, share), noise <= limit)
    else:
        with pytest.raises(ValueError, match=rf"share: expected to hide some of {N} patches.* got {share}"):
            random_masks(noise, share)


REFUSED = {
    "a share of 0": (lambda: random_masks(torch.rand(2, 49), 0.0), "share: .* got 0.0, which hides 0"),
    "a share of 1": (lambda: random_masks(torch.rand(2, 49), 1.0), "share: .* got 1.0, which hides 49"),
    "per cent": (lambda: random_masks(torch.rand(2, 49), 75), "share: .* got 75, which hides 3675"),
    "pool": (
        lambda: MaskedAutoencoder(ViT(replace(TINY, pool="mean")))(*example(TINY)),
        'vit: expected pool="cls".* got pool="mean"',
    ),
    "a mask for others": (lambda: draw_with(torch.ones(5, 9, dtype=torch.bool)), r"hidden: expected bool \(5, 16\)"),
    "numbers": (lambda: draw_with(example(TINY)[1].float()), r"hidden: expected bool .* got torch.float32 \(5, 16\)"),
    "rows": (lambda: draw_with(torch.rand(5, 16) < torch.arange(5)[:, None] / 9), "hidden: .* in each image"),
    "all": (lambda: draw_with(torch.ones(5, 16, dtype=torch.bool)), r"hidden: .* some and not all, got \[16\]"),
    "none": (lambda: draw_with(torch.zeros(5, 16, dtype=torch.bool)), r"hidden: .* some and not all, got \[0\]"),
    "other images": (lambda: draw_with(example(TINY)[1], torch.randn(5, 3, 18, 16)), r"images: expected \('B', 3, 16"),
    "other sizes": (lambda: draw_with(example(TINY)[1], torch.randn(5, 3, 32, 8)), r"images: expected \('B', 3, 16"),
    "one image": (lambda: draw_with(example(TINY)[1], torch.randn(1, 3, 16, 16)), r"hidden: expected bool \(1, 16\)"),
}


def draw_with(hidden, images=None):
    return MaskedAutoencoder(ViT(TINY))(example(TINY)[0] if images is None else images, hidden)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(kind):
    call, words = REFUSED[kind]
    with pytest.raises(ValueError, match=words):
        call()


def test_dino_s_loss_is_the_papers_and_the_teacher_gets_no_gradient():
    chance = torch.Generator().manual_seed(0)
    for B, K, sharp, soft in ((4, 7, 0.04, 0.1), (1, 30, 0.07, 0.2)):
        student, teacher = (torch.randn(B, K, generator=chance, requires_grad=True) for _ in range(2))
        centre = torch.randn(K, generator=chance)
        loss = dino_loss(student, teacher, centre, sharp, soft)
        expected = 0.0
        for s, t in zip(student.double().tolist(), teacher.double().tolist(), strict=True):
            target = [math.exp((a - c) / sharp) for a, c in zip(t, centre.double().tolist(), strict=True)]
            total = math.log(sum(math.exp(a / soft) for a in s))
            expected -= sum(p / sum(target) * (a / soft - total) for p, a in zip(target, s, strict=True)) / B
        assert loss.item() == pytest.approx(expected, rel=1e-4)
        loss.backward()
        assert teacher.grad is None and student.grad.abs().min() > 0


def test_the_teacher_follows():
    teacher, student = nn.Linear(3, 2), nn.Linear(3, 2)
    before = [p.clone() for p in teacher.parameters()]
    follow(teacher, student, 0.9)
    for now, old, goal in zip(teacher.parameters(), before, student.parameters(), strict=True):
        assert torch.allclose(now, 0.9 * old + 0.1 * goal)
    follow(teacher, student, 0.0)
    assert all(torch.equal(a, b) for a, b in zip(teacher.parameters(), student.parameters(), strict=True))


def test_training_learns_and_is_the_same_again():
    images = torch.randn(1, 3, 16, 16).expand(64, -1, -1, -1).contiguous()  # one picture: it can be known by heart
    runs = []
    for _ in range(2):
        torch.manual_seed(0)
        model = MaskedAutoencoder(ViT(TINY), 16)
        runs.append(pretrain(model, images, Recipe(epochs=60, batch_size=32, learning_rate=5e-3, shift=0), 0.75))
    assert torch.equal(*runs) and len(runs[0]) == 120
    assert runs[0][-10:].mean() < 0.2 * runs[0][:3].mean()


def test_features_are_the_mean_of_the_patches_after_the_last_norm():
    for config in (TINY, replace(OBLONG, pool="mean")):
        vit, (images, _) = with_noise(ViT(config)), example(TINY if config is TINY else OBLONG)
        kept = {}
        vit.head.norm.register_forward_hook(lambda module, args, tokens, kept=kept: kept.update(tokens=tokens))
        vit(images)
        expected = kept["tokens"][:, config.num_prefix :].mean(dim=1)
        assert torch.allclose(features(vit, images), expected, atol=1e-6)


def test_the_shipped_model_draws_new_digits_better_than_their_average():
    model, images = shipped(), data.normalise(data.mnist("test")[0][:500])
    hidden = random_masks(torch.rand(500, 49, generator=torch.Generator().manual_seed(0)), 0.75)
    with torch.no_grad():
        found = masked_loss(model(images, hidden), images, hidden, 4)
    target = patchify(images, 4)
    average = F.mse_loss(target.mean(dim=0).expand_as(target)[hidden], target[hidden])
    assert found < 0.6 * average
