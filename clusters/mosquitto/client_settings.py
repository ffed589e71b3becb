"""The settings of clients, and what they promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.quantities import SECOND, Duration
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Leaving
from chaoskit.model.observations.feed import PROMISES, Promise
from clusters.common.client_settings import checked

_FOR_EVER = 0xFFFFFFFF
"""Session expiry interval of MQTT 5: the session lasts until it is ended."""


class ClientSettings(BaseModel):
    """Settings of a client: `workload.producer`, `workload.consumer`.

    Attributes:
        qos: quality of service of what it publishes, or subscribes with.
        clean_session: whether its session ends with each connection.
        protocol: MQTT 3.1.1 or 5.
        keepalive: after so many seconds without a word the connection counts as lost.
        max_inflight: how many acknowledged messages are under way at most; others wait in the client.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    qos: Literal[0, 1, 2] = 1
    clean_session: bool = True
    protocol: Literal["3.1.1", "5"] = "3.1.1"
    keepalive: int = Field(default=5, ge=1, le=65535)
    max_inflight: int = Field(default=20, ge=1, le=65535)

    @property
    def expires_s(self) -> int:
        """Session expiry interval of MQTT 5, s."""
        return 0 if self.clean_session else _FOR_EVER


class MqttPublisherSettings(ClientSettings):
    """Settings of a publisher.

    Attributes:
        retain: whether the broker keeps the last message of each topic for subscribers that come later.
        message_expiry: how long the broker keeps a message for subscribers that are away, with MQTT 5; None: for ever.
    """

    retain: bool = False
    message_expiry: Annotated[Duration, Field(ge=SECOND)] | None = None

    @model_validator(mode="after")
    def _expires_in_mqtt_5(self) -> MqttPublisherSettings:
        if self.message_expiry is not None and self.protocol != "5":
            raise ValueError('message_expiry: only with MQTT 5; set protocol: "5"')
        if self.message_expiry is not None and self.retain:
            raise ValueError("message_expiry: not with retain: what a late subscriber is owed would not be known")
        return self


class MqttSubscriberSettings(ClientSettings):
    """Settings of a subscriber.

    Attributes:
        share: name of a group of subscribers, of which one gets each message (a shared subscription); empty: each does.
        wildcard: whether it subscribes once, with the filter `+`, which matches all topics, and ignores what is not the
            load's.
        session_expiry: how long its session lasts while it is away, with MQTT 5; None: until it is ended.
    """

    share: str = Field(default="", pattern=r"^[^/+#]*$")
    wildcard: bool = False
    session_expiry: Annotated[Duration, Field(ge=SECOND)] | None = None

    @model_validator(mode="after")
    def _lasts_in_mqtt_5(self) -> MqttSubscriberSettings:
        if self.session_expiry is not None and (self.clean_session or self.protocol != "5"):
            raise ValueError('session_expiry: only lasting sessions of MQTT 5; set clean_session: false, protocol: "5"')
        return self

    @property
    def expires_s(self) -> int:
        return super().expires_s if self.session_expiry is None else self.session_expiry // SECOND


def publisher_settings(settings: Mapping[str, Any]) -> MqttPublisherSettings:
    """Return the settings of a producer.

    Raises:
        BadInput: names each that is wrong, below `workload.producer`.
    """
    return checked(MqttPublisherSettings, "producer", settings)


def subscriber_settings(settings: Mapping[str, Any]) -> MqttSubscriberSettings:
    """Return the settings of a consumer; see `publisher_settings`."""
    return checked(MqttSubscriberSettings, "consumer", settings)


def check_owed(declared: Declared, publisher: MqttPublisherSettings, subscriber: MqttSubscriberSettings) -> None:
    """Reject subscribers of which could not be told what they are owed.

    Raises:
        BadInput: names the key and the remedy.
    """
    problems, bridge = Problems(), declared.options.bridge
    if bridge and subscriber.clean_session and min(publisher.qos, subscriber.qos) > 0:
        why = "what waits for a bridge outlives a clean session"
        problems.add(BadInput(f"workload.consumer.clean_session: {why}; set clean_session: false, or qos: 0"))
    if bridge and publisher.retain:
        problems.add(BadInput("workload.producer.retain: not with a bridge; remove one of them"))
    if bridge and bridge.direction == "both" and bridge.qos < min(publisher.qos, subscriber.qos):
        why = "clients of one broker would be promised more than those of two"
        problems.add(BadInput(f"cluster.bridge.qos: {bridge.qos}: {why}; set that of the clients"))
    if declared.get(Leaving) and (subscriber.share or not subscriber.clean_session):
        why = "who leaves a shared or lasting subscription leaves messages behind"
        problems.add(BadInput(f"workload.leavers: {why}; remove consumer.share, and set clean_session: true"))
    problems.raise_any()


def promise(publishing: Mapping[str, Any], subscribing: Mapping[str, Any], bridge_qos: int | None = None) -> Promise:
    """Return what subscribers are promised: the lowest quality of service on the way holds."""
    publisher, subscriber = publisher_settings(publishing), subscriber_settings(subscribing)
    qos = min(publisher.qos, subscriber.qos, 2 if bridge_qos is None else bridge_qos)
    retained = publisher.retain and qos > 0 and not subscriber.share and bridge_qos is None
    return Promise(PROMISES[qos], not subscriber.clean_session, retained=retained, share=subscriber.share)
