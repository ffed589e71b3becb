"""When a run is to stop by itself: `stop_when`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.quantities import SECOND, Duration
from chaoskit.contract.options import Command


class StopWhen(BaseModel):
    """Conditions, any of which ends the load and heals all faults at once.

    Attributes:
        unavailable: no send was acknowledged for this long.
        lag: more acknowledged messages than this were not received yet.
        command: a command on the harness's machine that exits with 0; a text is one for the shell.
        every: how often the command is run.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    unavailable: Duration | None = None
    lag: Annotated[int, Field(ge=1)] | None = None
    command: Command | None = None
    every: Duration = 2 * SECOND

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.unavailable is None and self.lag is None and not self.command:
            raise ValueError("give at least one of unavailable, lag and command")
        return self
