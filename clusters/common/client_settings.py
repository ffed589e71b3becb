"""Settings of clients, below `workload.producer` and `workload.consumer`, against a model of what there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from chaoskit.base.errors import BadInput, Problems

Settings = TypeVar("Settings", bound=BaseModel)


def checked(model: type[Settings], role: str, settings: Mapping[str, Any]) -> Settings:
    """Return a client's settings.

    Raises:
        BadInput: names each that is wrong, below `workload.ROLE`.
    """
    try:
        return model.model_validate(dict(settings))
    except ValidationError as error:
        problems = Problems()
        for each in error.errors():
            name, known = ".".join(map(str, each["loc"])), ", ".join(model.model_fields)
            told = f"there is no such setting; there are {known}" if each["type"] == "extra_forbidden" else each["msg"]
            problems.add(BadInput(f"workload.{role}.{name}: {told}"))
        problems.raise_any()
        raise
