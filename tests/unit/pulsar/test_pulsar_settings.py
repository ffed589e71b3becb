"""Who has which role, which quorums are in force, and the configuration files as each host needs them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from chaoskit.base.errors import BadInput
from clusters.pulsar.settings import PulsarOptions, broker_conf, check_settings
from clusters.storage.settings import BookieFolders, Quorums, bookkeeper_conf, quorums, zoo_cfg

ADDRESSES = [f"10.0.0.{index}" for index in range(1, 10)]
FOLDERS = BookieFolders(
    ["/disks/journal/bookkeeper/journal"], ["/data/a/bookkeeper/ledgers", "/data/b/bookkeeper/ledgers"]
)


def _options(**options: Any) -> PulsarOptions:
    return PulsarOptions.model_validate(options)


def _read(written: str) -> dict[str, str]:
    lines = written.splitlines()
    assert len({line.partition("=")[0] for line in lines}) == len(lines)
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize(
    ("hosts", "roles", "placed"),
    [
        (1, {}, ("1", "1", "1")),
        (2, {}, ("1", "12", "12")),
        (3, {}, ("123", "123", "123")),
        (6, {}, ("123", "123456", "123456")),
        (6, {"bookies": 3, "brokers": 3}, ("123", "456", "456")),
        (9, {"bookies": 3, "brokers": 3}, ("123", "456", "789")),
        (7, {"zookeepers": 1, "bookies": 3, "brokers": 3}, ("1", "234", "567")),
        (4, {"zookeepers": 1, "bookies": 3, "brokers": 1}, ("1", "234", "4")),
        (5, {"brokers": 2}, ("123", "12345", "45")),
        (4, {"bookies": 3, "brokers": 4}, ("123", "234", "1234")),
    ],
)
def test_roles_are_placed(hosts: int, roles: dict[str, int], placed: tuple[str, str, str]) -> None:
    layout = _options(roles=roles).place(hosts)

    names = tuple(
        "".join(str(index + 1) for index in indices) for indices in (layout.zookeepers, layout.bookies, layout.brokers)
    )
    assert names == placed


def test_services_of_a_host_are_named_in_the_order_of_their_start() -> None:
    layout = _options(roles={"brokers": 1}).place(4)

    assert [layout.services(index) for index in (0, 3)] == [("zookeeper", "bookie"), ("bookie", "broker")]


@pytest.mark.parametrize("role", ["zookeepers", "bookies", "brokers"])
def test_more_of_a_role_than_hosts_is_refused(role: str) -> None:
    with pytest.raises(BadInput, match=rf"cluster\.roles\.{role}: 4 require as many hosts; cluster\.hosts is 3"):
        _options(roles={role: 4}).place(3)


def test_a_host_without_a_role_is_refused() -> None:
    with pytest.raises(BadInput, match=r"cluster\.roles: n3, n4 would have no role; reduce cluster\.hosts"):
        _options(roles={"zookeepers": 1, "bookies": 1, "brokers": 1}).place(5)


@pytest.mark.parametrize(
    ("bookies", "given", "resolved"),
    [
        (1, {}, (1, 1, 1)),
        (2, {}, (2, 2, 2)),
        (3, {}, (3, 3, 2)),
        (6, {}, (3, 3, 2)),
        (6, {"ensemble": 5}, (5, 3, 2)),
        (3, {"write_quorum": 2}, (3, 2, 2)),
        (3, {"ack_quorum": 1}, (3, 3, 1)),
        (3, {"ensemble": 2, "write_quorum": 2, "ack_quorum": 1}, (2, 2, 1)),
    ],
)
def test_quorums_have_defaults(bookies: int, given: dict[str, int], resolved: tuple[int, int, int]) -> None:
    assert quorums(_options(persistence=given), bookies) == Quorums(*resolved)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"ensemble": 4}, r"cluster\.persistence\.ensemble: 4 requires as many bookies; there are 3"),
        ({"ensemble": 2, "write_quorum": 3}, r"cluster\.persistence\.write_quorum: 3 exceeds the ensemble, 2"),
        ({"write_quorum": 2, "ack_quorum": 3}, r"cluster\.persistence\.ack_quorum: 3 exceeds the write quorum, 2"),
    ],
)
def test_quorums_that_contradict_each_other_are_refused(given: dict[str, int], refusal: str) -> None:
    with pytest.raises(BadInput, match=refusal):
        quorums(_options(persistence=given), 3)


@pytest.mark.parametrize(
    "given",
    [
        {"persistence": {"ensemble": 0}},
        {"persistence": {"qw": 2}},
        {"config": {"bookies": {}}},
        {"roles": {"bookies": 0}},
        {"controllers": 1},
    ],
)
def test_what_nobody_knows_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _options(**given)


def test_zookeeper_knows_its_peers_and_keeps_its_data_on_the_data_disk() -> None:
    written = _read(zoo_cfg(_options(), ADDRESSES[:3], 1, "/data"))

    assert [written[f"server.{index}"] for index in (1, 2, 3)] == [f"10.0.0.{index}:2888:3888" for index in (1, 2, 3)]
    assert (written["dataDir"], written["clientPortAddress"]) == ("/data/zookeeper", "10.0.0.2")


def test_a_single_zookeeper_has_no_peers() -> None:
    assert not [key for key in _read(zoo_cfg(_options(), ADDRESSES[:2], 0, "/data")) if key.startswith("server.")]


def test_a_bookie_keeps_journal_and_ledgers_in_its_folders_and_listens_on_its_own_address() -> None:
    written = _read(bookkeeper_conf(_options(), ADDRESSES[:3], 2, FOLDERS, "eth0"))

    assert written["journalDirectories"] == "/disks/journal/bookkeeper/journal"
    assert written["ledgerDirectories"] == "/data/a/bookkeeper/ledgers,/data/b/bookkeeper/ledgers"
    assert (written["advertisedAddress"], written["listeningInterface"]) == ("10.0.0.3", "eth0")
    assert written["metadataServiceUri"] == "zk+hierarchical://10.0.0.1:2181;10.0.0.2:2181;10.0.0.3:2181/ledgers"
    assert "journalSyncData" not in written


def test_a_broker_has_the_quorums_and_deduplication_as_declared() -> None:
    persistence = {"ensemble": 3, "write_quorum": 2, "ack_quorum": 1}
    written = _read(broker_conf(_options(persistence=persistence, deduplication=True), ADDRESSES[:3], 0))

    sizes = [written[f"managedLedgerDefault{name}"] for name in ("EnsembleSize", "WriteQuorum", "AckQuorum")]
    assert sizes == ["3", "2", "1"]
    assert written["brokerDeduplicationEnabled"] == "true"
    assert written["metadataStoreUrl"] == "zk:10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181"
    assert (written["bindAddress"], written["advertisedAddress"]) == ("10.0.0.1", "10.0.0.1")
    assert written["defaultRetentionTimeInMinutes"] == "-1"


def test_given_settings_win_over_our_defaults_and_null_leaves_those() -> None:
    config = {
        "bookie": {"journalSyncData": False, "numReadWorkerThreads": None},
        "broker": {"defaultRetentionTimeInMinutes": 5},
        "zookeeper": {"tickTime": 500, "dataDir": "/elsewhere"},
    }
    options = _options(config=config)

    bookie = _read(bookkeeper_conf(options, ADDRESSES[:3], 0, FOLDERS, "eth0"))
    assert (bookie["journalSyncData"], bookie["numReadWorkerThreads"]) == ("false", "2")
    assert _read(broker_conf(options, ADDRESSES[:3], 0))["defaultRetentionTimeInMinutes"] == "5"
    zookeeper = _read(zoo_cfg(options, ADDRESSES[:3], 0, "/data"))
    assert (zookeeper["tickTime"], zookeeper["dataDir"]) == ("500", "/data/zookeeper")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("managedLedgerDefaultEnsembleSize", "persistence.ensemble"),
        ("managedLedgerDefaultWriteQuorum", "persistence.write_quorum"),
        ("managedLedgerDefaultAckQuorum", "persistence.ack_quorum"),
        ("brokerDeduplicationEnabled", "deduplication"),
    ],
)
def test_settings_with_keys_of_their_own_are_refused(name: str, key: str) -> None:
    with pytest.raises(BadInput, match=rf"cluster\.config\.broker\.{name}: set cluster\.{key} instead"):
        check_settings(_options(config={"broker": {name: 1}}))

    check_settings(_options(config={"broker": {name: None}}))


@pytest.mark.parametrize("name", ["persistence", "deduplication"])
def test_policies_with_keys_of_their_own_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match=rf"cluster\.namespace\.{name}: set cluster\.{name} instead"):
        check_settings(_options(namespace={name: True}))
