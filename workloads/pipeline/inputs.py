"""What an input is: a text, JSON, or what a function of the user's makes of its id."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workloads.pipeline.functions import FunctionName, function

ID = "{id}"
"""What is replaced by the id of an input in its payload."""


class Payload(BaseModel):
    """The payload of inputs.

    Attributes:
        text: a text.
        json: what is written as JSON.
        python: a function that returns the payload (bytes, text, or what is written as JSON) of an id; the same one
            whenever it is called.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    text: str = ID
    json_: Any = Field(default=None, alias="json")
    python: FunctionName = ""

    @model_validator(mode="after")
    def _has_id(self) -> Self:
        if not self.python and self.json_ is None and ID not in self.text:
            raise ValueError(f"payload.text: nothing in it tells one input from another; write {ID} into it")
        if self.json_ is not None and ID not in json.dumps(self.json_):
            raise ValueError(f"payload.json: nothing in it tells one input from another; write {ID} into it")
        return self

    def maker(self) -> Callable[[int], bytes]:
        """Return what makes the payload of an id."""
        if self.python:
            make = function(self.python)
            return lambda number: as_bytes(make(number))
        template = self.text if self.json_ is None else json.dumps(self.json_)
        return lambda number: template.replace(ID, str(number)).encode()


def as_bytes(content: Any) -> bytes:
    """Return what a function of the user's made as the bytes of a message."""
    if isinstance(content, bytes):
        return content
    return content.encode() if isinstance(content, str) else json.dumps(content).encode()


def value_of(payload: bytes, make: Callable[[int], bytes]) -> int | None:
    """Return the id of an input, given its payload and what made it: one of the numbers in it; None if it is no input.

    >>> value_of(b"order 17 of 20", lambda number: f"order {number} of 20".encode())
    17
    """
    return next((number for number in map(int, re.findall(rb"[0-9]+", payload)) if make(number) == payload), None)
