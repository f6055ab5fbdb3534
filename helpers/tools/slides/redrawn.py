"""A picture of a notebook drawn anew for a slide: its cell runs once more, after the cells that it takes names from."""

from __future__ import annotations

import ast
import builtins
import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any

from nbformat import NotebookNode

from helpers.pictures import theme


def picture(
    notebook: NotebookNode, number: int, points: float = 0.0, known: Mapping[str, Any] | None = None
) -> theme.Figure:
    """The first picture that the code cell `number` shows, with letters of at least so many points.

    known: the names of a notebook that runs, which are taken in place of running the cells before this one, unless a
    later cell gives one of them to something else.

    ValueError if it shows none. Whatever a cell raises is raised.
    """
    shown: list[Any] = []
    before, used = needed(notebook, number)
    if known is not None and not used & _bound_after(notebook, number):
        before = []
    names: dict[str, Any] = {**(known or {}), "display": lambda *those: shown.extend(those)}
    *first, last = ast.parse(notebook.cells[number].source).body
    with redirect_stdout(io.StringIO()):
        for one in before:
            exec(notebook.cells[one].source, names)
        shown.clear()
        with theme.at_least(points):
            exec(compile(ast.Module(first, []), f"cell {number}", "exec"), names)
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names))
    found = next((one for one in shown if isinstance(one, theme.Figure)), None)
    if found is None:
        raise ValueError("its cell shows no picture")
    return found


def needed(notebook: NotebookNode, number: int) -> tuple[list[int], set[str]]:
    """The code cells before this one that bind the names it uses, and those that they use, in their order; and all
    these names."""
    found = []
    wanted = _read(_parsed(notebook.cells[number]))
    used = set(wanted)
    for one in range(number - 1, -1, -1):
        tree = _parsed(notebook.cells[one])
        if tree and wanted & (bound := _bound(tree)):
            found.append(one)
            wanted = (wanted - bound) | _read(tree)
            used |= wanted
    return found[::-1], used


def _bound_after(notebook: NotebookNode, number: int) -> set[str]:
    """Names that later code cells bind."""
    trees = filter(None, map(_parsed, notebook.cells[number + 1 :]))
    return set().union(*map(_bound, trees))


def _parsed(cell: NotebookNode) -> ast.Module | None:
    """A cell's code; None for text, and for a magic, which binds no name."""
    if cell.cell_type != "code" or cell.source.lstrip().startswith("%"):
        return None
    return ast.parse(cell.source)


def _read(tree: ast.Module | None) -> set[str]:
    if tree is None:
        return set()
    loads = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return {node.id for node in loads if not hasattr(builtins, node.id)}


def _bound(tree: ast.Module) -> set[str]:
    """Names that a cell binds; those of arrays and dictionaries whose items it sets are among them."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            found.add(node.value.id)
    return found
