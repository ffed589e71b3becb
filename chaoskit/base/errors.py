"""Errors shown to the user, each with an exit code and a remedy.

ChaoskitError
├── BadInput       254: the request cannot be carried out; nothing was started
├── RunFailed      255: the run failed; everything recorded was kept and the machine was cleaned up
├── FaultError     255: a fault of a live cluster had no effect, or was not healed
├── RunInterrupted 255: the user ended a run before its load began; the machine was cleaned up
└── WouldDownload  255: caught in a dry run, which tells it
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class ChaoskitError(Exception):
    """An error that is shown as one message, without a stack trace."""

    exit_code = 255


class BadInput(ChaoskitError):
    """The request cannot be carried out with this scenario, these arguments or on this machine."""

    exit_code = 254


class RunFailed(ChaoskitError):
    """A run failed before it could be judged; the message names the run folder and its logs."""


class FaultError(ChaoskitError):
    """A fault of a live cluster had no effect, or was not healed; the message is the evidence."""


class RunInterrupted(ChaoskitError):
    """The user ended a run before its load began; the machine was cleaned up."""


class WouldDownload(ChaoskitError):
    """Something must be downloaded first, and nothing may be; see `chaoskit.base.downloads`."""


class Problems:
    """Errors of several checks, to be raised as one.

    Args:
        source: file or place, which every line is to name; empty: whoever catches them names it.
    """

    def __init__(self, source: str = "") -> None:
        self._source = source
        self._lines: dict[str, None] = {}

    def tried(self, check: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result | None:
        """Return the result of a check; None if it raised `BadInput`, which is kept, or needs a download first."""
        try:
            return check(*args, **kwargs)
        except WouldDownload:
            return None
        except BadInput as error:
            self.add(error)
            return None

    def add(self, error: BadInput) -> None:
        """Keep an error."""
        self._lines |= dict.fromkeys(_named(line, self._source) for line in str(error).splitlines())

    def __bool__(self) -> bool:
        return bool(self._lines)

    def raise_any(self) -> None:
        """Raise all errors as one.

        Raises:
            BadInput: there is at least one.
        """
        if self._lines:
            raise self.error()

    def error(self) -> BadInput:
        """Return all errors as one."""
        return BadInput("\n".join(self._lines))


def _named(line: str, source: str) -> str:
    return line if line.startswith(source) else f"{source}: {line}"


_CLOSE = 0.65
"""Ratio of similarity (difflib) from which a known word is what the user may have meant."""

_MANY = 25


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a remedy for an unknown word: the closest known word, if any, and all known ones, unless there are many.

    >>> nearest("kil", ["kill", "pause"])
    'did you mean "kill"? Known: kill, pause'
    """
    names = sorted(set(known))
    guess = guessed(word, names)
    if guess and len(names) > _MANY:
        return guess
    return f"{guess} Known: {', '.join(names)}".lstrip()


def guessed(word: str, known: Iterable[str]) -> str:
    """Return the question whether the closest known word is meant; empty if none is close.

    >>> guessed("kil", ["kill", "pause"])
    'did you mean "kill"?'
    """
    close = difflib.get_close_matches(word, sorted(known), n=1, cutoff=_CLOSE)
    return f'did you mean "{close[0]}"?' if close else ""
