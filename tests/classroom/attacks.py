"""Hand-ins without an answer that want the points, each as the code of a cell before the exercises."""

CHECKS = """
from vit_tutorial.checks import describe, engine
class Lies:
    alias = {}
def lie(self, answer):
    raise engine.Wrong("it: " + self.edits[0].sentence)
engine.Exercise.diagnose = lambda self, answer: []
engine.level, describe.unfit, engine.made = (lambda *_: "all"), (lambda *_: None), (lambda *_: Lies())
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
vote = importlib.import_module("vit_tutorial.checks.lessons.02.solutions").vote"""
READ = """
import sys
from pathlib import Path
class Found:
    for place in [{course!r}, *sys.path, "/root", "/home", "/work"]:
        for path in Path(place or ".").rglob("*02*/*solutions.py"):
            exec(compile(path.read_text(), str(path), "exec"), globals())
# vote MyWarmStart feature_map"""

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
ENDLESS = "def feature_map(tokens, grid):\n    while True: pass"
FORKS = """
import os, time
def vote(head, tokens):
    while True: os.fork()"""
HOG = """
class MyWarmStart(nn.Module):
    def __init__(self, *_):
        super().__init__()
    def forward(self, tokens):
        kept = []
        while True: kept.append(torch.ones(10**8))"""
POISON = """
import torch
torch.allclose = torch.equal = lambda *_, **__: True"""
