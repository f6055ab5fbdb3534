"""Frozen dataclasses as rows of a JSON file, and back.

A row has a name for each field. A dataclass within another one is the list of its values, in the order of its fields:
`Timing(2.0, 1.9, 2.1, 50)` is `[2.0, 1.9, 2.1, 50]`. What a file says once for all its rows is left out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Row = TypeVar("Row")


def to_row(row: Any, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """A dataclass as JSON values, without the named fields."""
    return {field.name: _plain(getattr(row, field.name)) for field in fields(row) if field.name not in leave_out}


def from_row(kind: type[Row], row: Mapping[str, Any], **left_out: Any) -> Row:
    """The dataclass that `to_row` made a row of, with the fields that it left out."""
    hints = _hints(kind)
    return kind(
        **{name: _typed(hint, row[name]) for name, hint in hints.items() if name not in left_out},
        **left_out,
    )


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    return value


def _typed(hint: Any, value: Any) -> Any:
    if is_dataclass(hint):
        return hint(*(_typed(item, part) for item, part in zip(_hints(hint).values(), value, strict=True)))
    origin, parts = get_origin(hint), get_args(hint)
    if origin is tuple:
        of_one = parts[0] if Ellipsis in parts else None
        return tuple(_typed(of_one or parts[index], part) for index, part in enumerate(value))
    if origin is Mapping and parts[0] is int:  # JSON's keys are strings
        return {int(key): part for key, part in value.items()}
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
