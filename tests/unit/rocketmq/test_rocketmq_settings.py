"""RocketMQ's files, modes and refusals, without a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from clusters.rocketmq import artifacts
from clusters.rocketmq.known import check_topology
from clusters.rocketmq.settings import RocketOptions, broker_conf, controllers, namesrv_conf

ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def _read(content: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in content.splitlines())


def _broker(index: int, **options: Any) -> dict[str, str]:
    return _read(broker_conf(RocketOptions(**options), ADDRESSES, index, "/data"))


def test_the_first_broker_is_the_master_and_the_others_copy_it() -> None:
    files = [_broker(index, config={"brokerRole": "SYNC_MASTER", "inSyncReplicas": 2}) for index in range(3)]

    assert [(file["brokerName"], file["brokerId"], file["brokerRole"]) for file in files] == [
        ("broker-0", "0", "SYNC_MASTER"),
        ("broker-0", "1", "SLAVE"),
        ("broker-0", "2", "SLAVE"),
    ]
    assert {file["inSyncReplicas"] for file in files} == {"2"}


def test_each_broker_of_the_mode_single_is_a_master() -> None:
    files = [_broker(index, mode="single") for index in range(3)]

    assert [(file["brokerName"], file["brokerId"], file["brokerRole"]) for file in files] == [
        (f"broker-{index}", "0", "ASYNC_MASTER") for index in range(3)
    ]
    assert RocketOptions(mode="single").groups(3) == [range(1), range(1, 2), range(2, 3)]


def test_controllers_run_in_the_name_servers_and_elect() -> None:
    options = RocketOptions(mode="controller")
    broker = _broker(1, mode="controller")
    server = _read(namesrv_conf(options, ADDRESSES, 1, "/data"))

    assert broker["enableControllerMode"] == "true"
    assert broker["controllerAddr"] == "10.0.0.1:9878;10.0.0.2:9878;10.0.0.3:9878"
    assert server["controllerDLegerPeers"] == "n0-10.0.0.1:9878;n1-10.0.0.2:9878;n2-10.0.0.3:9878"
    assert (server["controllerDLegerSelfId"], server["controllerStorePath"]) == ("n1", "/data/controller")
    assert "enableControllerInNamesrv" not in _read(namesrv_conf(RocketOptions(), ADDRESSES, 1, "/data"))


def test_controllers_of_the_other_type_have_ports_of_their_own() -> None:
    options = RocketOptions(mode="controller", config={"controllerType": "jRaft"})
    server = _read(namesrv_conf(options, ADDRESSES, 2, "/data"))

    assert controllers(options, ADDRESSES[:1]) == [("10.0.0.1", 9770)]
    assert server["jRaftServerId"] == "10.0.0.3:9880"
    assert server["jRaftInitConf"] == "10.0.0.1:9880,10.0.0.2:9880,10.0.0.3:9880"
    assert "controllerDLegerPeers" not in server


def test_servers_listen_on_their_own_address() -> None:
    for content in (broker_conf, namesrv_conf):
        assert _read(content(RocketOptions(), ADDRESSES, 2, "/data"))["bindAddress"] == "10.0.0.3"
    assert _broker(2)["brokerIP1"] == "10.0.0.3"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"mode": "controller", "config": {"brokerRole": "SYNC_MASTER"}},
            r"brokerRole: an elected master .* remove it",
        ),
        ({"config": {"brokerRole": "SLAVE"}}, r"brokerRole: SLAVE: .* ASYNC_MASTER or SYNC_MASTER"),
        ({"config": {"listenPort": 1}}, r"listenPort: chaoskit sets it itself"),
        ({"config": {"storePathRootDir": "/tmp"}}, r"storePathRootDir: chaoskit sets it itself"),
    ],
)
def test_what_chaoskit_or_the_mode_decides_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=rf"cluster\.config\.{words}"):
        check_topology(RocketOptions(**options), 3)


@pytest.mark.parametrize("version", ["4.9.8", "5.0.0", "five", "5.5"])
def test_other_releases_are_refused(version: str) -> None:
    with pytest.raises(BadInput, match=r"cluster\.version"):
        artifacts.parse_version(version)
