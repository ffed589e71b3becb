"""What was derived of findings: which cases a mechanism explains, by which faults, and which it leaves in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.judge.explaining.record import NONE, Flags, Ints


class Story(NamedTuple):
    """What happened to some messages.

    Attributes:
        words: in words; empty if the setting alone says it.
        faults: the faults that did it, in order of time.
    """

    words: str = ""
    faults: tuple[Effect, ...] = ()


@dataclass(slots=True)
class Derived:
    """Which of some findings are explained, and how.

    Attributes:
        story_of: for each finding the index of its story; `NONE` if nothing explains it.
        stories: the stories.
        open: the findings of which the record does not hold what is needed.
        missing: what it lacks.
    """

    story_of: Ints
    stories: list[Story] = field(default_factory=list)
    open: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    missing: str = ""

    @classmethod
    def nothing(cls, size: int) -> Derived:
        """Return that nothing explains any of some findings."""
        return cls(np.full(size, NONE), [], np.zeros(size, np.bool_))

    def tell(self, rows: Ints, story: Story) -> None:
        """Give findings a story, unless they have one."""
        rows = rows[self.story_of[rows] == NONE]
        if rows.size:
            if story not in self.stories:
                self.stories.append(story)
            self.story_of[rows] = self.stories.index(story)

    def doubt(self, rows: Ints, missing: str) -> None:
        """Leave findings in doubt that have no story."""
        self.open[rows] = True
        if rows.size:
            self.missing = self.missing or missing


def joined(faults: Sequence[Effect]) -> tuple[Effect, ...]:
    """Return faults once each, in order of time."""
    return tuple(sorted({fault.number: fault for fault in faults}.values(), key=lambda fault: fault.start_ns))
