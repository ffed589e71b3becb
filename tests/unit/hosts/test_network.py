"""Address ranges of labs: free ones are found, and none is given twice."""

from __future__ import annotations

import ipaddress
import shutil

import pytest

from chaoskit.base.errors import BadInput
from clusters.hosts.network import free_range

pytestmark = pytest.mark.skipif(shutil.which("ip") is None, reason="needs the program ip (iproute2)")

ALL = [f"10.197.{index}.0/24" for index in range(256)]


def test_a_range_that_another_run_claims_is_left_alone() -> None:
    first = free_range([])
    second = free_range([str(first)])

    assert not first.overlaps(second)
    assert {str(first), str(second)} <= set(ALL)


def test_a_claim_within_a_range_takes_all_of_it() -> None:
    first = free_range([])

    assert free_range([f"{first[7]}/32"]) != first


def test_claims_of_other_addresses_do_not_matter() -> None:
    assert free_range(["192.168.0.0/16", "172.16.0.1/32"]) == free_range([])


def test_when_every_range_is_in_use_the_remedy_is_told() -> None:
    with pytest.raises(BadInput, match=r"every address range in 10\.197\.0\.0/16 is in use; run `chaoskit heal`"):
        free_range(ALL)

    with pytest.raises(BadInput):
        free_range([str(ipaddress.ip_network("10.0.0.0/8"))])
