"""Explanations that a system may add of powers: what a system does not say, it does not support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from chaoskit.contract.systems.system import System


class Explanations(NamedTuple):
    """What a system says of powers; each is an attribute that it may have.

    Attributes:
        given: powers of services or clients that require certain options; the value names the options.
        never: powers that the system does not offer; the value is the reason.
        notyet: powers that the system offers but chaoskit does not implement; the value says what is missing.
    """

    given: Mapping[type, str]
    never: Mapping[type, str]
    notyet: Mapping[type, str]


def explanations(system: System) -> Explanations:
    """Return the explanations of a system; empty ones for those that it does not have."""
    return Explanations(*(getattr(system, name, {}) for name in Explanations._fields))
