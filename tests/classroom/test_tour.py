"""Each number in the tour of the live model, computed again."""

import pytest
import torch

from classroom.make import live
from tests.widgets.broken_model import shuffled, without
from vit_tutorial import data, interpret, patchify
from vit_tutorial.evaluate import predict

MLPS = "The first MLP or the last?"


@pytest.fixture(scope="module")
def said():
    return {step["title"]: step["ask"] + " " + step["answer"] for step in live.tour()}


@torch.no_grad()
def right(model, off, images, labels):
    x = data.normalise(images)
    with without(model, off):
        return (predict(model, x).argmax(1) == labels).double().mean().item()


def test_the_sentences_about_one_drawing(said, model):
    images, labels = data.mnist("test")
    four = images[labels == 4][:1]
    with torch.no_grad():
        shares = model(data.normalise(four)).softmax(-1)[0]
    assert (
        f"{100 * shares.max():.0f} % to the 4" in said["Is it in doubt?"] and ((100 * shares).round() == 1).sum() == 9
    )
    with torch.no_grad():
        empty = model(data.normalise(torch.zeros_like(four))).softmax(-1)[0]
    assert f"{100 * empty.max():.0f} % to the {empty.argmax()}" in said["Nothing drawn"]
    ink = patchify(four, 4).amax(-1)[0] > 0
    assert not ink[6] and not ink[0] and ink[25]  # the tokens that two questions look from
    projected = model.patch_embedding(data.normalise(four))[0].detach()
    assert torch.equal(projected[0], projected[6])


@pytest.mark.long
def test_the_sentences_about_many(said, model):
    images, labels = (part[:2000] for part in data.mnist("test"))
    share = lambda off: f"{100 * right(model, off, images, labels):.1f} %"  # noqa: E731
    assert f"Without positions the model reads {share({'positions': True})} of 2000" in said["Does it know where?"]
    x = data.normalise(images[:200])
    order = torch.randperm(49, generator=torch.Generator().manual_seed(1)).tolist()
    with without(model, {"positions": True}):
        torch.testing.assert_close(predict(model, shuffled(x, order, 4)), predict(model, x), rtol=0, atol=5e-5)
    assert share({"cls": True}) in said["Is the class token needed?"]
    one = [right(model, {"mlps": [b]}, images, labels) for b in range(6)]
    assert f"first MLP it reads {100 * one[0]:.1f} % of 2000" in said[MLPS] and min(one[1:]) > 0.98
    assert f"the last it reads {100 * one[5]:.1f} %, as many as with it" in said[MLPS] and share({}) == share(
        {"mlps": [5]}
    )
    features = interpret.token_features(model, data.normalise(images))  # before and after each block
    with torch.no_grad():
        lens = [(model.head(tokens).argmax(1) == labels).double().mean().item() for tokens in features]
    _, *after, last = (f"{100 * p:.0f}" for p in lens)
    assert f"it reads {', '.join(after)} and {last} % of them" in said["When does it know?"]
    assert [f"{share}" for share in live.AFTER] == [*after, last]
    assert lens[3] < 0.9 < lens[4]


@pytest.mark.long
def test_no_head_is_needed_and_whom_a_patch_hears(said, model):
    images, labels = (part[:2000] for part in data.mnist("test"))
    heads = [right(model, {"heads": [f"{b}.{h}"]}, images, labels) for b in range(6) for h in range(4)]
    assert f"still reads at least {100 * min(heads):.1f} % of 2000" in said["A bright head"]
    x = data.normalise(images[:500])
    places = torch.cartesian_prod(torch.arange(7.0), torch.arange(7.0))
    near = (torch.cdist(places, places) < 1.5).float()
    ink = (patchify(images[:500], 4).amax(-1) > 0).float()
    found = []
    for maps in interpret.attention_maps(model, x)[[0, 2]].mean(2)[:, :, 1:, 1:]:
        around = (maps * near).sum(-1) / maps.sum(-1)  # (B, 49)
        found.append(100 * (around * ink).sum() / ink.sum())
    first, third = found
    assert f"spends {third:.0f} % of" in said["Neighbours"] and f"in block 1 it is {first:.0f} %" in said["Neighbours"]


def test_the_last_mlps_votes(said, model):
    images, _ = (part[:2000] for part in data.mnist("test"))
    x, thoughts = data.normalise(images), []
    keep = lambda module, inputs, output: thoughts.append(output[:, 0])  # noqa: E731
    hook = model.encoder.blocks[-1].mlp.register_forward_hook(keep)
    with torch.no_grad():
        tokens = interpret.token_features(model, x)[-1][:, 0]
        hook.remove()
        logits = model.head.linear(model.head.norm(tokens))
        size = (tokens.var(1, correction=0) + 1e-6).sqrt()[:, None]
        part = torch.cat(thoughts)
        votes = ((part - part.mean(1, keepdim=True)) / size * model.head.norm.weight) @ model.head.linear.weight.T
        size_without = ((tokens - part).var(1, correction=0) + 1e-6).sqrt()
    assert (size_without < size[:, 0]).double().mean() > 0.9  # "divides by less"
    winner = logits.argmax(1, keepdim=True)
    lead = lambda values: (values.gather(1, winner)[:, 0] - values.mean(1)).mean()  # noqa: E731
    assert f"{100 * lead(votes) / lead(logits):.0f} % of the winner's lead" in said[MLPS]
