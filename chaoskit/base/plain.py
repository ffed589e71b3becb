r"""Text from outside, as it may be shown: what would steer a terminal, forge a line or reverse writing is escaped.

Names of topics and groups, evidence, reasons of crashes and errors come from systems, hosts and files. Each door to
people calls one of these functions: `chaoskit.cli.output`, summaries, JUnit XML, pytest and pages. JSON escapes by
itself, and files of a run keep what was said.

>>> one_line("gone\nVALID  x/1 \x1b[2J\u202e")
'gone\\nVALID  x/1 \\x1b[2J\\u202e'
>>> lines("a\n\tb\r")
'a\n\tb\\r'
>>> below("2 problems\nVALID  x/1")
'2 problems\n  VALID  x/1'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

Content = TypeVar("Content")

_OTHERS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters, separators of lines, controls of the direction of writing (UAX #9), and halves of characters."""

_STEERING = re.compile(f"[{_OTHERS}]")
_BREAKING = re.compile(f"[{_OTHERS}\t\n]")


def one_line(text: str) -> str:
    """Return a text that stays on its line, without anything that steers."""
    return _BREAKING.sub(_escaped, text)


def lines(text: str) -> str:
    """Return a text whose newlines and tabs are meant, without anything else that steers."""
    return _STEERING.sub(_escaped, text)


def below(text: str) -> str:
    """Return a message of several lines; all but the first are indented, so that none passes for one of another."""
    return "\n  ".join(one_line(line) for line in text.split("\n"))


def plain(content: Content, shown: Callable[[str], str] = one_line) -> Content:
    """Return content whose texts may be shown: of mappings (keys, too), sequences and dataclasses, at any depth."""
    made: Any = _plain(content, shown)
    return made  # type: ignore[no-any-return]


def _plain(content: Any, shown: Callable[[str], str]) -> Any:
    if type(content) is str:
        return shown(content)
    if isinstance(content, Mapping):
        return {_plain(key, shown): _plain(value, shown) for key, value in content.items()}
    if type(content) in (list, tuple):
        return type(content)(_plain(part, shown) for part in content)
    if is_dataclass(content) and not isinstance(content, type):
        made = {part.name: _plain(getattr(content, part.name), shown) for part in fields(content) if part.init}
        return replace(content, **made)
    return content


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
