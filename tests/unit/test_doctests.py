"""The examples in docstrings say the truth."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import chaoskit
import checkers
import clusters
import nemeses
import workloads

PACKAGES = (chaoskit, checkers, clusters, nemeses, workloads)


def test_every_example_in_a_docstring_holds() -> None:
    attempted = 0
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            results = doctest.testmod(importlib.import_module(module.name))
            assert results.failed == 0, module.name
            attempted += results.attempted

    assert attempted > 5
