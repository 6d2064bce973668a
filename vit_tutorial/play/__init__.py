"""The games of the lessons: `from vit_tutorial.play import beat_the_map`. Each can be clicked, or played by calls."""

from . import (
    beat_the_map,
    blindfold,
    clocks,
    envelope,
    golf,
    how_few,
    hunt,
    jigsaw,
    teach,
    three_pixels,
    unscramble,
    workshop,
)

__all__ = [
    "beat_the_map",
    "blindfold",
    "clocks",
    "envelope",
    "golf",
    "how_few",
    "hunt",
    "jigsaw",
    "teach",
    "three_pixels",
    "unscramble",
    "workshop",
]
