"""forward.js against PyTorch, in a browser: whole and with parts left out, other sizes, half precision, files."""

import base64
from dataclasses import asdict

import numpy as np
import pytest
import torch

from tests.widgets.broken_model import shuffled, without
from vit_tutorial import ViT, ViTConfig, data, files, weights
from vit_tutorial.widgets import frame_digit
from vit_tutorial.widgets.whole import SCALE, script

BYTES = "const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));"
ORDER = torch.randperm(49, generator=torch.Generator().manual_seed(0)).tolist()
OFF = {
    "nothing": {},
    "two heads": {"heads": ["0.1", "4.3"]},
    "attention": {"attentions": [1]},
    "two MLPs": {"mlps": [0, 5]},
    "positions": {"positions": True},
    "positions and order": {"positions": True, "order": ORDER},
    "class token": {"cls": True},
    "class token, order, a head, an MLP": {"cls": True, "order": ORDER, "heads": ["3.2"], "mlps": [2]},
}


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    page.add_script_tag(content=script() + BYTES)
    yield page
    page.close()


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def computed(page, path, images, off, scale=SCALE):
    """What the page computes for each image: logits, tokens that enter, maps of all blocks."""
    answer = page.evaluate(
        """([file, images, off, scale]) => {
            const model = ViT.read(bytes(file)), list = (x) => [...x];
            return images.map((image) => {
                const all = ViT.forward(model, bytes(image), scale, off);
                return {
                    logits: list(all.lens.at(-1)), tokens: list(all.stream[0]),
                    maps: all.blocks.flatMap(({ weights }) => weights.map(list)),
                };
            });
        }""",
        [text(path.read_bytes()), [text(image.numpy().tobytes()) for image in images], off, list(scale)],
    )
    return {name: torch.tensor([one[name] for one in answer], dtype=torch.float32) for name in answer[0]}


