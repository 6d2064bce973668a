"""How well a model does, beside scikit-learn; what it cannot be tested or trained on is refused."""

import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss

from tests.train.runs import QUICK, digits, same, small
from vit_tutorial import data, interpret
from vit_tutorial.evaluate import eval_mode, evaluate, predict
from vit_tutorial.train import fit


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


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda x, y: (data.mnist("test")[0][:320], y), TypeError, "expected torch.float32 and int64, got torch.uint8"),
        (lambda x, y: (x.double(), y), TypeError, "expected torch.float32 and int64, got torch.float64"),
        (lambda x, y: (x.numpy(), y), TypeError, "images: expected a tensor, got ndarray"),
        (lambda x, y: (x, y.float()), TypeError, "got torch.float32 and torch.float32"),
        (lambda x, y: (x, y[:-1]), ValueError, r"got \(320, 1, 28, 28\) and \(319,\)"),
        (lambda x, y: (x[0], y), ValueError, r"expected \(n, C, H, W\) and \(n,\), n at least 1, got \(1, 28, 28\)"),
        (lambda x, y: (x[:0], y[:0]), ValueError, "n at least 1"),
        (lambda x, y: (x, y + 1), ValueError, "labels: expected 0 to 9, got 1 to 10"),
        (lambda x, y: (x, y - 1), ValueError, "labels: expected 0 to 9, got -1 to 8"),
        (lambda x, y: (x.index_fill(0, torch.tensor([7]), float("nan")), y), ValueError, "image 7 holds a NaN"),
        (lambda x, y: (x[:, :, :14, :14], y), ValueError, r"images: expected \(1, 28, 28\) each, got \(1, 14, 14\)"),
    ],
)
def test_examples_that_do_not_fit_are_refused(change, error, words):
    model = small()
    with pytest.raises(error, match=words):
        fit(model, *change(*digits()), QUICK)
    test = change(*digits()) if "at least" not in words else (digits()[0][0], digits()[1])
    for call, where in [(lambda: fit(model, *digits(), QUICK, test), "^test "), (lambda: evaluate(model, *test), "^")]:
        with pytest.raises(error, match=where + ".*" + words):
            call()
    assert same(model, small())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_a_gpu_gives_nearly_what_the_processor_gives():
    on_cpu, on_gpu = small(), small().cuda()
    maps = interpret.attention_maps(on_gpu, digits()[0]).cpu()
    torch.testing.assert_close(maps, interpret.attention_maps(on_cpu, digits()[0]), rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(predict(on_gpu, digits()[0]), predict(on_cpu, digits()[0]), rtol=1e-2, atol=1e-3)


def test_normalise_takes_raw_pixels_only():
    images, _ = data.mnist("train")
    floats = data.normalise(images)
    assert floats.dtype == torch.float32 and abs(floats.mean()) < 1e-3 and abs(floats.std() - 1) < 1e-3
    with pytest.raises(TypeError, match=r"images: expected uint8 from 0 to 255, got torch\.float32"):
        data.normalise(floats)
