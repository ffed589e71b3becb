"""Reads a Jepsen history in blocks, each as arrays.

Most operations are read by `scan`. The rest (the first with a name as key, rebalance logs, the nemesis, comments) goes
through the full reader, `edn`, which also says what is wrong with a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chaoskit.base.errors import BadInput
from chaoskit.interop.jepsen.edn import Keyword, Unfinished, end_of_form, read_all, write
from chaoskit.interop.jepsen.messages import UNSENT_PRODUCER
from chaoskit.interop.jepsen.names import Interned
from chaoskit.interop.jepsen.scan import ENTRY, MESSAGE, scan

_BLOCK_BYTES = 8 * 2**20
_FORM_MAX_BYTES = 8 * _BLOCK_BYTES
"""A longer operation is unbalanced; this avoids reading gigabytes to the end to detect it."""

_TIME_MAX_NS = 2**62
_SHOWN = 60
"""So many characters of what is wrong are shown."""

_PROCESS_MAX = UNSENT_PRODUCER - 1
"""A process is the producer of what it sends."""

FS = ("send", "poll", "txn", "assign", "subscribe", "crash", "debug-topic-partitions")
TYPES = ("invoke", "ok", "fail", "info")


@dataclass(frozen=True, slots=True)
class NemesisLine:
    """An action of the nemesis."""

    time_ns: int
    f: str
    value: str


@dataclass(frozen=True, slots=True)
class Block:
    """A section of a history.

    Attributes:
        entries: rows of ENTRY.
        messages: rows of MESSAGE, in order of entry.
        rebalances: (entry, text): rebalance logs of operations.
        nemesis: actions of the nemesis.
    """

    entries: np.ndarray
    messages: np.ndarray
    rebalances: list[tuple[int, str]]
    nemesis: list[NemesisLine]


class _Building:
    """A block while it is read."""

    def __init__(self) -> None:
        self.count = 0
        self.rebalances: list[tuple[int, str]] = []
        self.nemesis: list[NemesisLine] = []
        self._entries: list[bytes] = []
        self._messages: list[bytes] = []

    def add(self, entries: bytes, messages: bytes) -> None:
        """Add rows."""
        self._entries.append(entries)
        self._messages.append(messages)
        self.count += len(entries) // ENTRY.itemsize

    def built(self) -> Block:
        """Return the block."""
        entries = np.frombuffer(b"".join(self._entries), ENTRY)
        return Block(entries, np.frombuffer(b"".join(self._messages), MESSAGE), self.rebalances, self.nemesis)


class Lines:
    """Reads a file.

    Args:
        path: the file.
        names: assigns numbers to keys and values that are not numbers.
    """

    def __init__(self, path: Path, names: Interned) -> None:
        self._path, self._names = path, names
        self._begun = self._wrapped = False

    def blocks(self) -> Iterator[Block]:
        """Yield the whole history.

        Raises:
            BadInput: it is not a history; the message names the file, the line and the reason.
        """
        line, text, last = 1, b"", False
        try:
            with self._path.open("rb") as file:
                while not last:
                    read = file.read(_BLOCK_BYTES)
                    text, last = text + read, not read
                    block, at, line = self._block(text, line, last=last)
                    text = text[at:]
                    if len(text) > _FORM_MAX_BYTES:
                        raise self._bad(line, f"unbalanced: an operation of more than {_FORM_MAX_BYTES >> 20} MiB")
                    yield block
        except OSError as error:
            raise BadInput(f"{self._path}: cannot be read: {error.strerror}") from error

    def _block(self, text: bytes, line: int, *, last: bool) -> tuple[Block, int, int]:
        """Return the complete operations, where the incomplete one begins, and at which line."""
        block, at = _Building(), 0
        while True:
            entries, messages, at, line = scan(text, at, block.count, line, self._names.known)
            self._begun |= bool(entries)
            block.add(entries, messages)
            end = self._bracket(text, at) or self._form(text, at, line, block, last=last)
            if not end:
                return block.built(), at, line
            line += text.count(b"\n", at, end)
            at = end

    def _bracket(self, text: bytes, at: int) -> int:
        """Read a bracket around all operations; return where it ends, 0 if there is none."""
        opens = not self._begun and text.startswith((b"[", b"("), at)
        closes = self._wrapped and text.startswith((b"]", b")"), at)
        if not (opens or closes):
            return 0
        self._wrapped, self._begun = opens, True
        return at + 1

    def _form(self, text: bytes, at: int, line: int, block: _Building, *, last: bool) -> int:
        """Read a form with the full reader; return where it ends, 0 if it is incomplete."""
        end = at
        while end < len(text):
            end = end_of_form(text, end) or (len(text) if last else 0)
            if not end:
                return 0
            try:
                forms = list(read_all(text[at:end].decode()))
            except UnicodeDecodeError as error:
                raise self._bad(line, f"not UTF-8: {error.reason}") from error
            except Unfinished:
                continue
            except BadInput as error:
                raise self._bad(line, str(error)) from None
            for form in forms:
                self._add(form, line, block)
            self._begun |= bool(forms)
            return end
        if last and at < len(text):
            raise self._bad(line, "unbalanced: the file ends inside an operation")
        return 0

    def _add(self, form: Any, line: int, block: _Building) -> None:
        if not isinstance(form, dict):
            shown = write(form)[:_SHOWN]
            raise self._bad(line, f"{shown} is not an operation: a map with :type, :f, :process and :time")
        time_ns, process, f = form.get("time"), form.get("process"), form.get("f")
        if not isinstance(time_ns, int):
            raise self._bad(line, "has no :time in nanoseconds")
        self._bounded(":time", time_ns, _TIME_MAX_NS, line)
        if process == "nemesis" or (isinstance(process, Keyword) and process):
            block.nemesis.append(NemesisLine(time_ns, str(f), write(form.get("value"))))
            return
        if form.get("type") not in TYPES:
            raise self._bad(line, f"unknown :type {write(form.get('type'))[:_SHOWN]}; known: {', '.join(TYPES)}")
        if f not in FS:
            raise self._bad(line, f"unknown :f {write(f)[:_SHOWN]}; the Kafka workload has {', '.join(FS)}")
        if not isinstance(process, int) or process < 0:
            raise self._bad(line, f":process {write(process)[:_SHOWN]} is neither a number nor :nemesis")
        self._bounded(":process", process, _PROCESS_MAX, line)
        try:
            messages = self._names.messages(block.count, str(f), form.get("value"))
        except ValueError as error:
            raise self._bad(line, str(error)) from None
        if rebalances := form.get("rebalance-log"):
            block.rebalances.append((block.count, write(rebalances)))
        entry = time_ns, process, line, TYPES.index(form["type"]), FS.index(f)
        block.add(np.array([entry], ENTRY).tobytes(), np.array(messages, MESSAGE).tobytes())

    def _bounded(self, key: str, number: int, highest: int, line: int) -> None:
        if abs(number) > highest:
            size = "large" if number > 0 else "small"
            raise self._bad(line, f"{key} {str(number)[:_SHOWN]} is too {size}; the highest is {highest}")

    def _bad(self, line: int, reason: str) -> BadInput:
        return BadInput(
            f"{self._path}, line {line}: {reason}. Expected a history of Jepsen's Kafka workload, one operation a line"
        )
