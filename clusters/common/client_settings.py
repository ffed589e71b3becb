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
        for detail in error.errors():
            name, known = ".".join(map(str, detail["loc"])), ", ".join(model.model_fields)
            message = (
                f"there is no such setting; there are {known}" if detail["type"] == "extra_forbidden" else detail["msg"]
            )
            problems.add(BadInput(f"workload.{role}.{name}: {message}"))
        problems.raise_any()
        raise
