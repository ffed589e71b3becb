"""Roles: what a fault may name in `on:` besides hosts, such as `leader`; they are looked up when the fault begins."""

from __future__ import annotations


class Every(str):
    """A role that stands for all its holders, such as `Every("followers")`; any other role stands for one of them."""

    __slots__ = ()
