"""Assigns numbers to non-numeric keys and values of a Jepsen history, and turns values into rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chaoskit.interop.jepsen.edn import write
from chaoskit.interop.jepsen.scan import ASSIGNED, NONE, POLLED, SENT

FIRST = 10**15
"""Numbers from here on stand for interned texts; smaller numbers for themselves."""

_KEY_MAX = 1_000
"""Characters of a key: it becomes the name of a topic."""

_POSITION_MAX = 2**62
_SHOWN = 60
"""So many characters of what is wrong are shown."""


class Interned:
    """Interned keys and values that are not plain numbers.

    Attributes:
        texts: texts in EDN, by number from FIRST on.
        known: their numbers.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.known: dict[str, int] = {}

    def number(self, form: Any) -> int:
        """Return the number for a key or value."""
        if isinstance(form, int) and not isinstance(form, bool) and 0 <= form < FIRST:
            return form
        text = write(form)
        if text not in self.known:
            self.known[text] = FIRST + len(self.texts)
            self.texts.append(text)
        return self.known[text]

    def key(self, form: Any) -> int:
        """Return the number for a key.

        Raises:
            ValueError: no topic can have such a name.
        """
        number = self.number(form)
        if len(self.text(number)) > _KEY_MAX:
            text = self.text(number)
            raise ValueError(f"the key {text[:_SHOWN]}... has {len(text):,} characters; at most {_KEY_MAX:,} are read")
        return number

    def text(self, number: int) -> str:
        """Return the text for a number, in EDN."""
        return self.texts[number - FIRST] if number >= FIRST else str(number)

    def messages(self, entry: int, f: str, value: Any) -> list[tuple[int, ...]]:
        """Return the messages in an operation's value, and the keys that it assigns, as rows of MESSAGE.

        Raises:
            ValueError: it is not a value of this workload.
        """
        if f in ("crash", "debug-topic-partitions") or value is None:
            return []
        if not isinstance(value, list):
            raise ValueError(f"the value {write(value)[:_SHOWN]} of :{f} is not a vector")
        if f in ("assign", "subscribe"):
            return [(entry, self.key(key), NONE, 0, 0, ASSIGNED) for key in value]
        rows: list[tuple[int, ...]] = []
        sends = 0
        for form in value:
            match form:
                case ["send", key, [offset, sent]] if offset is None or isinstance(offset, int):
                    rows.append((entry, self.key(key), _position(offset), self.number(sent), sends, SENT))
                    sends += 1
                case ["send", key, sent] if not isinstance(sent, list):
                    rows.append((entry, self.key(key), NONE, self.number(sent), sends, SENT))
                    sends += 1
                case ["poll"] | ["poll", None]:
                    pass
                case ["poll", dict() as polled]:
                    rows += [(entry, *read, sends, POLLED) for read in self._polled(polled)]
                case _:
                    shown = write(form)[:_SHOWN]
                    raise ValueError(
                        f"{shown} is not a micro-operation of this workload, [:send k v] or [:poll {{...}}]"
                    )
        return rows

    def _polled(self, polled: dict[Any, Any]) -> Iterator[tuple[int, int, int]]:
        """Yield key, position and value of messages."""
        for key, pairs in polled.items():
            for pair in pairs or ():
                match pair:
                    case [offset, value] if offset is None or isinstance(offset, int):
                        yield self.key(key), _position(offset), self.number(value)
                    case _:
                        raise ValueError(f"{write(pair)[:_SHOWN]} of key {write(key)} is not [offset value]")


def _position(offset: int | None) -> int:
    """Return an offset as a position; of none and of negative ones: not known.

    Raises:
        ValueError: no log is so long.
    """
    if offset is not None and offset > _POSITION_MAX:
        raise ValueError(f"the offset {str(offset)[:_SHOWN]} is too large; the highest is {_POSITION_MAX}")
    return NONE if offset is None or offset < 0 else offset
