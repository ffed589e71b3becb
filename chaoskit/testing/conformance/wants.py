"""What a suite wants of a plug-in, collected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import Any

from pydantic import BaseModel

from chaoskit.contract.power import words


class Wants:
    """Collects what is missing; used as a context, it raises at the end.

    Args:
        what: the plug-in, for the message.

    Raises:
        AssertionError: something is missing; on leaving the context.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._missing: list[str] = []

    def that(self, holds: object, otherwise: str) -> bool:
        """Note something that is missing, unless it holds; return whether it does."""
        if not holds:
            self._missing.append(otherwise)
        return bool(holds)

    def attributes(self, plug_in: Any, *names: str) -> bool:
        """Want a plug-in to have these attributes."""
        missing = [name for name in names if not self.that(hasattr(plug_in, name), f"it has no `{name}`")]
        return not missing

    def options(self, model: Any, name: str) -> None:
        """Want a model of keys that refuses those that it does not know, and whose instances do not change."""
        if not self.that(isinstance(model, type) and issubclass(model, BaseModel), f"`{name}` is no pydantic model"):
            return
        self.that(model.model_config.get("extra") == "forbid", f"`{name}` does not refuse unknown keys (extra=forbid)")
        self.that(model.model_config.get("frozen"), f"`{name}` is not frozen")

    def powers(self, powers: Any) -> None:
        """Want powers to be protocols that can be looked up, and described."""
        for power in powers:
            name = getattr(power, "__name__", repr(power))
            runtime = getattr(power, "_is_runtime_protocol", False)
            self.that(runtime, f"{name} is no @runtime_checkable protocol")
            self.that(
                words(power) != name,
                f'the first line of the docstring of {name} does not say what it is ("...: <what>")',
            )

    def record(self, value: object, name: str) -> None:
        """Want a frozen record."""
        frozen = is_dataclass(value) and getattr(value, "__dataclass_params__").frozen  # noqa: B009  # is in no stub
        self.that(frozen, f"{name} is no frozen dataclass: {value!r}")

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Note what a step raises, and go on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # whatever a plug-in raises is what the suite tells
            self._missing.append(f"{what}: {type(error).__name__}: {error}")

    def __enter__(self) -> Wants:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._missing and kind is None:
            __tracebackhide__ = True
            raise AssertionError(f"{self._what}:\n" + "\n".join(f"  - {each}" for each in self._missing))
