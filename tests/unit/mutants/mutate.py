"""Mistakes and damage, drawn by a seed: in scenarios, in histories as text, and in the files of a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from damage import WAYS, places

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**70, 1.5, float("nan"), "", "x", "5", "5s", "-5s", "12:03", "n9", "all", "leader",
    "zone:x", [], [None], ["n1", "n1"], {}, {"a": 1}, {"kill": {}}, "1ms", "100000d", 5, 100_000,
    "[bold]", "n\u00ef1", "../up", "a" * 500,
)  # fmt: skip
"""Values that no key, or hardly any, expects."""

_SWAPPED = str.maketrans("aeiou", "eioua")


def scenario(content: dict[str, Any], draw: Random) -> dict[str, Any]:
    """Return a scenario with one or two mistakes."""
    changed: dict[str, Any] = json.loads(json.dumps(content))
    for _ in range(draw.randint(1, 2)):
        if spots := list(places(changed)):
            draw.choice(_MISTAKES)(*draw.choice(spots), draw)
    return changed


def _drop(holder: Any, key: Any, draw: Random) -> None:
    del holder[key]


def _replace(holder: Any, key: Any, draw: Random) -> None:
    holder[key] = draw.choice(VALUES)


def _misspell(holder: Any, key: Any, draw: Random) -> None:
    """Misspell a key, or a word in a list."""
    word = str(key if isinstance(holder, dict) else holder[key])
    at = draw.randrange(len(word) + 1)
    wrong = draw.choice((word[:at] + word[at + 1 :], word[:at] + "x" + word[at:], word.translate(_SWAPPED)))
    if isinstance(holder, dict):
        holder[wrong] = holder.pop(key)
    else:
        holder[key] = wrong


def _add(holder: Any, key: Any, draw: Random) -> None:
    """Put something more beside it: an unknown key, or the same entry again."""
    if isinstance(holder, dict):
        holder[draw.choice(("seed", "on", "kind", "config", "peers", "at", "further"))] = draw.choice(VALUES)
    else:
        holder.append(holder[key])


def _wrap(holder: Any, key: Any, draw: Random) -> None:
    holder[key] = [holder[key]] if draw.random() < 0.5 else {str(draw.choice(VALUES)): holder[key]}


_MISTAKES: tuple[Callable[[Any, Any, Random], None], ...] = (
    _drop,
    _replace,
    _replace,
    _misspell,
    _misspell,
    _add,
    _wrap,
)


def text(content: bytes, draw: Random) -> bytes:
    """Return a text with one to three pieces changed: cut, doubled, moved, replaced or flipped."""
    for _ in range(draw.randint(1, 3)):
        first, last = sorted(draw.randrange(len(content) + 1) for _ in range(2))
        last = min(last, first + draw.choice((1, 5, 200)))
        piece = content[first:last]
        put = draw.choice(
            (b"", piece * 2, piece[::-1], draw.randbytes(len(piece)), b"nil", b"-1", b"[", b"}", b"9" * 30, b"\n", b'"')
        )
        content = content[:first] + put + content[last:]
    return content


def folder(path: Path, draw: Random) -> str:
    """Damage one file of a folder; return what was done."""
    file = draw.choice(sorted(entry for entry in path.rglob("*") if entry.is_file()))
    way = draw.choice((*WAYS, "some pieces", "a folder", "a link"))
    content = file.read_bytes()
    file.unlink()
    if way == "a folder":
        file.mkdir()
    elif way == "a link":
        file.symlink_to(draw.choice(("/nonexistent", "/dev/null", file.name)))
    elif (changed := {**WAYS, "some pieces": text}[way](content, draw)) is not None:
        file.write_bytes(changed)
    return f"{file.relative_to(path)}: {way}"
