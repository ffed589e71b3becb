"""The settings that are in effect, as brokers describe them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from chaoskit.base.waiting import wait_while
from chaoskit.contract.systems.service import ServiceError

_TIMEOUT_S = 20
_ANSWER_S = 5


class Reporter:
    """The power `Reporting` of `chaoskit.contract.systems.service`.

    Args:
        brokers: id of each broker's node, by the name of its host.
        admin: client for requests.
        topics: returns the topics of the trial.
        beside: returns what other processes of the cluster report, by process.
    """

    def __init__(
        self,
        brokers: Mapping[str, str],
        admin: AdminClient,
        topics: Callable[[], Sequence[str]],
        beside: Callable[[], Mapping[str, Mapping[str, str]]] = dict,
    ) -> None:
        self._beside = beside
        self._brokers = brokers
        self._admin = admin
        self._topics = topics

    def settings_in_effect(self) -> Mapping[str, Mapping[str, str | None]]:
        settings: dict[str, Mapping[str, str | None]] = {}
        if failed := wait_while(lambda: self._ask(settings), _TIMEOUT_S):
            raise ServiceError(f"settings in effect: {failed}")
        return {**settings, **self._beside()}

    def _ask(self, settings: dict[str, Mapping[str, str | None]]) -> str:
        """Add what brokers tell; return why one did not, which a closed connection is reason enough for."""
        asked = {
            f"broker {name}": ConfigResource(ConfigResource.Type.BROKER, node) for name, node in self._brokers.items()
        }
        asked |= {f"topic {topic}": ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in self._topics()}
        try:
            # A request may name one broker only.
            futures = [
                self._admin.describe_configs([resource], request_timeout=_ANSWER_S)[resource]
                for resource in asked.values()
            ]
            for name, future in zip(asked, futures, strict=True):
                settings[name] = {key: entry.value for key, entry in sorted(future.result().items())}
        except KafkaException as error:
            return str(error.args[0].str())
        return ""
