"""How well a model does, beside scikit-learn; what it cannot be tested or trained on is refused."""

import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss

from tests.train.runs import digits, small
from vit_tutorial import data, interpret
from vit_tutorial.evaluate import eval_mode, evaluate, predict


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_a_gpu_gives_nearly_what_the_processor_gives():
    on_cpu, on_gpu = small(), small().cuda()
    maps = interpret.attention_maps(on_gpu, digits()[0]).cpu()
    torch.testing.assert_close(maps, interpret.attention_maps(on_cpu, digits()[0]), rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(predict(on_gpu, digits()[0]), predict(on_cpu, digits()[0]), rtol=1e-2, atol=1e-3)


def test_normalised_digits_have_a_mean_of_0_and_a_spread_of_1():
    images = data.mnist("train")[0][::6]
    floats = data.normalise(images)
    assert floats.dtype == torch.float32 and abs(floats.mean()) < 0.05 and abs(floats.std() - 1) < 0.05