@torch.no_grad()
def check(page, path, model, images, off, scale=SCALE):
    got, x = computed(page, path, images, off, scale), data.normalise(images, *scale)
    if "order" in off:
        x = shuffled(x, off["order"], model.config.patch_size)
    tokens, maps = [], []
    hooks = [model.encoder.register_forward_pre_hook(lambda module, inputs: tokens.append(inputs[0]), prepend=False)]
    with without(model, off):
        for block in model.encoder.blocks:
            look = lambda module, inputs: maps.append(module.weights(inputs[0]))  # noqa: E731
            hooks.append(block.attention.register_forward_pre_hook(look))
        logits = model(x)
    for hook in hooks:
        hook.remove()
    torch.testing.assert_close(got["logits"], logits, rtol=0, atol=1e-5)
    maps = torch.stack(maps, 1).flatten(1, 2).flatten(2)  # (B, L, h, N, N) -> (B, L*h, N*N)
    torch.testing.assert_close(got["maps"], maps, rtol=0, atol=1e-5)
    if not off.get("cls"):  # else what was remembered still has it
        torch.testing.assert_close(got["tokens"], tokens[0].flatten(1), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", OFF)
def test_our_model_whole_and_with_parts_left_out(page, name):
    path = data.path("vit_mnist.safetensors")
    images = data.mnist("test")[0][: 8 if name == "nothing" else 4]
    check(page, path, weights.load(path), images, OFF[name])


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(
    "size, P, C, classes, D, depth, heads, mlp, pool, position",
    [
        (28, 7, 1, 10, 24, 2, 3, 20, "mean", "learned"),
        (12, 2, 3, 3, 8, 1, 1, 5, "cls", "sincos2d"),
        (28, 28, 1, 7, 12, 3, 4, 9, "mean", "sincos2d"),
        (32, 16, 3, 10, 40, 2, 5, 33, "cls", "learned"),
    ],
)
def test_models_of_other_sizes(page, tmp_path, half, size, P, C, classes, D, depth, heads, mlp, pool, position):
    torch.manual_seed(size + P)
    model = ViT(ViTConfig(size, P, C, classes, D, depth, heads, mlp, pool=pool, position=position)).eval()
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    weights.save(model.half() if half else model, tmp_path / "model.safetensors")
    images = torch.randint(256, (3, C, size, size), dtype=torch.uint8)
    off = {"heads": [f"0.{heads - 1}"], "mlps": [depth - 1]}
    check(page, tmp_path / "model.safetensors", weights.load(tmp_path / "model.safetensors"), images, off, (0.4, 0.3))


def test_what_a_file_does_not_say_has_its_default(page, tmp_path):
    config = ViTConfig(embed_dim=12)
    files.save(tmp_path / "x", ViT(config).state_dict(), {"vit_config": '{"embed_dim": 12}'})
    read = page.evaluate("file => ViT.read(bytes(file)).config", text((tmp_path / "x").read_bytes()))
    assert read | {"representation_size": None} == asdict(config)


def test_the_fast_product_is_the_plain_one(page):
    for N, K, M in [(1, 1, 1), (1, 5, 4), (2, 3, 1), (3, 7, 5), (5, 2, 3), (7, 6, 9), (50, 64, 192)]:
        x, w, b = (torch.randn(shape) for shape in ((N, K), (M, K), (M,)))
        ours, plain = page.evaluate(
            """([x, w, b]) => {
                const lists = [x, w, b].map((list) => new Float32Array(list));
                return [ViT.linear, ViT.linearPlain].map((f) => [...f(...lists)]);
            }""",
            [x.flatten().tolist(), w.flatten().tolist(), b.tolist()],
        )
        torch.testing.assert_close(torch.tensor(ours), (x @ w.mT + b).flatten(), rtol=1e-5, atol=1e-5)
        assert ours == plain


def test_a_file_that_is_no_model_of_ours_is_refused_in_one_line(page, tmp_path):
    model, path = ViT(ViTConfig(28, 14, 1, 10, 8, 1, 2, 8)), tmp_path / "model.safetensors"
    weights.save(model, path)
    whole = path.read_bytes()
    (tmp_path / "big").mkdir()
    weights.save(ViT(ViTConfig(28, 14, 1, 10, 8, 1, 2, 8, representation_size=9)), tmp_path / "big" / "a")
    weights.save(ViT(ViTConfig((28, 14), 14, 1, 10, 8, 1, 2, 8)), tmp_path / "big" / "b")
    torch.manual_seed(0)
    cases = {
        b"": "was not written by weights.save",
        b"\x89PNG\r\n\x1a\n" * 9: "was not written by weights.save",
        whole[:-4]: "head.norm.weight|expected F32 or F16, whole",
        whole.replace(b'"F32"', b'"I32"', 1): "expected F32 or F16, whole",
        whole.replace(b"[32,8]", b"[8,32]").replace(b"[24,8]", b"[8,24]"): r": expected 24,8, got 8,24",
        (tmp_path / "big" / "a").read_bytes(): "not one with representation_size",
        (tmp_path / "big" / "b").read_bytes(): "square pictures only",
    }
    for content, words in cases.items():
        said = page.evaluate(
            "file => { try { ViT.read(bytes(file)); return 'read'; } catch (error) { return error.message; } }",
            text(content),
        )
        assert any(word in said for word in words.split("|")) and "\n" not in said, (words, said)


def test_a_drawing_is_framed_as_the_package_frames_it(page):
    images, chance = data.mnist("test")[0][:300, 0], np.random.default_rng(0)
    drawings = [image.numpy() for image in images]
    for _ in range(60):  # strokes and lone pixels, tall, flat, small, large
        side = int(chance.choice([28, 60, 112]))
        drawing, (h, w) = np.zeros((side, side), np.uint8), chance.integers(1, side, 2)
        top, left = chance.integers(0, side - h + 1), chance.integers(0, side - w + 1)
        drawing[top : top + h, left : left + w] = chance.integers(0, 256, (h, w)) * (chance.random((h, w)) < 0.3)
        drawings.append(drawing)
    drawings.append(np.zeros((112, 112), np.uint8))
    framed = page.evaluate(
        "all => all.map(([ink, side]) => [...frameDigit(bytes(ink), side)])",
        [[text(drawing.tobytes()), len(drawing)] for drawing in drawings],
    )
    ours = [frame_digit(torch.from_numpy(drawing)).flatten().tolist() for drawing in drawings]
    assert framed[:300] == ours[:300] and framed[-1] == ours[-1]
    assert np.abs(np.array(framed) - ours).max() <= 1
