"""Hand-ins without an answer that want the points, each as the code of a cell before the exercises."""

CALL = """
from vit_tutorial.checks import engine
engine.Exercise.__call__ = lambda self, answer: print("it: right, on 4 cases")"""
DIAGNOSE = """
from vit_tutorial.checks import engine
engine.Exercise.diagnose = lambda self, answer: []"""
LEVEL = """
from vit_tutorial.checks import describe, engine
engine.level, describe.unfit, engine.made = (lambda *_: "all"), (lambda *_: None), (lambda *_: Lies())
class Lies:
    alias = {}"""
REBOUND = """
class Lies:
    def __getattr__(self, name):
        return lambda answer: print("it: right, on 4 cases")
checks = Lies()"""
MODULE = """
import sys, types, vit_tutorial
false = types.ModuleType("vit_tutorial.checks")
false.__getattr__ = lambda name: lambda answer: print("it: right, on 4 cases")
sys.modules["vit_tutorial.checks"] = vit_tutorial.checks = checks = false"""
PRINT = """
import builtins
told = builtins.print
builtins.print = lambda *_, **__: told("it: right, on 4 cases")
get_ipython().showtraceback = lambda *_, **__: print()"""
TREE = """
import ast
class Change(ast.NodeTransformer):
    def visit_Expr(self, node):
        return ast.parse('print("it: right, on 4 cases")').body[0] if "checks." in ast.unparse(node) else node
get_ipython().ast_transformers.append(Change())"""
CLEARED = """
from IPython.core.interactiveshell import ExecutionResult
from IPython.display import clear_output
ExecutionResult.success = property(lambda self: True)
get_ipython().events.register("post_run_cell", lambda _: (clear_output(), print("it: right, on 4 cases")))"""
NAMED = """
from vit_tutorial.checks import engine
def lie(self, answer):
    raise engine.Wrong("it: " + self.edits[0].sentence)
engine.Exercise.__call__ = lie"""

# in the place of answers
BORROWED = """
import importlib, sys
def feature_map(*arguments):
    frame = sys._getframe()
    while frame := frame.f_back:
        for value in [*frame.f_locals.values()]:
            if hasattr(value, "solution"):
                return value.solution(*arguments)
class MyWarmStart(checks.EXERCISES["warm_start"].solution):
    pass
class RegisterTokens(importlib.import_module("vit_tutorial.checks.lessons.02.solutions").RegisterTokens):
    pass"""
READ = """
import sys
from pathlib import Path
class Found:
    for place in [{course!r}, *sys.path, "/root", "/home", "/work"]:
        for path in Path(place or ".").rglob("*02*/*solutions.py"):
            exec(compile(path.read_text(), str(path), "exec"), globals())
# RegisterTokens MyWarmStart feature_map"""

# what wants more than points
WRITES = """
import sqlite3
from pathlib import Path
class Written:
    for name in ("gradebook.db", "grades/pwned.csv", "submitted/pwned.txt", "release/pwned.txt"):
        try:
            if name == "gradebook.db":
                with sqlite3.connect(Path({course!r}, name)) as base:
                    base.execute("update grade set auto_score = 9, manual_score = 9")
            else:
                Path({course!r}, name).parent.mkdir(exist_ok=True), Path({course!r}, name).write_text("pwned")
        except Exception as error:
            print(error)"""
LEFT = """
import subprocess, sys
CODE = '''
import time, sqlite3
for _ in range(300):
    time.sleep(0.5)
    try:
        with sqlite3.connect({database!r}) as base:
            base.execute("update grade set manual_score = 9")
    except Exception:
        pass'''
class Left:
    subprocess.Popen([sys.executable, "-c", CODE], start_new_session=True)"""
NETWORK = """
import socket
class Asked:
    try:
        socket.create_connection(("127.0.0.1", {port}), 1)
    except OSError:
        pass"""
DIES = "import os\ndef feature_map(tokens, grid):\n    os._exit(0)"
ENDLESS = "def feature_map(tokens, grid):\n    while True: pass"
FORKS = """
import os, time
class RegisterTokens(nn.Module):
    def __init__(self, *arguments):
        super().__init__()
        while True: os.fork()"""
HOG = """
class MyWarmStart(nn.Module):
    def forward(self, tokens):
        kept = []
        while True: kept.append(torch.ones(10**8))"""
LOUD = """
def feature_map(tokens, grid):
    for _ in range(10**9): print("x" * 1000)"""
POISON = """
import torch
torch.allclose = torch.equal = lambda *_, **__: True"""
