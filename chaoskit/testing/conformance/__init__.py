"""Conformance suites: each reports everything that a plug-in lacks in one error.

    def test_my_nemesis():
        check_nemesis("my-fault")

Each suite takes a plug-in, or the name of its entry point, and raises one AssertionError that lists everything that is
missing. Whatever a suite needs beyond declarations, such as running clients, is passed as an argument.
"""

from chaoskit.testing.conformance.checker import check_checker
from chaoskit.testing.conformance.clients import check_clients
from chaoskit.testing.conformance.cluster import check_cluster
from chaoskit.testing.conformance.database import check_database
from chaoskit.testing.conformance.decoder import check_decoder
from chaoskit.testing.conformance.nemesis import check_nemesis
from chaoskit.testing.conformance.workload import check_workload

__all__ = [
    "check_checker",
    "check_clients",
    "check_cluster",
    "check_database",
    "check_decoder",
    "check_nemesis",
    "check_workload",
]
