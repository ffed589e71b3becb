"""What proves a fault: figures that were measured, and the sentence that is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """A proof that a fault took effect, or that it is healed.

    Attributes:
        sentence: what was measured, for people.
        figures: what was measured, for programs: by the host, client or other thing that it is of, a record of names
            and JSON values. Names carry their unit (`round_trip_ms`). Empty if a program can do nothing with it.
    """

    sentence: str
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.sentence

    @classmethod
    def of_all(cls, pieces: Iterable[Evidence | str]) -> Evidence:
        """Return several proofs as one; figures of one thing are joined.

        >>> Evidence.of_all([Evidence("n1: 3 lost", {"n1": {"lost": 3}}), "n2 answers"])
        Evidence(sentence='n1: 3 lost; n2 answers', figures={'n1': {'lost': 3}})
        """
        figures: dict[str, dict[str, Any]] = {}
        sentences = []
        for piece in pieces:
            sentences.append(str(piece))
            for name, of_one in piece.figures.items() if isinstance(piece, Evidence) else ():
                figures.setdefault(name, {}).update(of_one)
        return cls("; ".join(filter(None, sentences)), figures)
