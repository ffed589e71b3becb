"""Ways of damage to a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

_VALUES: tuple[Any, ...] = (None, -1, 2**70, 0.5, "x", [], {}, [None], {"a": 1})


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every mapping and list of a document with each of its keys."""
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in list(items):
        yield document, key
        yield from places(value)


def _flipped(content: bytes, draw: Random) -> bytes:
    changed = bytearray(content or b"x")
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _revalued(content: bytes, draw: Random) -> bytes:
    """Return JSON with another value in one place; of anything else, a flipped bit."""
    try:
        document = json.loads(content)
    except ValueError:
        return _flipped(content, draw)
    spots = list(places(document))
    if not spots:
        return b"[]"
    holder, key = draw.choice(spots)
    holder[key] = draw.choice(_VALUES)
    return json.dumps(document).encode()


WAYS: dict[str, Callable[[bytes, Random], bytes | None]] = {
    "gone": lambda _, __: None,
    "empty": lambda _, __: b"",
    "cut": lambda content, draw: content[: draw.randrange(max(1, len(content)))],
    "longer": lambda content, draw: content + draw.randbytes(50),
    "another file": lambda content, draw: draw.randbytes(len(content)),
    "a bit": _flipped,
    "a bit of the end": lambda content, draw: content[:-2000] + _flipped(content[-2000:], draw),
    "a part twice": lambda content, draw: content[: (at := draw.randrange(len(content) + 1))] + content[at // 2 :],
    "a part of zeros": lambda content, draw: (
        content[: (at := draw.randrange(len(content) + 1))] + bytes(len(content) - at)
    ),
    "another value": _revalued,
}
"""Each returns what a file holds afterwards; None: it is gone."""
