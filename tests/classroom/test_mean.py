"""Answers without all points hear why, and what ends, loops or changes what others need costs its own exercise at most.

To add one: a line in MEAN, for an exercise that has none yet. In its cell `{}` is our answer. In the notebook, the
check had said "right" to all of them.
"""

import inspect
import re

import pytest
from nbformat.v4 import new_code_cell

from classroom.grade import judge
from vit_tutorial.checks import EXERCISES

WRAPPED = "{}\nours = %s\ndef %s(*given):\n    return %s"
SETTINGS = "torch.set_default_dtype(torch.float64), torch.set_default_device('meta'), torch.set_grad_enabled(False)"
MEAN = {  # by exercise: the answer's cell, the kind of its verdict, words for the student, and for the teacher
    "vote": ("{}\nexit()", "right", "leaves exit() or quit() behind", "undone: exit() or quit()"),
    "patchify": ("import sys\n{}\nsys.exit('done')", "right", "", "undone: exit()"),
    "unpatchify": ("{}\nwhile True: pass", "stopped", "an endless loop?", "stopped"),
    "restore": ("import time\n{}\ntime.sleep(10**6)", "stopped", "an endless loop?", "stopped"),
    "feature_map": ("{}\nraise KeyboardInterrupt", "right", "", ""),
    "sincos1d": ("def sincos1d(x, dim):\n    exit()", "stopped", "calls exit() or quit()", "stopped"),
    "crop_positions": ("import os\n{}\nos._exit(0)", "stopped", "Your code ended the process", "stopped"),
    "our_order": ("import ctypes\n{}\nctypes.string_at(0)", "stopped", "Your code ended the process", "stopped"),
    "rollout": ("import os, time\n{}\nos.kill(os.getppid(), 9), time.sleep(9)", "stopped", "Your code", "stopped"),
    "fuse": ("import os\n{}\nos.kill(os.getppid(), 9)", "right", "", ""),
    "hide": ("import os\n{}\nos.fork()", "right", "", ""),
    "masked_attention": (f"{{}}\n{SETTINGS}", "right", "That was undone", "undone: torch.set_default_dtype, "),
    "cross_attention": ("{}\ntorch.allclose = lambda *_, **__: True", "right", "", "changes torch.allclose"),
    "mended_windows": ("import builtins\n{}\nbuiltins.print = builtins.sum = None", "right", "", "changes builtins.p"),
    "stochastic_depth": ("{}\ntorch.backends.cudnn.allow_tf32 = False", "right", "", ""),  # a setting, as in lesson 07
    "halve": ("{}\ninput('ready?')", "right", "", ""),
    "between": ("import threading\n{}\nthreading.Thread(target=threading.Event().wait).start()", "right", "", ""),
    "when_to_stop": ("import sys\n{}\nsys.stdout.close(), sys.stdin.close()", "right", "", ""),
    "num_tokens": ("limit = torch.ones(3).sum()\n{}", "right", "", ""),
    "race": ("def my_race(*_):\n    return limit", "stopped", "Compute them in", "another cell's variable, stopped"),
    "explained": ("def explained(*_)\n    return 1", "stopped", "SyntaxError: expected ':' (your cell", "stopped"),
    "freeze": ("found = 1", "stopped", "'freeze' is not defined. Variables from other", "another cell's variable"),
    "leaks": ("def leaks(*_):\n    raise NotImplementedError()", "empty", "nothing is written yet", "empty"),
    "mended_loss": ("%%time\ndef mended_loss(x, labels):\n    return x", "described", "mended_loss: ", 'said "right"'),
    "attention": (
        WRAPPED % (2 * ("my_attention",) + ("ours(*given).detach().numpy()",)),
        "one mistake named", "its numbers are right, but return a tensor", 'said "right" in the notebook',
    ),
    "layer_norm": (
        WRAPPED % (2 * ("my_layer_norm",) + ("(ours(*given), given[0].zero_())[0]",)),
        "one mistake named", "the argument `x` is changed in place", 'said "right" in the notebook',
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def found():
    """The verdicts on all of them in one notebook."""
    texts = [inspect.getsource(inspect.getmodule(EXERCISES[name].solution)) for name in MEAN]
    imports = "\n".join(re.findall(r"^(?:from|import) .*", "\n".join(texts), re.MULTILINE))
    imports = imports.replace("from .... ", "from vit_tutorial ").replace("from ....", "from vit_tutorial.")
    cells = [new_code_cell(imports)]
    for name, (code, *_) in MEAN.items():
        answer = code.replace("{}", EXERCISES[name].source)
        cells.append(new_code_cell(answer, metadata={"nbgrader": {"solution": True}}))
        who = EXERCISES[name].solution.__name__
        cells.append(new_code_cell(f"checks.{name}({who})", metadata={"nbgrader": {"grade": True}, "was_right": True}))
    return judge.verdicts(cells, 5)


@pytest.mark.parametrize("name", MEAN)
def test_a_mean_cell_costs_its_own_exercise_at_most(found, name):
    _, kind, words, look = MEAN[name]
    given = found[name]
    assert given.kind == kind, given
    assert words in f"{given.text}\n{given.note}" and (look in given.look if look else not given.look), given
