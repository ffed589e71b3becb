"""Zenoh: publish and subscribe between peers, or through routers."""

from clusters.zenoh.system import ZenohSystem

__all__ = ["ZenohSystem"]
