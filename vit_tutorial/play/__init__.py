"""The games of the lessons: `from vit_tutorial.play import beat_the_map`. Each can be clicked, or played by calls."""

from . import (
    beat_the_map,
    blindfold,
    clinic,
    clocks,
    drag,
    envelope,
    golf,
    how_few,
    hunt,
    jigsaw,
    race_track,
    rent,
    three_pixels,
    unscramble,
    whodunit,
    workshop,
)

__all__ = [
    "beat_the_map",
    "blindfold",
    "clinic",
    "clocks",
    "drag",
    "envelope",
    "golf",
    "how_few",
    "hunt",
    "jigsaw",
    "race_track",
    "rent",
    "three_pixels",
    "unscramble",
    "whodunit",
    "workshop",
]
