"""Lesson 00's game, three pixels: change as few pixels of a digit as you can, so that the model reads another one."""

from base64 import b64encode
from collections.abc import Callable

import torch
from torch import Tensor

from .. import data, plots
from .beat_the_map import a
from .patches import PatchBoard, league

SIDE = 28
LEVELS = {"4 → 9": (4, 9), "1 → 7": (2, 7), "3 → 8": (18, 8)}  # the digit's place in the test set, and its goal
MACHINE = "the machine moves"
Read = Callable[[Tensor], Tensor]  # bytes (B, 1, 28, 28) -> probabilities (B, 10)


def changed(image: Tensor, pixels: list[int]) -> Tensor:
    """A copy of (1, 28, 28), uint8, with some pixels changed, counted row by row: the dark turn 255, the others 0."""
    flat = image.flatten().clone()
    flat[pixels] = torch.where(flat[pixels] < 128, 255, 0).to(torch.uint8)
    return flat.reshape(image.shape)


def greedy(read: Read, image: Tensor, chosen: list[int], goal: int) -> int:
    """The pixel that makes the goal most probable, if it is changed after the `chosen` ones."""
    left = [n for n in range(SIDE * SIDE) if n not in chosen]
    tries = torch.stack([changed(image, [*chosen, n]) for n in left])
    return left[torch.cat([read(part)[:, goal] for part in tries.split(196)]).argmax()]


class ThreePixels(PatchBoard):
    """Three digits to turn into another one. A click turns a dark pixel white and a bright one black, and a second
    click takes it back. The machine is greedy: it takes the pixel that helps most, and then the next.

    Without a mouse: `board.click((3, 9), (0, 0))`, by row and column, `board.choose(turn="1 → 7")`, `board.do("undo")`.
    """

    def __init__(self, read: Read):
        self.read, self.best, self.helped = read, {}, False  # your fewest pixels, by level
        self.machine = {name: len(pixels) for name, pixels in data.result("three_pixels")["greedy"].items()}
        start = {"turn": next(iter(LEVELS))}
        moves = {"undo": self.undo, "again": self.clear, MACHINE: self.machine_moves}
        super().__init__((SIDE, SIDE), {"turn": [*LEVELS]}, start, moves)
        self.part = "pixel"
        self.show()

    def level(self) -> tuple[Tensor, int]:
        """The digit, (1, 28, 28), and its goal."""
        place, goal = LEVELS[self.picked["turn"]]
        return data.mnist("test")[0][place], goal

    def show(self) -> None:
        (image, goal), name, count = self.level(), self.picked["turn"], len(self.chosen)
        self.helped = self.helped and count > 0
        image = changed(image, self.chosen)
        odds = self.read(image[None])[0]
        best = odds.argmax().item()
        self.draw(image, 0, 255)
        self.bars = [[str(n), p, f"{p:.0%}"] for n, p in enumerate(odds.tolist())]
        self.said = f"{name}: {count} of 784 pixels changed, and it reads {best} at {odds[best]:.0%}."
        if best != goal:
            self.said += f" {a(goal).capitalize()} is at {odds[goal]:.1%}. The machine needed {self.machine[name]}."
        elif self.helped:
            self.said += " Done, with the machine's help."
        else:
            self.best[name] = min(count, self.best.get(name, count))
            self.said += f" Done! The machine needed {self.machine[name]}."
        lines = {"you": [*self.best.values()], "machine": [self.machine[n] for n in self.best]}
        self.table = league("fewest pixels", [*self.best], lines)

    def click(self, *pixels: int | tuple[int, int]) -> "ThreePixels":
        """Change pixels, or change them back: (row, column) of each, from 0 to 27."""
        inside = [pixel for pixel in pixels if type(pixel) is tuple and len(pixel) == 2]
        for pixel in inside:
            if not all(type(n) is int and 0 <= n < SIDE for n in pixel):
                self.said = f"There is no pixel {pixel}: rows and columns are numbered from 0 to {SIDE - 1}."
                return self
        return super().click(*(SIDE * pixel[0] + pixel[1] if pixel in inside else pixel for pixel in pixels))

    def machine_moves(self) -> None:
        self.said, self.helped, (image, goal) = "It tries each pixel …", True, self.level()
        self.click(greedy(self.read, image, self.chosen, goal))

    def still(self) -> tuple[str, str]:
        figure, ((drawn, bars),) = plots.canvas(1, 2, 9, 4, xlabel="column", ylabel="row")
        drawn.imshow(self._image.squeeze(), cmap="gray", vmin=0, vmax=1)
        for n in self.chosen:
            corner = n % SIDE - 0.5, n // SIDE - 0.5
            drawn.add_patch(plots.plt.Rectangle(corner, 1, 1, fill=False, edgecolor=plots.BOX, lw=1.5))
        drawn.set(xticks=range(0, SIDE, 3), yticks=range(0, SIDE, 3))
        bars.bar([label for label, *_ in self.bars], [share for _, share, _ in self.bars], color=plots.SLATE)
        bars.set(ylim=(0, 1), xlabel="", ylabel="probability")
        figure.suptitle(self.said, fontsize=11)
        return b64encode(plots.png(figure)).decode(), self.said


def play(read: Read) -> ThreePixels:
    """The game; `read` turns bytes (B, 1, 28, 28) into probabilities (B, 10), as the lesson's own function does."""
    got = read(torch.zeros(2, 1, SIDE, SIDE, dtype=torch.uint8))
    if getattr(got, "shape", None) != (2, 10):
        raise ValueError(f"read: expected probabilities (2, 10) for 2 images, got {getattr(got, 'shape', got)}")
    return ThreePixels(read)
