"""The experiments behind the lessons' figures: python -m experiments NAME [FOLDER]

What NAME measures stands at the top of experiments/NN_NAME.py. It goes to data/results/NAME.json, with the machine and
the date. What is there already is not measured again: delete the file to begin anew. FOLDER holds CIFAR-10, for those
that need its photos.
"""

import argparse
import importlib
import inspect
import os
from pathlib import Path

import torch


def main() -> None:
    scripts = {path.stem[3:]: path.stem for path in sorted(Path(__file__).parent.glob("[01][0-9]_*.py"))}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME", choices=scripts, help=", ".join(scripts))
    parser.add_argument("folder", metavar="FOLDER", nargs="?", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(1)  # so small a model gains little from more, and nothing from a GPU
    os.environ.setdefault("ACCELERATE_USE_CPU", "true")
    script = importlib.import_module(f"experiments.{scripts[chosen.name]}")
    arguments = {"folder": chosen.folder} if chosen.folder else {}
    if {*arguments} != {*inspect.signature(script.main).parameters}:
        parser.error(f"{chosen.name}: {'takes no folder' if arguments else 'expected the folder of CIFAR-10'}")
    script.main(**arguments)


if __name__ == "__main__":
    main()
