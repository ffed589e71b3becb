"""What this machine can and cannot do: one record a capability, with the way to mend it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether one capability works here.

    Attributes:
        name: what a scenario may ask for, in words.
        works: measured by trying it.
        detail: what was seen.
        remedy: what to do where it does not work; empty where it does.
        required: whether local runs are impossible without it.
    """

    name: str
    works: bool
    detail: str
    remedy: str = ""
    required: bool = True
