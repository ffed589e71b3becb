"""Inventories, and the scripts that find, stop and start what they name; with real processes where that needs none."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from chaoskit.base.errors import BadInput
from chaoskit.base.waiting import wait_until
from chaoskit.contract.systems.attach import on_hosts
from chaoskit.contract.systems.node import Node
from chaoskit.scenario.files import find
from chaoskit.scenario.inventory import with_defaults
from chaoskit.scenario.plan import Plan, read_plan
from clusters.hosts.remote.host import RemoteHost
from clusters.hosts.remote.inventory import Inventory
from clusters.hosts.remote.service import RemoteService

_SERVICES = {"kafka": {"systemd": "kafka"}}


def _inventory(*names: str, **keys: Any) -> dict[str, Any]:
    return {"defaults": {"user": "deploy", "services": _SERVICES, **keys}, "hosts": {name: {} for name in names}}


def _plan(inventory: Any, *, on: str = "k1", inject: str = "kill", **fault: Any) -> Plan:
    cluster = {"system": "kafka", "attach": {"bootstrap.servers": "k1:9092"}, "inventory": inventory}
    faults = [{"at": "1s", "inject": inject, "on": on, **fault}]
    return read_plan({"name": "x", "cluster": cluster, "workload": {"kind": "log"}, "faults": faults}, "x.yaml")


def test_hosts_have_the_keys_of_defaults_and_their_own() -> None:
    given = _inventory("k1", "k2")
    given["hosts"]["k2"] = {"user": "root", "become": "none"}

    hosts = Inventory.model_validate(with_defaults(given)).hosts

    assert [(host.user, host.become) for host in hosts.values()] == [("deploy", "sudo"), ("root", "none")]


def test_a_plan_has_the_hosts_of_its_inventory() -> None:
    plan = _plan(_inventory("k1", "k2"), on="all")
    again = read_plan(plan.resolved(), "scenario.yaml")

    assert plan.host_names == again.host_names == ["k1", "k2"]
    assert plan.declared.hosts == 2
    assert plan.faults[0].on == ("k1", "k2")
    assert again.resolved() == plan.resolved()


def test_an_inventory_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "hosts.yaml").write_text("defaults: {services: {kafka: {systemd: kafka}}}\nhosts: {k1: {}}\n")
    cluster = "{system: kafka, attach: {bootstrap.servers: k1}, inventory: hosts.yaml}"
    (tmp_path / "mine.yaml").write_text(f"cluster: {cluster}\nworkload: {{kind: log}}\n")

    (written,) = find("mine.yaml", tmp_path)

    assert written.planned().host_names == ["k1"]


@pytest.mark.parametrize(
    ("inventory", "why"),
    [
        ({"hosts": {}}, r"cluster\.inventory: hosts: name at least one host, or at least one of drivers"),
        (_inventory("one"), r"hosts\.one: faults use this word for something else"),
        (_inventory("7"), r"hosts\.7: faults use this word"),
        (_inventory("k1", user=None, colour="red"), r"cluster\.inventory\.hosts\.k1\.colour"),
        (_inventory("k1", services={}), r"hosts\.k1\.services: is empty"),
        (_inventory("k1", services={"kafka": {}}), r"kafka: say how it is found by exactly one of: systemd, superv"),
        (_inventory("k1", services={"kafka": {"port": 9092}}), r"kafka: port needs start: the command that starts it"),
        (_inventory("k1", services={"kafka": {"systemd": "k", "start": "x"}}), "start it themselves; remove start"),
        (_inventory("k1", data="data"), r"hosts\.k1\.data"),
    ],
)
def test_a_wrong_inventory_names_host_and_remedy(inventory: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        _plan(inventory)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ({"on": "k9"}, r"faults\.0\.on: there is no host or role 'k9'"),
        (
            {"inject": "crash-loop"},
            r"crash-loop works in a local lab only, .* use one of: disk-full, ",
        ),
        ({"inject": "bandwidth"}, "works in a local lab only"),
        ({"inject": "power-cut"}, "works in a local lab only"),
        ({"inject": "disk-full"}, "disk-full needs a folder on the disk of each host: add data to the inventory"),
    ],
)
def test_faults_that_hosts_of_others_do_not_take_are_refused(fault: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        _plan(_inventory("k1"), **fault)


def test_an_inventory_needs_attach() -> None:
    cluster = {"system": "kafka", "inventory": _inventory("k1")}
    with pytest.raises(BadInput, match="an inventory is for an existing cluster; add attach"):
        read_plan({"name": "x", "cluster": cluster, "workload": {"kind": "log"}}, "x.yaml")


def _host(name: str, address: str, node: str = "") -> RemoteHost:
    spec = Inventory.model_validate(with_defaults(_inventory(name, node=node))).hosts[name]
    return RemoteHost(name, address, spec)


def test_nodes_are_found_on_hosts_by_address_or_id() -> None:
    nodes = [Node("n1", "10.0.0.2:9092", "101"), Node("n2", "elsewhere.example:9092", "102")]

    named, hosts = on_hosts(nodes, [_host("k1", "10.0.0.9", node="102"), _host("k2", "10.0.0.2")])

    assert [(node.name, node.id, host.name) for node, host in zip(named, hosts, strict=True)] == [
        ("k2", "101", "k2"),
        ("k1", "102", "k1"),
    ]


def test_nodes_and_hosts_that_do_not_match_are_named() -> None:
    nodes = [Node("n1", "10.0.0.2:9092", "101"), Node("n2", "10.0.0.3:9092", "102")]

    with pytest.raises(BadInput) as refused:
        on_hosts(nodes, [_host("k1", "10.0.0.2"), _host("k2", "10.0.0.9")])

    assert "none is that of node 102 at 10.0.0.3:9092; add it, or set node" in str(refused.value)
    assert "cluster.inventory.hosts.k2: no node runs on it (10.0.0.9); remove it, or set node" in str(refused.value)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RemoteService]:
    """A service with a pid file: a shell with a child."""
    pid_file, start = tmp_path / "pid", tmp_path / "start"
    start.write_text(f"#!/bin/sh\nsetsid sh -c 'sleep 600; true' < /dev/null &\necho $! > {pid_file}\n")
    start.chmod(0o755)
    yield RemoteService(pid_file=str(pid_file), start=str(start))
    if pid_file.exists() and psutil.pid_exists(pid := int(pid_file.read_text())):
        os.killpg(pid, signal.SIGKILL)


def _bash(script: str) -> str:
    return subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True).stdout


def _tree(service: RemoteService) -> list[psutil.Process]:
    """Return its processes, once the shell has its child."""
    first = psutil.Process(int(_bash(service.ids)))
    return [first, *wait_until(lambda: first.children(recursive=True), 10)]


def _stopped(service: RemoteService) -> set[bool]:
    return {process.status() == psutil.STATUS_STOPPED for process in _tree(service)}


@pytest.mark.skipif(os.geteuid() != 0, reason="writes to /run/chaoskit, as on a host")
def test_a_service_is_started_once_signalled_as_a_whole_and_killed(service: RemoteService) -> None:
    assert not Path(str(service.pid_file)).exists()
    _bash(service.start_script)
    (before, *children) = _tree(service)
    _bash(service.start_script)
    assert _tree(service)[0] == before, "it runs, so it is not started again"
    assert children

    _bash(service.signal_script("STOP"))
    assert wait_until(lambda: _stopped(service) == {True}, 10)
    _bash(service.signal_script("CONT"))
    assert wait_until(lambda: _stopped(service) == {False}, 10)

    _bash(service.kill_script)
    psutil.wait_procs([before, *children], timeout=5)
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in [before, *children])


@pytest.mark.skipif(os.geteuid() != 0, reason="writes to /run/chaoskit, as on a host")
def test_a_service_that_cannot_be_started_says_why() -> None:
    broken = RemoteService(pid_file="/nowhere/pid", start="echo the disk is gone; false")

    with pytest.raises(subprocess.CalledProcessError) as failed:
        _bash(broken.start_script)

    assert "the disk is gone" in failed.value.stderr


def test_a_unit_of_systemd_is_not_restarted_until_it_is_started_again() -> None:
    unit = RemoteService(systemd="kafka")

    assert "Restart=no" in unit.kill_script
    assert unit.kill_script.index("daemon-reload") < unit.kill_script.index("kill -s KILL")
    drop_in = "/run/systemd/system/kafka.service.d/chaoskit.conf"
    assert f"rm -f {drop_in}" in unit.start_script
    assert drop_in in unit.kill_script


def test_exactly_one_way_finds_a_service() -> None:
    with pytest.raises(ValidationError, match="exactly one of"):
        RemoteService(systemd="kafka", port=9092, start="x")
