"""An EDN reader, complete enough for Jepsen's histories. It is slow; the fast paths handle most operations.

Keywords become `Keyword`, tagged elements become their content, lists and sets become lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from chaoskit.base.errors import BadInput

_TOKEN = re.compile(
    r"""(?P<blank>(?:[\s,]|;[^\n]*)+)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<discard>\#_)
    |(?P<set>\#\{)
    |(?P<tag>\#[A-Za-z][\w.*+!?$%&=<>/-]*)
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<char>\\(?:newline|return|space|tab|u[0-9A-Fa-f]{4}|.))
    |(?P<atom>[^\s,;"()\[\]{}\\\#]+)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSERS = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_INTEGER = re.compile(r"[+-]?\d+N?")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?M?|[+-]?\d+/\d+")
_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*+"|"|;[^\n]*|\\.|[\[({\])}]', re.DOTALL)
_DEPTH_MAX = 100
"""Forms may be nested so deep; an operation of Jepsen's workload is 6 deep. The parser calls itself for each level."""

_DIGITS_MAX = 4_000
"""Python refuses to read longer integers; no system has them."""

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal would obey, or what would not stay on its line (`chaoskit.base.plain`)."""


class Keyword(str):
    """A keyword, without the colon."""

    __slots__ = ()


class Unfinished(BadInput):
    """The text ends inside a form."""


class Closer(Exception):  # not an error: control flow of the parser
    """A closing bracket was reached."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def read_all(text: str) -> Iterator[Any]:
    """Yield all forms of a text.

    >>> list(read_all('{:f :send, :value [[:send "a" 1]]} nil'))
    [{'f': 'send', 'value': [['send', 'a', 1]]}, None]

    Raises:
        Unfinished: the text ends inside a form.
        BadInput: it is not EDN; the message says what is wrong, but not where.
    """
    parser = _Parser(text)
    while parser.skip_blank():
        try:
            yield parser.form()
        except Closer as error:
            raise BadInput(f"unbalanced: unmatched {error.text}") from None


def write(form: Any) -> str:
    """Return a form as EDN.

    >>> write({Keyword("a"): [1, None, "x"]})
    '{:a [1 nil "x"]}'
    """
    if isinstance(form, Keyword):
        return f":{form}"
    if isinstance(form, str):
        return '"' + _UNSHOWN.sub(_escaped, form.replace("\\", "\\\\").replace('"', '\\"')) + '"'
    if isinstance(form, dict):
        return "{" + ", ".join(f"{write(key)} {write(value)}" for key, value in form.items()) + "}"
    if isinstance(form, (list, tuple)):
        return "[" + " ".join(write(element) for element in form) + "]"
    return (
        {None: "nil", True: "true", False: "false"}.get(form, str(form))
        if form is None or (form in (0, 1) and isinstance(form, bool))
        else str(form)
    )


def end_of_form(text: bytes, at: int) -> int:
    """Return where the form that begins at `at` ends, 0 if it does not; much cheaper than parsing.

    >>> end_of_form(b'{:a "}"} {:b', 0), end_of_form(b'{:a "}"} {:b', 8)
    (8, 0)
    """
    depth = 0
    for match in _STRUCTURE.finditer(text, at):
        token = match[0][:1]
        if token in b"[({":
            depth += 1
        elif token in b"])}":
            depth -= 1
        elif match[0] == b'"' or (token == b";" and match.end() == len(text)):
            return 0
        if depth <= 0 and token != b"\\":
            return match.end()
    return 0


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

    def skip_blank(self) -> bool:
        """Skip whitespace and comments; return whether anything follows."""
        while self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            if match is None or match.lastgroup not in ("blank", "discard"):
                return True
            self._at = match.end()
            if match.lastgroup == "discard":
                self.form()
        return False

    def form(self) -> Any:
        """Return the next form.

        Raises:
            Closer: a closing bracket comes first.
            BadInput: it is not EDN, or nested too deep.
        """
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise BadInput(f"nested more than {_DEPTH_MAX} deep")
        try:
            return self._form()
        finally:
            self._depth -= 1

    def _form(self) -> Any:
        if not self.skip_blank():
            raise Unfinished("unbalanced: the text ends inside a form")
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise (
                Unfinished("unbalanced: unterminated string")
                if self._text[self._at] == '"'
                else BadInput(f"{self._text[self._at]!r} is not EDN")
            )
        self._at, kind, text = match.end(), match.lastgroup, match[0]
        if kind == "close":
            raise Closer(text)
        if kind == "tag":
            return self.form()
        if kind in ("open", "set"):
            return self._collection(text)
        if kind == "string":
            return _ESCAPE.sub(_unescaped, text[1:-1])
        return text if kind == "char" else _atom(text)

    def _collection(self, opener: str) -> Any:
        forms = []
        while True:
            try:
                forms.append(self.form())
            except Closer as closer:
                if closer.text != _CLOSERS[opener]:
                    raise BadInput(f"unbalanced: {opener} is closed with {closer.text}") from None
                break
        if opener != "{":
            return forms
        if len(forms) % 2:
            raise BadInput("a map has a key without a value")
        return {_hashable(key): value for key, value in zip(forms[::2], forms[1::2], strict=True)}


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _unescaped(escape: re.Match[str]) -> str:
    text = escape[1]
    return chr(int(text[1:], 16)) if len(text) > 1 else _ESCAPES.get(text, text)


def _hashable(key: Any) -> Any:
    return key if isinstance(key, (str, int, float, bool)) or key is None else write(key)


def _atom(text: str) -> Any:
    if text[0] == ":" and len(text) > 1:
        return Keyword(text[1:])
    if _INTEGER.fullmatch(text):
        if len(text) > _DIGITS_MAX:
            raise BadInput(f"an integer of {len(text):,} digits")
        return int(text.removesuffix("N"))
    if _NUMBER.fullmatch(text):
        return float(text.removesuffix("M")) if "/" not in text else text
    return {"nil": None, "true": True, "false": False}.get(text, text)
