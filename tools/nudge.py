"""Would another machine's rounding turn a lesson red? python -m tools.nudge [05 08 ...] [--nudges 3]

Each lesson runs against its stored outputs as in the tests, but the first step of each optimiser finds its parameters
moved by 1e-7 of their size: what sums in another order do. Training makes a difference of that size grow, and a bound
that is too narrow for it fails here. What compares two runs bit for bit fails rightly (08, 13): there the nudge itself
is the difference. The ids of failing cells are printed. A lesson takes as long as it runs.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from . import ROOT, pick, surroundings
from .environments import cell_id

STARTUP = """
def nudged():
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    @torch.no_grad()
    def nudge(optimizer, *_):
        if hasattr(optimizer, "nudged"):
            return
        optimizer.nudged = True
        chance = torch.Generator().manual_seed({seed})
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.mul_(1 + 1e-7 * torch.randn(p.shape, generator=chance).to(p.device, p.dtype))

    register_optimizer_step_pre_hook(nudge)


nudged()
"""


def failing(path: Path, seed: int) -> list[str]:
    """The ids of the lesson's cells that fail when this nudge is given."""
    with tempfile.TemporaryDirectory() as home:
        startup, report = Path(home, "profile_default", "startup"), Path(home, "report.xml")
        startup.mkdir(parents=True)
        (startup / "nudge.py").write_text(STARTUP.format(seed=seed), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-n0", f"--junit-xml={report}", path]
        done = subprocess.run(command, cwd=ROOT, env=surroundings(IPYTHONDIR=home), capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"pytest ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
        tests = ElementTree.parse(report).iter("testcase")
        return [cell_id(test) for test in tests if {"failure", "error"} & {part.tag for part in test}]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", metavar="NN", help="these alone")
    parser.add_argument("--nudges", type=int, default=1, help="how many different ones")
    options, failed = parser.parse_args(), False
    for path in pick(parser, options.lessons):
        for seed in range(options.nudges):
            cells = failing(path, seed)
            print(f"{path.stem}, nudge {seed}: {len(cells)} failed", *cells, flush=True)
            failed |= bool(cells)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
