"""Reads the lines of a Jepsen history in blocks, each operation as a tuple of texts.

Most operations are parsed with a regular expression that is built from the first line of their kind, so
the order of keys does not matter. The rest (names as keys, multi-line operations, rebalance logs, the
nemesis) goes through the full reader, which converts it to the canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from chaoskit.base.errors import BadInput
from chaoskit.interop.jepsen.edn import Keyword, Nesting, Unfinished, read_all, write
from chaoskit.interop.jepsen.names import Interned

_BLOCK = 8 * 2**20
_LINES_MAX = 10_000
"""An operation with more lines is unbalanced; this avoids reading gigabytes to the end to detect it."""

FS = ("send", "poll", "txn", "assign", "subscribe", "crash", "debug-topic-partitions")
TYPES = ("invoke", "ok", "fail", "info")

_NUMBER = r"\d{1,15}"
_PAIR = rf"\[(?:{_NUMBER}|nil) {_NUMBER}\]"
_SEND = rf"\[:send {_NUMBER} (?:{_NUMBER}|{_PAIR})\]"
_POLL = rf"\[:poll(?: \{{(?:{_NUMBER} \[(?:{_PAIR}(?:,? )?)*+\](?:,? )?)*+\}})?\]"
_VALUE = rf"nil|\[(?:(?:{_SEND}|{_POLL})(?:,? )?)*+\]|\[(?:{_NUMBER}(?:,? )?)*+\]"
_PATTERNS = {
    "time": rf"({_NUMBER})",
    "type": rf":({'|'.join(TYPES)})",
    "process": r"(\d{1,9})",
    "f": rf":({'|'.join(FS)})",
    "value": rf"({_VALUE})",
}
_OTHER = r'(?:[^\s,;"()\[\]{}\\#]+|"[^"\\\n]*")'
COLUMNS = tuple(_PATTERNS)


class _Shape(NamedTuple):
    """Patterns for operations with a certain order of keys.

    Attributes:
        one: matches one line.
        all: matches every line of a text; lines of another shape have empty groups.
        order: the groups that are COLUMNS.
    """

    one: re.Pattern[bytes]
    all: re.Pattern[bytes]
    order: list[int]


@dataclass(slots=True)
class Nemesis:
    """An action of the nemesis."""

    time_ns: int
    f: str
    value: str


@dataclass(slots=True)
class Block:
    """A section of a history.

    Attributes:
        columns: columns of its entries, in order: time, type, process, f, value; keys and values are numbers.
        lines: line number in the file, for each entry.
        rebalances: (entry, text): rebalance logs of operations.
        nemesis: (entry that it precedes, action).
    """

    columns: list[list[bytes]] = field(default_factory=lambda: [[] for _ in COLUMNS])
    lines: list[int] = field(default_factory=list)
    rebalances: list[tuple[int, str]] = field(default_factory=list)
    nemesis: list[Nemesis] = field(default_factory=list)

    def add(self, rows: Sequence[Sequence[bytes]], first: int, last: int, line: int) -> None:
        """Add single-line entries; `line` is the line number of the first."""
        for column, more in zip(self.columns, rows, strict=True):
            column.extend(more[first:last])
        self.lines.extend(range(line, line + last - first))


class Lines:
    """Reads a file.

    Args:
        path: the file.
        names: assigns numbers to keys and values that are not numbers.
    """

    def __init__(self, path: Path, names: Interned) -> None:
        self._path, self._names = path, names
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._latest: _Shape | None = None
        self._wrapped = False

    def blocks(self) -> Iterator[Block]:
        """Yield the whole history.

        Raises:
            BadInput: it is not a history; the message names the file, the line and the reason.
        """
        number, pending = 1, b""
        try:
            with self._path.open("rb") as file:
                while read := file.read(_BLOCK):
                    text = pending + read
                    if b"\n" not in read:
                        text = text.replace(b"} {", b"}\n{").replace(b"}, {", b"}\n{").replace(b"} #", b"}\n#")
                    cut = text.rfind(b"\n") + 1
                    if cut:
                        block, rest = self._block(text[:cut], number, last=False)
                        number += text.count(b"\n", 0, cut - len(rest))
                        pending = rest + text[cut:]
                        yield block
                    else:
                        pending = text
        except OSError as error:
            raise BadInput(f"{self._path}: cannot be read: {error.strerror}") from error
        if pending.strip():
            yield self._block(pending + b"\n", number, last=True)[0]

    def _block(self, text: bytes, number: int, *, last: bool) -> tuple[Block, bytes]:
        """Return the complete operations, and the remaining text of an incomplete one."""
        block = Block()
        lines = text.split(b"\n")[:-1]
        at = 0
        while at < len(lines):
            shape = self._latest
            if shape is None:
                taken = self._slowly(lines, at, number, block, last=last)
                if not taken:
                    return block, b"\n".join([*lines[at:], b""])
                at += taken
                continue
            found = list(zip(*shape.all.findall(b"\n".join(lines[at:]) if at else text[:-1]), strict=True))
            rows = [found[column] for column in shape.order]
            done = 0
            for index in [index for index, time in enumerate(rows[0]) if not time]:
                if index < done:
                    continue
                block.add(rows, done, index, number + at + done)
                taken = self._otherwise(lines, at + index, number, block, last=last)
                if not taken:
                    return block, b"\n".join([*lines[at + index :], b""])
                done = index + taken
            block.add(rows, done, len(rows[0]), number + at + done)
            break
        return block, b""

    def _otherwise(self, lines: list[bytes], at: int, number: int, block: Block, *, last: bool) -> int:
        """Read a line that does not have the latest shape; see `_slowly` for the return value."""
        for shape in self._shapes.values():
            if match := shape.one.fullmatch(lines[at]):
                self._latest = shape
                groups = match.groups()
                block.add([groups[column : column + 1] for column in shape.order], 0, 1, number + at)
                return 1
        return self._slowly(lines, at, number, block, last=last)

    def _slowly(self, lines: list[bytes], at: int, number: int, block: Block, *, last: bool) -> int:
        """Read from a line with the full reader; return the number of lines consumed, 0 if the form is incomplete."""
        text, nesting = "", Nesting()
        for taken, line in enumerate(lines[at:], 1):
            more = self._decoded(line, number + at + taken - 1) + "\n"
            if number + at == taken == 1 and more.lstrip().startswith(("[", "(")):
                self._wrapped, more = True, more.lstrip()[1:]
            text += more
            if taken == _LINES_MAX:
                raise self._bad(number + at, f"unbalanced: an operation of {_LINES_MAX:,} lines")
            if not nesting.closed_after(more) and taken > 1:
                continue
            try:
                forms = self._read(text)
            except Unfinished:
                continue
            except BadInput as error:
                raise self._bad(number + at, str(error)) from None
            for form in forms:
                self._add(form, number + at, block)
            if len(forms) == 1 and taken == 1:
                self._learn(lines[at])
            return taken
        if last:
            raise self._bad(number + at, "unbalanced: the file ends inside an operation")
        return 0

    def _read(self, text: str) -> list[Any]:
        """Read forms; the last bracket may close the vector of all operations."""
        try:
            return list(read_all(text))
        except Unfinished:
            raise
        except BadInput:
            shorter = text.rstrip()[:-1]
            if not (self._wrapped and text.rstrip().endswith(("]", ")"))):
                raise
            self._wrapped = False
            return list(read_all(shorter))

    def _decoded(self, line: bytes, number: int) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            raise self._bad(number, f"not UTF-8: {error.reason}") from error

    def _learn(self, line: bytes) -> None:
        """Build a pattern for lines with the same keys in the same order, if possible."""
        bare = re.sub(r"\[.*\]", "[]", line.decode())
        keys = tuple(key for key in re.findall(r":([\w-]+) ", bare) if key in COLUMNS)
        if keys in self._shapes or len(keys) != len(COLUMNS):
            return
        others = rf"(?::(?!(?:{'|'.join(COLUMNS)}) )[\w-]+ {_OTHER}(?:,? )?)*"
        fields = others + others.join(f":{key} {_PATTERNS[key]}(?:,? )?" for key in keys) + others
        text = rf"[ \t]*(?:#jepsen\.history\.Op ?)?\{{{fields}\}}[ \t\r]*"
        self._shapes[keys] = _Shape(
            re.compile(text.encode()),
            re.compile(rf"^(?:{text}|.*)$".encode(), re.MULTILINE),
            [keys.index(key) for key in COLUMNS],
        )
        self._latest = self._shapes[keys]

    def _add(self, form: Any, line: int, block: Block) -> None:
        if not isinstance(form, dict):
            raise self._bad(line, f"{write(form)[:60]} is not an operation: a map with :type, :f, :process and :time")
        time_ns, process, f = form.get("time"), form.get("process"), form.get("f")
        if not isinstance(time_ns, int):
            raise self._bad(line, "has no :time in nanoseconds")
        if process == "nemesis" or (isinstance(process, Keyword) and process):
            block.nemesis.append(Nemesis(time_ns, str(f), write(form.get("value"))))
            return
        if form.get("type") not in TYPES:
            raise self._bad(line, f"unknown :type {write(form.get('type'))}; known: {', '.join(TYPES)}")
        if f not in FS:
            raise self._bad(line, f"unknown :f {write(f)}; the Kafka workload has {', '.join(FS)}")
        if not isinstance(process, int) or process < 0:
            raise self._bad(line, f":process {write(process)} is neither a number nor :nemesis")
        try:
            value = self._names.canonical(str(f), form.get("value"))
        except ValueError as error:
            raise self._bad(line, str(error)) from None
        if rebalances := form.get("rebalance-log"):
            block.rebalances.append((len(block.lines), write(rebalances)))
        texts = [b"%d" % time_ns, str(form["type"]).encode(), b"%d" % process, str(f).encode(), value]
        block.add([[text] for text in texts], 0, 1, line)

    def _bad(self, line: int, reason: str) -> BadInput:
        return BadInput(
            f"{self._path}, line {line}: {reason}. Expected a history of Jepsen's Kafka workload, one operation a line"
        )
