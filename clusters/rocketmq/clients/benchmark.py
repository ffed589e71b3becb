"""OMB's driver of RocketMQ, `driver-rocketmq`: settings of RocketMQ's own client by the names that it has for them.

See `RocketMQClientConfig` and `RocketMQBenchmarkDriver` of openmessaging/benchmark, commit 8559989.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.systems.benchmark import Driven, check_keys
from clusters.common.java import PRODUCTION
from clusters.rocketmq.clients.settings import ASYNC, NAME_SERVERS, SEND

DRIVER_CLASS = "RocketMQBenchmarkDriver"

_HOSTS = 3
_VIP = "vipChannelEnabled"
_FLAGS = {
    _VIP: _VIP,
    "autoBatch": "autoBatch",
    "enableBackpressure": "enableBackpressureForAsyncMode",
}
_NUMBERS = {
    "maxMessageSize": "maxMessageSize",
    "compressMsgBodyOverHowmuch": "compressMsgBodyOverHowmuch",
    "batchMaxBytes": "batchMaxBytes",
    "batchMaxDelayMs": "batchMaxDelayMs",
    "totalBatchMaxBytes": "totalBatchMaxBytes",
    "backpressureConcurrency": "backPressureForAsyncSendNum",
}
"""By OMB's names: those of `DefaultMQProducer`."""

_NOT_IN_LABS = {
    "batchCQ": "topics of a lab have plain consume queues",
    "accessKey": "a lab needs no key",
    "secretKey": "a lab needs no key",
}
_KEYS = ("name", "driverClass", NAME_SERVERS, "clusterName", *_FLAGS, *_NUMBERS, *_NOT_IN_LABS)


def driven(content: Mapping[str, Any]) -> Driven:
    """See `chaoskit.contract.systems.benchmark.Benchmarked`; there is no other client than RocketMQ's own."""
    check_keys("RocketMQ", content, _KEYS)
    given = {key: value for key, value in content.items() if value is not None}
    for names, kind, example in ((_FLAGS, bool, "true or false"), (_NUMBERS, int, "a number")):
        for key in names:
            if type(given.get(key, kind())) is not kind:
                raise BadInput(f"{key}: {given[key]!r}: write {example}")
    producer = {name: given[theirs] for theirs, name in (_FLAGS | _NUMBERS).items() if theirs in given}
    ignored = [f"{key}: {why}" for key, why in _NOT_IN_LABS.items() if given.get(key)]
    return Driven(
        attach={NAME_SERVERS: given.get(NAME_SERVERS, "")},
        cluster={},
        workload={
            "producer": {SEND: ASYNC, **producer},
            "consumer": {_VIP: given[_VIP]} if _VIP in given else {},
        },
        hosts=_HOSTS,
        lab={"jvm": PRODUCTION},
        ignored=("consumers pull, as members of a group; OMB's are pushed to", *ignored),
    )
