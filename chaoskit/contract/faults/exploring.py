"""Trying single messages of a protocol: a quiet run counts them, then each run does something to one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

Passed = Mapping[tuple[str, str, str], int]
"""How many messages passed, by the host that they came to or from, by direction (`request` or `response`), and by
name."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which messages to try.

    Attributes:
        messages: patterns of their names.
        then: what is done with each; empty: what the nemesis does by default.
    """

    messages: Sequence[str] = ("*",)
    then: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Aim:
    """One message, and what is done with it.

    Attributes:
        on: the hosts where it is counted: one; or all, if only one had such messages in the quiet run, since it comes
            to whoever leads.
        of: `request` or `response`.
        message: its name in the protocol.
        number: which one of its kind, from 1.
        among: how many the quiet run had there.
        then: what is done with it.
    """

    on: tuple[str, ...]
    of: str
    message: str
    number: int
    among: int
    then: str


@runtime_checkable
class Exploring(Protocol):
    """Optional power of a nemesis: do something to one message of a protocol at a time (`chaoskit wire`)."""

    @property
    def actions(self) -> Sequence[str]:
        """What it does with a message by default."""

    @property
    def load_ns(self) -> int:
        """How long the load of a run may take, so that it still waits for a message that comes late."""

    def names(self, system: Any, options: Any) -> Mapping[str, Sequence[str]]:
        """Return the names of all messages of a system's protocol, by direction: `request` and `response`.

        Args:
            system: the system.
            options: its validated options.

        Raises:
            BadInput: the protocol is not known, or cannot be read with these options.
        """
        ...

    def counting(self, hosts: Sequence[str]) -> Mapping[str, Any]:
        """Return the keys of a fault on these hosts that does nothing but count messages."""
        ...

    def passed(self, figures: Mapping[str, Mapping[str, Any]]) -> Passed:
        """Return what such a fault counted, given the figures of its healing."""
        ...

    def aims(self, passed: Passed, hosts: Sequence[str], wishes: Wishes) -> Iterator[Aim]:
        """Yield what is tried, given what passed in the quiet run.

        Raises:
            BadInput: something is wished that does nothing.
        """
        ...

    def keys(self, aim: Aim) -> Mapping[str, Any]:
        """Return the keys of the fault that does it."""
        ...
