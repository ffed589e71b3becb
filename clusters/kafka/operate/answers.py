"""What a cluster answers to an admin client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaException

from chaoskit.contract.systems.service import ServiceError

Asked = TypeVar("Asked")


def answers(asked: Mapping[Asked, Any], purpose: str) -> dict[Asked, Any]:
    """Wait for the answers to what an admin client has asked, and return them.

    Args:
        asked: the futures, by what each is of.
        purpose: what could not be done otherwise, for the error.

    Raises:
        ServiceError: one of them is an error.
    """
    try:
        return {of: done.result() for of, done in asked.items()}
    except KafkaException as error:
        raise ServiceError(f"{purpose}: {error.args[0].str()}") from error
