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
        for cell in before:
            exec(notebook.cells[cell].source, names)
        shown.clear()
        with theme.at_least(points):
            exec(compile(ast.Module(first, []), f"cell {number}", "exec"), names)
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names))
    figure = next((value for value in shown if isinstance(value, theme.Figure)), None)
    if figure is None:
        raise ValueError("its cell shows no picture")
    return figure


def needed(notebook: NotebookNode, number: int) -> tuple[list[int], set[str]]:
    """The code cells before this one that bind the names it uses, and those that they use, in their order; and all
    these names."""
    cells = []
    wanted = _read(_parsed(notebook.cells[number]))
    used = set(wanted)
    for cell in range(number - 1, -1, -1):
        tree = _parsed(notebook.cells[cell])
        if tree and wanted & (bound := _bound(tree)):
            cells.append(cell)
            wanted = (wanted - bound) | _read(tree)
            used |= wanted
    return cells[::-1], used


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
    bound = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            bound.add(node.value.id)
    return bound
