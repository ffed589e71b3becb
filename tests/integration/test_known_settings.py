"""Settings against the jars of real releases, which are downloaded if they are not in the cache; nothing is started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from shipped import variants

from chaoskit.base.errors import BadInput
from chaoskit.contract import installed
from chaoskit.scenario.plan import Plan, make_plan
from chaoskit.search.sweep import load_sweep
from clusters.kafka import artifacts as kafka
from clusters.kafka.known import BROKER, gather

ROOT = Path(__file__).parents[2]
MISSPELT = [
    ("kafka", "config", "min.insync.replica", "min.insync.replicas"),
    ("kafka", "config", "log.flush.interval.message", "log.flush.interval.messages"),
    ("kafka", "config", "log.flush.intervall.ms", "log.flush.interval.ms"),
    ("kafka", "config", "unclean.leader.elections.enable", "unclean.leader.election.enable"),
    ("kafka", "config", "broker.session.timeout", "broker.session.timeout.ms"),
    ("kafka", "config", "replica.lag.max.time.ms", "replica.lag.time.max.ms"),
    ("kafka", "config", "auto.create.topic.enable", "auto.create.topics.enable"),
    ("kafka", "config", "offset.topic.replication.factor", "offsets.topic.replication.factor"),
    ("kafka", "config", "transaction.state.log.min.insync", "transaction.state.log.min.isr"),
    ("kafka", "config", "num.io.thread", "num.io.threads"),
    ("kafka", "topic", "min.insync.replica", "min.insync.replicas"),
    ("kafka", "topic", "flush.message", "flush.messages"),
    ("kafka", "topic", "retention.m", "retention.ms"),
    ("kafka", "topic", "cleanup.policies", "cleanup.policy"),
    ("bookkeeper", "config.bookie", "journalSyncdata", "journalSyncData"),
    ("bookkeeper", "config.bookie", "jurnalWriteData", "journalWriteData"),
    ("bookkeeper", "config.bookie", "journalMaxGroupWaitMs", "journalMaxGroupWaitMSec"),
    ("bookkeeper", "config.bookie", "dbStorage_writeCacheMaxSizeMB", "dbStorage_writeCacheMaxSizeMb"),
    ("bookkeeper", "config.bookie", "autoRecoveryDeamonEnabled", "autoRecoveryDaemonEnabled"),
    ("bookkeeper", "config.bookie", "zkTimeOut", "zkTimeout"),
    ("bookkeeper", "config.zookeeper", "forcesync", "forceSync"),
    ("bookkeeper", "config.zookeeper", "tickTimes", "tickTime"),
    ("bookkeeper", "config.zookeeper", "snapCounts", "snapCount"),
    ("pulsar", "config.broker", "managedLedgerCacheSizeMb", "managedLedgerCacheSizeMB"),
    ("pulsar", "config.broker", "autoSkipNonRecoverableDatas", "autoSkipNonRecoverableData"),
    ("pulsar", "config.broker", "metadataStoreSessionTimeoutMs", "metadataStoreSessionTimeoutMillis"),
    ("pulsar", "config.broker", "zookeeperSessionExpirePolicy", "zookeeperSessionExpiredPolicy"),
    ("pulsar", "config.broker", "bookkeeper_addEntryTimeoutSecs", "bookkeeper_addEntryTimeoutSec"),
    ("pulsar", "config.bookie", "journalSyncDatas", "journalSyncData"),
    ("pulsar", "config.zookeeper", "maxClientCnxn", "maxClientCnxns"),
]
RELEASES = {
    "kafka": ("3.0.2", "3.7.2", "3.9.1", "4.0.0", "4.1.1", "4.4.0"),
    "bookkeeper": ("4.16.1", "4.17.2", "4.18.0"),
    "pulsar": ("4.0.7", "4.2.4"),
}
PLUG_INS = {"listener.name.plaintext.sasl.jaas.config", "ssl.engine.factory.class", "metric.reporters", "super.users"}


def _options(system: str, version: str, place: str, settings: dict[str, Any]) -> Any:
    content: dict[str, Any] = settings
    for key in reversed(place.split(".")):
        content = {key: content}
    return installed.system(system, "").options.model_validate({"version": version, **content})


def _clusters() -> dict[str, Plan]:
    """Return a plan for each cluster of the ready-made scenarios and sweeps."""
    plans = [make_plan(written.parsed(), written.source) for written in variants().values()]
    sweeps = [load_sweep(path, seeds=1) for path in (ROOT / "scenarios/sweeps").glob("*.yaml")]
    plans += [plan for sweep in sweeps for cell in sweep.cells for plan in cell.plans.values()]
    return {f"{plan.scenario.cluster.system} {plan.system_options.model_dump_json()}": plan for plan in plans}


def _refused(releases: Sequence[str], system: str, place: str, name: str, nearest: str) -> None:
    for version in releases:
        with pytest.raises(BadInput) as refused:
            installed.system(system, "").prepare(_options(system, version, place, {name: 1}))

        assert f'did you mean "{nearest}"?' in str(refused.value)
        installed.system(system, "").prepare(_options(system, version, place, {nearest: 1}))


@pytest.mark.parametrize(("system", "place", "name", "nearest"), MISSPELT)
def test_a_misspelt_setting_is_refused_with_the_right_one(system: str, place: str, name: str, nearest: str) -> None:
    default = installed.system(system, "").options.model_fields["version"].default
    _refused([default], system, place, name, nearest)


@pytest.mark.chaos
@pytest.mark.long
@pytest.mark.parametrize(("system", "place", "name", "nearest"), MISSPELT)
def test_so_it_is_by_all_releases(system: str, place: str, name: str, nearest: str) -> None:
    _refused(RELEASES[system], system, place, name, nearest)


@pytest.mark.chaos
@pytest.mark.long
def test_every_setting_of_the_repository_is_known() -> None:
    clusters = _clusters()

    assert len(clusters) > 50
    for plan in clusters.values():
        plan.system.check(plan.declared)
        plan.system.prepare(plan.system_options)


@pytest.mark.chaos
@pytest.mark.long
@pytest.mark.parametrize("version", RELEASES["kafka"])
def test_settings_of_plug_ins_are_taken(version: str) -> None:
    installed.system("kafka", "").prepare(_options("kafka", version, "config", dict.fromkeys(PLUG_INS, "x")))


@pytest.mark.chaos
@pytest.mark.long
def test_settings_came_and_went_with_releases() -> None:
    first, last = (set(gather(kafka.fetch(version))[BROKER]) for version in ("3.0.2", "4.1.1"))

    assert "inter.broker.protocol.version" in first - last
    assert "controller.quorum.bootstrap.servers" in last - first


def test_the_oldest_release_knows_its_settings_and_those_of_zookeeper() -> None:
    names = {group: set(settings) for group, settings in gather(kafka.fetch("2.3.0")).items()}

    assert {"zookeeper.session.timeout.ms", "log.dirs", "log.flush.interval.messages", "broker.id"} <= names[BROKER]
    assert not names[BROKER] & {"dirs", "flush.interval.messages", "process.roles"}
    assert {"tickTime", "forceSync", "preAllocSize", "maxClientCnxns"} <= names["zookeeper"]


@pytest.mark.chaos
@pytest.mark.long
def test_defaults_of_groups_are_settings_of_brokers() -> None:
    for version in ("4.1.1", "4.4.0"):
        brokers = set(gather(kafka.fetch(version))[BROKER])
        assert "group.consumer.session.timeout.ms" in brokers
        assert "consumer.session.timeout.ms" not in brokers
