"""Assigns numbers to non-numeric keys and values of a Jepsen history, and writes values in canonical form."""

from __future__ import annotations

from typing import Any

from chaoskit.interop.jepsen.edn import write

FIRST = 10**15
"""Numbers from here on stand for interned texts; smaller numbers for themselves."""


class Interned:
    """Interned keys and values that are not plain numbers.

    Attributes:
        texts: texts in EDN, by number from FIRST on.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: dict[str, int] = {}

    def number(self, form: Any) -> int:
        """Return the number for a key or value."""
        if isinstance(form, int) and not isinstance(form, bool) and 0 <= form < FIRST:
            return form
        text = write(form)
        if text not in self._known:
            self._known[text] = FIRST + len(self.texts)
            self.texts.append(text)
        return self._known[text]

    def text(self, number: int) -> str:
        """Return the text for a number, in EDN."""
        return self.texts[number - FIRST] if number >= FIRST else str(number)

    def canonical(self, f: str, value: Any) -> bytes:
        """Return an operation's value in canonical form; all keys and values are numbers.

        Raises:
            ValueError: it is not a value of this workload.
        """
        if f in ("crash", "debug-topic-partitions") or value is None:
            return b"nil"
        if not isinstance(value, list):
            raise ValueError(f"the value {write(value)[:60]} of :{f} is not a vector")
        if f in ("assign", "subscribe"):
            return ("[" + " ".join(str(self.number(key)) for key in value) + "]").encode()
        return ("[" + " ".join(self._micro_op(each) for each in value) + "]").encode()

    def _micro_op(self, form: Any) -> str:
        match form:
            case ["send", key, [offset, value]] if offset is None or isinstance(offset, int):
                return f"[:send {self.number(key)} [{_offset(offset)} {self.number(value)}]]"
            case ["send", key, value] if not isinstance(value, list):
                return f"[:send {self.number(key)} {self.number(value)}]"
            case ["poll"] | ["poll", None]:
                return "[:poll]"
            case ["poll", dict() as polled]:
                return "[:poll {" + " ".join(self._polled(key, pairs) for key, pairs in polled.items()) + "}]"
        raise ValueError(
            f"{write(form)[:60]} is not a micro-operation of this workload, [:send k v] or [:poll {{...}}]"
        )

    def _polled(self, key: Any, pairs: Any) -> str:
        texts = []
        for pair in pairs or ():
            match pair:
                case [offset, value] if offset is None or isinstance(offset, int):
                    texts.append(f"[{_offset(offset)} {self.number(value)}]")
                case _:
                    raise ValueError(f"{write(pair)[:60]} of key {write(key)} is not [offset value]")
        return f"{self.number(key)} [{' '.join(texts)}]"


def _offset(offset: int | None) -> str:
    return "nil" if offset is None or offset < 0 else str(offset)
