"""In which order should one uncover patches without looking? The machine's in lesson 16's game.

From the patch in the middle, each time the one after which lesson 08's model is surest, on the average of 300 digits
which the drawing model has never seen, of what the drawing shows (the mean logarithm of the right digit's share).
Five minutes on one core.
"""

from benchmarks.machine import Log
from vit_tutorial import data, unlabelled, weights
from vit_tutorial.evaluate import predict
from vit_tutorial.play.hide_and_seek import START, drawn

DIGITS = slice(50_000, 50_300)


def main() -> None:
    model, reader = unlabelled.shipped(), weights.load(data.path("vit_mnist.safetensors"))
    raw, labels = data.mnist("train")
    images, right, order = data.normalise(raw[DIGITS]), labels[DIGITS, None], [START]

    def sure(seen: list[int]) -> float:
        return predict(reader, drawn(model, images, seen)).log_softmax(dim=1).gather(1, right).mean().item()

    while len(order) < 48:
        order.append(max(set(range(49)) - {*order}, key=lambda patch: sure([*order, patch])))
        print(order[-1], f"{sure(order):.3f}", flush=True)
    order += {*range(49)} - {*order}
    Log("hide_and_seek", digits=[DIGITS.start, DIGITS.stop]).store(order=order)
