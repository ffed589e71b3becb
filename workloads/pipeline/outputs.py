"""How many outputs an input must have."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from chaoskit.base.errors import BadInput
from workloads.pipeline.functions import FunctionName, function


class OutputCount(BaseModel):
    """How many outputs an input must have in each of `writes`: a number, or a range such as `0..1`.

    Attributes:
        least, most: the bounds.
        python: instead of them, a function that returns a number, or two, of the id of an input; the same whenever it
            is called.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    least: int = 1
    most: int = 1
    python: FunctionName = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        if isinstance(given, int):
            return {"least": given, "most": given}
        if isinstance(given, str) and ".." in given:
            given = given.split("..", 1)
        if isinstance(given, list | tuple) and len(given) == 2:
            return {"least": given[0], "most": given[1]}
        return given

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if not 0 <= self.least <= self.most or not self.most:
            raise ValueError(f"{self.least}..{self.most} is no range of numbers of outputs, such as 1, or 0..1")
        return self

    def of(self, value: int) -> tuple[int, int]:
        """Return the bounds for an input, given its id.

        Raises:
            BadInput: the user's function returned something else.
        """
        if not self.python:
            return self.least, self.most
        given = function(self.python)(value)
        least, most = given if isinstance(given, tuple | list) and len(given) == 2 else (given, given)
        if not (isinstance(least, int) and isinstance(most, int) and 0 <= least <= most):
            raise BadInput(
                f"workload.outputs: {self.python} returned {given!r} for {value}; return a number of outputs, or the "
                "least and the most"
            )
        return least, most
