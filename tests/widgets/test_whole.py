"""The whole model as a widget: the reader's own model in a real JupyterLab, and what is refused or shown elsewhere."""

import pytest
import torch

from tests.widgets.browser import run_cell
from vit_tutorial import ViT, ViTConfig, data, weights
from vit_tutorial.modern import ModernConfig, ModernViT
from vit_tutorial.widgets import show_model

SIZES = {"image_size": 28, "patch_size": 7, "in_channels": 1, "num_classes": 10, "embed_dim": 16, "depth": 2}
SIZES |= {"num_heads": 2, "mlp_dim": 24}
CELLS = [
    "import torch\n"
    "from vit_tutorial import ViT, ViTConfig, data, weights\n"
    "from vit_tutorial.widgets import show_model\n"
    'example = data.mnist("test")[0][4]\n'
    'show_model(weights.load(data.path("vit_mnist.safetensors")), example)',
    "_ = torch.manual_seed(0)\n"
    f"own = ViT(ViTConfig(**{SIZES}))\n"
    "_ = own.head.linear.weight.data.normal_()\n"
    "show_model(own, example)",
    "shares = own.eval()(data.normalise(example[None])).softmax(-1)[0]\n"
    'print(f"It reads: {shares.argmax()}, {100 * shares.max():.0f} %")',
]


def says(page, nth, words):
    true = (
        "([nth, words]) => document.querySelectorAll('.whole-model')[nth].querySelector('.says').textContent === words"
    )
    page.wait_for_function(true, arg=[nth, words])


def test_two_models_in_one_notebook_each_with_its_own_answer(page):
    run_cell(page, 0)
    page.locator(".whole-model .nodes .node").nth(5).wait_for()
    run_cell(page, 1)
    page.locator(".whole-model").nth(1).locator(".nodes .node").nth(1).wait_for()
    expected = run_cell(page, 2)
    expected.get_by_text("It reads").wait_for()
    says(page, 0, "It reads: 4, 91 %")
    says(page, 1, expected.inner_text().strip())
    first, second = (page.locator(".whole-model").nth(n) for n in (0, 1))
    first.get_by_role("button", name="Clear").click()
    says(page, 0, "Empty. It would say: 1, 87 %")
    second.get_by_role("switch", name="MLP").click()
    page.wait_for_function("document.querySelectorAll('.whole-model [aria-checked=false]').length === 1")
    assert second.locator("[aria-checked=false]").count() == 1
    run_cell(page, 0)  # shown again, it is as at first
    says(page, 0, "It reads: 4, 91 %")
    assert not page.evaluate("location.hash")


def test_elsewhere_it_is_a_picture_with_words():
    shown, words = show_model(
        weights.load(data.path("vit_mnist.safetensors")), data.mnist("test")[0][4]
    )._repr_mimebundle_()
    assert shown["image/png"][:4] == b"\x89PNG" and "its answer: 4" in words["image/png"]["alt"]


def test_what_the_page_cannot_compute_is_refused():
    paper = torch.zeros(1, 28, 28, dtype=torch.uint8)
    for model in (
        ViT(ViTConfig(**SIZES, representation_size=9)),
        ModernViT(ModernConfig(**SIZES, num_registers=2)),
        ModernViT(ModernConfig(**SIZES, gelu="tanh")),
    ):
        with pytest.raises(ValueError, match="model: expected lesson 07's ViT, without representation_size, got"):
            show_model(model, paper)
    with pytest.raises(
        ValueError, match="model: expected one that reads ten digits of 1x28x28, got 10 classes of 1x14x"
    ):
        show_model(ViT(ViTConfig(**SIZES | {"image_size": 14})), paper)
    with pytest.raises(ValueError, match=r"example: expected \(1, 28, 28\) of uint8, got torch.float32"):
        show_model(ViT(ViTConfig(**SIZES)), paper.float())
    compiled = torch.compile(ViT(ViTConfig(**SIZES, pool="mean")).train(), backend="eager")
    assert show_model(compiled, paper).weights
