"""Errors that a user sees, each with its exit code and its remedy.

ChaoskitError
├── BadInput       254: what was asked for cannot be done; nothing was started
└── RunFailed      255: the run broke; everything recorded was kept and the machine was cleaned
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ChaoskitError(Exception):
    """An error to be shown as one message, without a stack trace."""

    exit_code = 255


class BadInput(ChaoskitError):
    """The scenario, the arguments or the machine do not allow what was asked for."""

    exit_code = 254


class RunFailed(ChaoskitError):
    """A run broke before it could be judged; the message names the run folder and its logs."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a remedy for an unknown word: the nearest known one, or all of them.

    >>> nearest("kil", ["kill", "pause"])
    'did you mean "kill"? Known: kill, pause'
    """
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    guess = f'did you mean "{close[0]}"? ' if close else ""
    return f"{guess}Known: {', '.join(names)}"
