"""OMB's files: what they mean for a scenario, and what is refused or told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omb_files import DRIVER, PULSAR_DRIVER, ROCKETMQ_DRIVER, WORKLOAD

from chaoskit.base import yaml
from chaoskit.base.errors import BadInput
from chaoskit.interop.omb.climb import climbs
from chaoskit.interop.omb.plans import Bench, BenchOptions, read_benches
from chaoskit.interop.omb.room import check_room

_ALL = BenchOptions(lab=False, hosts=None, warm_up_ns=None, length_ns=None)


def _benches(folder: Path, wishes: BenchOptions = _ALL, workload: Any = WORKLOAD, driver: Any = DRIVER) -> list[Bench]:
    (folder / "work.yaml").write_text(yaml.dump(workload))
    (folder / "kafka.yaml").write_text(yaml.dump(driver))
    return read_benches([folder / "kafka.yaml", folder / "work.yaml"], wishes)


def test_a_workload_with_a_driver(tmp_path: Path) -> None:
    (bench,) = _benches(tmp_path)

    cluster, load = bench.plan.scenario.cluster, bench.plan.workload_options
    assert (cluster.system, cluster.hosts) == ("kafka", 3)
    assert (bench.stem, bench.driver.stem, bench.driver.name) == ("work", "kafka", "Kafka")
    assert cluster.attach == {"bootstrap.servers": "k1:9092,k2:9092", "security.protocol": "PLAINTEXT"}
    assert bench.plan.system_options.topic == {"min.insync.replicas": "2", "flush.messages": "1"}
    assert (load.topics, load.partitions, load.replication, load.message_size) == (1, 6, 3, 100)
    assert (load.producers, load.consumers, load.consumption, load.rate) == (3, 2, "group", 50_000)
    assert load.producer == {"acks": "all", "linger.ms": "1", "batch.size": "131072"}
    assert load.consumer == {"enable.auto.commit": "false", "max.partition.fetch.bytes": "10485760"}
    assert (bench.warm_up_ns, bench.length_ns) == (60_000_000_000, 30_000_000_000), "fractions of minutes count"
    assert bench.plan.scenario.workload.duration == 90_000_000_000
    assert bench.driver.driven.ignored == (
        "auto.offset.reset: consumers read everything from the beginning",
        "max.request.size: librdkafka has no such property",
        "request.timeout.ms: 1200000 is outside librdkafka's range; its default is used",
    )


def test_a_lab_instead_of_the_drivers_cluster(tmp_path: Path) -> None:
    (bench,) = _benches(tmp_path, BenchOptions(lab=True, hosts=5, warm_up_ns=0, length_ns=2_000_000_000))

    assert bench.plan.host_names == ["n1", "n2", "n3", "n4", "n5"]
    assert not bench.plan.scenario.cluster.attach
    assert bench.plan.scenario.workload.duration == 2_000_000_000


@pytest.mark.parametrize("rate", [0, 10_000_000])
def test_the_rates_of_omb_that_mean_as_fast_as_possible(tmp_path: Path, rate: int) -> None:
    (bench,) = _benches(tmp_path, workload={**WORKLOAD, "producerRate": rate, "keyDistributor": "RANDOM_NANO"})

    assert bench.plan.workload_options.rate == "max"
    assert bench.plan.workload_options.keys == 10_000
    assert "keys are used in turn" in " ".join(bench.workload.remarks())
    assert climbs(bench) is (rate == 0), "0 is the highest rate that is borne"


@pytest.mark.parametrize(
    ("workload", "driver", "why"),
    [
        ({"produserRate": 1}, {}, r"work\.yaml: produserRate: .*producerRate"),
        ({"producerRate": None}, {}, r"work\.yaml: producerRate"),
        ({"consumerBacklogSizeGB": 5, "producerRate": 0}, {}, r"work\.yaml: .*consumerBacklogSizeGB needs a rate"),
        ({"consumerBacklogSizeGB": 5, "subscriptionsPerTopic": 0}, {}, r"work\.yaml: .* needs consumers; set consumer"),
        ({"consumerBacklogSizeGB": -1}, {}, r"work\.yaml: consumerBacklogSizeGB: must be at least 0"),
        ({"messageSize": 10}, {}, r"work\.yaml: workload\.message_size"),
        ({}, {"driverClass": "a.b.NatsDriver"}, r"kafka\.yaml: driverClass: NatsDriver is not supported; .*Kafka"),
        ({}, {"topicconfig": "x=1"}, r"kafka\.yaml: topicconfig: OMB's driver of Kafka has no such key; .*topicConfig"),
        ({}, {"producerConfig": None}, r"kafka\.yaml: producerConfig: is missing"),
        ({}, {"producerConfig": "acks"}, r"kafka\.yaml: producerConfig: 'acks' is no property; write name=value"),
        ({}, {"commonConfig": "a=b"}, r"kafka\.yaml: commonConfig: bootstrap\.servers is missing"),
        ({}, {"producerConfig": "acks=some"}, r"kafka\.yaml: acks: rejected by librdkafka"),
        ({}, {"replicationFactor": 0}, r"kafka\.yaml: replicationFactor: 0 is no number of replicas"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, workload: Any, driver: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        _benches(tmp_path, workload={**WORKLOAD, **workload}, driver={**DRIVER, **driver})


def test_kafkas_own_client_takes_all_settings(tmp_path: Path) -> None:
    (bench,) = _benches(tmp_path, BenchOptions(lab=True, hosts=None, warm_up_ns=None, length_ns=None, java=True))

    assert bench.plan.system_options.clients == "java"
    assert bench.plan.workload_options.producer["max.request.size"] == "1048576"
    assert bench.driver.driven.ignored == ("auto.offset.reset: consumers read everything from the beginning",)


def test_several_subscriptions_are_groups_of_their_own(tmp_path: Path) -> None:
    (bench,) = _benches(tmp_path, workload={**WORKLOAD, "subscriptionsPerTopic": 3, "topics": 2})

    load = bench.plan.workload_options
    assert (load.groups, load.consumers, load.topics) == (3, 12, 2)


_BACKLOG = {**WORKLOAD, "consumerBacklogSizeGB": 100, "backlogDrainRatio": 0.75}


@pytest.mark.parametrize(("wish", "size"), [(None, 100 * 2**30), (2**20, 2**20)])
def test_a_backlog_is_built_after_the_warm_up(tmp_path: Path, wish: int | None, size: int) -> None:
    wishes = BenchOptions(lab=True, hosts=3, warm_up_ns=5_000_000_000, length_ns=None, backlog_bytes=wish)
    (bench,) = _benches(tmp_path, wishes, workload=_BACKLOG)

    backlog = bench.plan.workload_options.backlog
    assert (backlog.size, backlog.after, backlog.drain) == (size, 5_000_000_000, 0.75)
    assert bench.plan.provider_options.size == max(4 * 2**30, 2 * size), "the lab's disks hold it"


def test_the_size_of_a_backlog_makes_none(tmp_path: Path) -> None:
    wishes = BenchOptions(lab=True, hosts=3, warm_up_ns=None, length_ns=None, backlog_bytes=2**20)

    assert _benches(tmp_path, wishes)[0].plan.workload_options.backlog is None


def test_a_backlog_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    big, small = (
        _benches(tmp_path, BenchOptions(True, 3, None, None, backlog_bytes=size), workload=_BACKLOG)
        for size in (2**60, 2**20)
    )

    with pytest.raises(BadInput, match=r"work\.yaml: consumerBacklogSizeGB: 3,221,225,472\.0 GiB with all replicas do"):
        check_room(big, tmp_path / "not" / "there")
    check_room(small, tmp_path / "not" / "there")


def test_no_rate_is_looked_for_with_a_backlog(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"work\.yaml: consumerBacklogSizeGB: .*leave out --p99"):
        _benches(tmp_path, BenchOptions(True, 3, None, None, p99_ns=10**7), workload=_BACKLOG)


def test_both_kinds_of_files_are_needed(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(yaml.dump(WORKLOAD))

    with pytest.raises(BadInput, match=r"no driver \(with driverClass\) among .*work\.yaml"):
        read_benches([tmp_path / "work.yaml"], _ALL)


_LAB = BenchOptions(lab=True, hosts=None, warm_up_ns=None, length_ns=None)


def test_a_driver_of_pulsar(tmp_path: Path) -> None:
    (bench,) = _benches(tmp_path, _LAB, driver=PULSAR_DRIVER)

    options, load = bench.plan.system_options, bench.plan.workload_options
    assert bench.plan.scenario.cluster.hosts == 4
    kept = options.persistence
    assert (kept.ensemble, kept.write_quorum, kept.ack_quorum, options.deduplication) == (4, 3, 2, True)
    assert load.producer == {
        "batching_enabled": True,
        "batching_max_publish_delay_ms": 1,
        "batching_max_allowed_size_in_bytes": 131_072,
    }
    assert load.consumer == {"receiver_queue_size": 10_000}
    assert bench.driver.driven.ignored == ("client.ioThreads: pulsar-client, or the lab, has no such setting",)


def test_pulsars_own_client_takes_all_settings(tmp_path: Path) -> None:
    (bench,) = _benches(tmp_path, BenchOptions(True, None, None, None, java=True), driver=PULSAR_DRIVER)

    load = bench.plan.workload_options
    assert bench.plan.system_options.clients == "java"
    assert load.producer == {
        "numIoThreads": 16,
        "batchingEnabled": True,
        "batchingMaxPublishDelayMicros": 1000,
        "batchingMaxBytes": 131_072,
        "blockIfQueueFull": True,
        "maxPendingMessages": 0,
    }
    assert load.consumer == {"numIoThreads": 16, "receiverQueueSize": 10_000}
    assert bench.driver.driven.ignored == ()


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        ({"producers": {}}, r"kafka\.yaml: producers: OMB's driver of Pulsar has no such key; .*producer"),
        ({"consumer": {"receiverQueueSise": 1}}, r"consumer\.receiverQueueSise: .*receiverQueueSize"),
        ({"client": {"topicType": "non_persistent"}}, r"client\.topicType: only persistent topics"),
        ({"client": {"persistence": {"acks": 1}}}, r"client\.persistence\.acks: .*ackQuorum"),
    ],
)
def test_what_a_driver_of_pulsar_cannot_say(tmp_path: Path, driver: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        _benches(tmp_path, _LAB, driver={**PULSAR_DRIVER, **driver})


def test_a_driver_of_rocketmq(tmp_path: Path) -> None:
    driver = {**ROCKETMQ_DRIVER, "chaoskit": {"mode": "controller", "config": {"flushDiskType": "SYNC_FLUSH"}}}

    (bench,) = _benches(tmp_path, _LAB, driver=driver)

    options, load = bench.plan.system_options, bench.plan.workload_options
    assert (bench.plan.scenario.cluster.hosts, options.mode, options.jvm) == (3, "controller", ["production"])
    assert options.config == {"flushDiskType": "SYNC_FLUSH"}
    assert (load.topics, load.partitions) == (1, 6)
    assert load.producer == {
        "send": "async",
        "vipChannelEnabled": False,
        "autoBatch": True,
        "batchMaxDelayMs": 5,
        "enableBackpressureForAsyncMode": True,
        "backPressureForAsyncSendNum": 1024,
    }
    assert load.consumer == {"vipChannelEnabled": False}
    assert bench.driver.driven.ignored == (
        "consumers pull, as members of a group; OMB's are pushed to",
        "batchCQ: topics of a lab have plain consume queues",
    )


def test_rocketmqs_client_knows_each_setting_of_the_driver(tmp_path: Path) -> None:
    numbers = {"maxMessageSize": 1000, "compressMsgBodyOverHowmuch": 4096, "batchMaxBytes": 100}
    driver = {**ROCKETMQ_DRIVER, **numbers, "totalBatchMaxBytes": 1000, "accessKey": "me"}

    (bench,) = _benches(tmp_path, _LAB, driver=driver)

    producer = bench.plan.workload_options.producer
    assert {name: producer[name] for name in numbers} == numbers
    assert bench.driver.driven.ignored[-1] == "accessKey: a lab needs no key"


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        ({"batchMaxDelayMillis": 5}, r"kafka\.yaml: batchMaxDelayMillis: OMB's driver of RocketMQ .*batchMaxDelayMs"),
        ({"autoBatch": "yes"}, r"kafka\.yaml: autoBatch: 'yes': write true or false"),
        ({"maxMessageSize": True}, r"kafka\.yaml: maxMessageSize: True: write a number"),
    ],
)
def test_what_a_driver_of_rocketmq_cannot_say(tmp_path: Path, driver: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        _benches(tmp_path, _LAB, driver={**ROCKETMQ_DRIVER, **driver})


@pytest.mark.parametrize(("driver", "system"), [(ROCKETMQ_DRIVER, "rocketmq"), (PULSAR_DRIVER, "pulsar")])
def test_systems_that_cannot_be_attached_need_a_lab(tmp_path: Path, driver: Any, system: str) -> None:
    wishes = BenchOptions(lab=False, hosts=None, warm_up_ns=None, length_ns=None)

    with pytest.raises(BadInput, match=rf"kafka\.yaml: driverClass: {system} is supported in a lab only; add --lab"):
        _benches(tmp_path, wishes, driver=driver)


def test_a_sweep_is_no_benchmark() -> None:
    with pytest.raises(BadInput, match=r"sweeps/pubsub: is a sweep; run it with `chaoskit sweep sweeps/pubsub`"):
        read_benches([Path("sweeps/pubsub")], _ALL)
