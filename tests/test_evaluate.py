"""How well a model does, beside scikit-learn; what it cannot be tested or trained on is refused."""

import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import accuracy_score, log_loss

from tests.border import refused
from tests.train.runs import QUICK, digits, small
from vit_tutorial import data, interpret
from vit_tutorial.evaluate import eval_mode, evaluate, predict
from vit_tutorial.train import fit
from vit_tutorial.train.finetune import probe


def test_eval_mode_gives_each_module_its_own_mode_back():
    model = small(dropout=0.5)
    model.train().encoder.blocks[0].eval()
    modes = [module.training for module in model.modules()]
    with eval_mode(model):
        assert not any(module.training for module in model.modules())
    predict(model, digits()[0])
    with pytest.raises(KeyboardInterrupt), eval_mode(model):
        raise KeyboardInterrupt
    assert [module.training for module in model.modules()] == modes and len(set(modes)) == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_answer_that_is_no_number_has_no_accuracy(value):
    model = small()
    model.head.linear.bias.data[3] = value
    with pytest.raises(FloatingPointError, match="logits: a NaN or an infinity"):
        evaluate(model, *digits())


def test_evaluate_equals_scikit_learn():
    model, (images, labels) = small(), digits()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    logits = predict(model.train(), images, batch_size=7)
    assert model.training and torch.allclose(logits, model.eval()(images), atol=1e-5)
    measured = evaluate(model, images, labels)
    assert measured["test_accuracy"] == accuracy_score(labels, logits.argmax(1))
    assert abs(measured["test_loss"] - log_loss(labels, logits.double().softmax(1), labels=range(10))) < 1e-4


def spoilt(value: float):
    return lambda x, y: (x.index_fill(0, torch.tensor([7]), value), y)


TYPE, SHAPE = (
    "images, labels: expected torch.float32 and int64, got ",
    r"images, labels: expected \(n, C, H, W\) and \(n,\)",
)
EXAMPLES = {  # what is made of the digits, and what is said of it
    "bytes": (lambda x, y: (x.byte(), y), f"{TYPE}torch.uint8"),
    "float64": (lambda x, y: (x.double(), y), f"{TYPE}torch.float64"),
    "complex": (lambda x, y: (x.to(torch.complex64), y), f"{TYPE}torch.complex64"),
    "float labels": (lambda x, y: (x, y.float()), f"{TYPE}torch.float32 and torch.float32"),
    "int32 labels": (lambda x, y: (x, y.int()), f"{TYPE}torch.float32 and torch.int32"),
    "no images": (lambda x, y: (None, y), "images: expected a tensor, got NoneType"),
    "no labels": (lambda x, y: (x, None), "labels: expected a tensor, got NoneType"),
    "an array": (lambda x, y: (x.numpy(), y), "images: expected a tensor, got ndarray"),
    "sparse": (lambda x, y: (x.to_sparse(), y), "images: expected a tensor, got torch.sparse_coo, on cpu"),
    "on meta": (lambda x, y: (x.to("meta"), y), "images: expected a tensor, got torch.strided, on meta"),
    "labels on meta": (lambda x, y: (x, y.to("meta")), "labels: expected a tensor, got torch.strided, on meta"),
    "a label less": (lambda x, y: (x, y[:-1]), rf"{SHAPE}, .* got \(320, 1, 28, 28\) and \(319,\)"),
    "one-hot": (lambda x, y: (x, F.one_hot(y)), rf"{SHAPE}, .* got \(320, 1, 28, 28\) and \(320, 10\)"),
    "one image": (lambda x, y: (x[0], y), rf"{SHAPE}, n at least 1, got \(1, 28, 28\)"),
    "five axes": (lambda x, y: (x[None], y), rf"{SHAPE}, n at least 1, got \(1, 320, 1, 28, 28\)"),
    "none": (lambda x, y: (x[:0], y[:0]), rf"{SHAPE}, n at least 1, got \(0, 1, 28, 28\) and \(0,\)"),
    "another size": (lambda x, y: (x[..., :14, :14], y), r"images: expected \(1, 28, 28\) each, got \(1, 14, 14\)"),
    "a NaN": (spoilt(float("nan")), "images: expected finite numbers, image 7 holds a NaN or an infinity"),
    "an infinity": (spoilt(float("inf")), "images: expected finite numbers, image 7 holds a NaN or an infinity"),
    "labels too high": (lambda x, y: (x, y + 1), "labels: expected 0 to 9, got 1 to 10"),
    "labels below 0": (lambda x, y: (x, y - 1), "labels: expected 0 to 9, got -1 to 8"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_that_do_not_fit_are_refused(name):
    change, words = EXAMPLES[name]
    model, given = small(), change(*digits())
    for call, where in [
        (lambda: fit(model, *given, QUICK), ""),
        (lambda: fit(model, *digits(), QUICK, given), "test "),
        (lambda: evaluate(model, *given), ""),
        (lambda: probe(model, *given), ""),
    ]:
        with refused(f"^{where}{words}", model, error=(TypeError, ValueError)):
            call()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_a_gpu_gives_nearly_what_the_processor_gives():
    on_cpu, on_gpu = small(), small().cuda()
    maps = interpret.attention_maps(on_gpu, digits()[0]).cpu()
    torch.testing.assert_close(maps, interpret.attention_maps(on_cpu, digits()[0]), rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(predict(on_gpu, digits()[0]), predict(on_cpu, digits()[0]), rtol=1e-2, atol=1e-3)


def test_normalise_takes_raw_pixels_only():
    images = data.mnist("train")[0][::6]
    floats = data.normalise(images)
    assert floats.dtype == torch.float32 and abs(floats.mean()) < 0.05 and abs(floats.std() - 1) < 0.05
    with pytest.raises(TypeError, match=r"images: expected uint8 from 0 to 255, got torch\.float32"):
        data.normalise(floats)
