"""What this machine can and cannot do: one record per capability, with the fix."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether one capability works on this machine.

    Attributes:
        name: the capability, in words.
        works: whether it works, determined by trying it.
        detail: what was observed.
        remedy: how to make it work; empty if it does.
        required: whether local runs need it.
    """

    name: str
    works: bool
    detail: str
    remedy: str = ""
    required: bool = True
