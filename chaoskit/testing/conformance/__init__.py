"""Conformance suites: what a plug-in still lacks, said all at once.

    def test_my_nemesis():
        check_nemesis("my-fault")

Each takes a plug-in by its entry point's name, or the plug-in itself, and raises one AssertionError that lists
everything that is missing. What they need beyond declarations, such as running clients, is given to them.
"""

from chaoskit.testing.conformance.checker import check_checker
from chaoskit.testing.conformance.clients import check_clients
from chaoskit.testing.conformance.cluster import check_cluster
from chaoskit.testing.conformance.nemesis import check_nemesis
from chaoskit.testing.conformance.workload import check_workload

__all__ = ["check_checker", "check_clients", "check_cluster", "check_nemesis", "check_workload"]
