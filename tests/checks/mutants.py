"""Wrong answers by the thousand: a right answer's syntax tree with one thing changed, the same for everyone."""

import ast
import copy
import inspect
import itertools
import linecache
import random
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.checks.right import RIGHT

SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """What could stand in a node's place by a slip."""

    def with_(**fields) -> ast.AST:
        other = copy.deepcopy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
        yield with_(op=SWAPPED[type(node.op)]())
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
        if not isinstance(node.op, ast.Add | ast.Mult):
            yield with_(left=node.right, right=node.left)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield with_(ops=[SWAPPED[type(node.ops[0])](), *node.ops[1:]])
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield from (
            with_(value=value) for value in (node.value + 1, node.value - 1, 2 * node.value) if value != node.value
        )
    if isinstance(node, ast.Constant) and type(node.value) is float:
        yield from (with_(value=value) for value in (node.value / 2, node.value + 1.0))
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield with_(value=not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "->" in node.value:  # of einops or einsum
        before, _, after = node.value.partition("->")
        words = after.replace("(", "( ").replace(")", " )").split()
        for a, b in itertools.pairwise(word for word in words if word not in "()"):
            turned = {a: b, b: a}
            yield with_(value=f"{before}-> {' '.join(turned.get(word, word) for word in words)}")
    if isinstance(node, ast.UnaryOp):
        yield node.operand
    if isinstance(node, ast.Subscript):
        yield node.value
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield node.func.value  # x.f(...) -> x
        if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
            yield node.args[0]  # f(x) -> x
        for i in range(len(node.args) - 1):
            args = [*node.args]
            args[i], args[i + 1] = args[i + 1], args[i]
            yield with_(args=args)
        for i in range(len(node.keywords)):
            yield with_(keywords=node.keywords[:i] + node.keywords[i + 1 :])
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        yield with_(elts=[node.elts[1], node.elts[0], *node.elts[2:]])
    if isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    if isinstance(node, ast.For):
        yield node.body[0]
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
        yield ast.Pass()


def sources(answer: Callable) -> Iterator[str]:
    """The answer's source with one change, for each place and way to make one."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(answer)))
    if isinstance(tree.body[0].body[0], ast.Expr):  # the docstring is no code
        tree.body[0].body.pop(0)
    for parent in [*ast.walk(tree.body[0])]:
        for name, held in ast.iter_fields(parent):
            if name in ("annotation", "returns", "args", "decorator_list") and not isinstance(parent, ast.Call):
                continue
            for i, node in enumerate(held if isinstance(held, list) else [held]):
                for other in changed(node) if isinstance(node, ast.AST) else ():
                    if isinstance(held, list):
                        held[i] = other
                    else:
                        setattr(parent, name, other)
                    yield ast.unparse(ast.fix_missing_locations(tree))
                    if isinstance(held, list):
                        held[i] = node
                    else:
                        setattr(parent, name, node)


def base(exercise) -> Callable:
    """The right answer to change: ours where the other has no definition of its own in a file."""
    answer = RIGHT[exercise.name]
    code = getattr(getattr(answer, "forward", answer), "__code__", None)
    own = code and code.co_name != "<lambda>" and Path(code.co_filename).is_file()
    return answer if own and isinstance(answer, type) == exercise.is_class else exercise.solution


def mutants(exercise, number: int, seed: int = 0) -> Iterator[tuple[str, Callable]]:
    """At most so many sources and what they define, drawn with this seed."""
    answer = base(exercise)
    found = [*dict.fromkeys(sources(answer))]
    random.Random(f"{exercise.name} {seed}").shuffle(found)
    for i, source in enumerate(found[:number]):
        file, space = f"<{exercise.name} {seed} {i}>", dict(inspect.getmodule(answer).__dict__)
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        try:
            exec(compile(source, file, "exec"), space)
        except Exception:
            continue
        yield source, space[answer.__name__]
