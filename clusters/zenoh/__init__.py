"""Zenoh: publish and subscribe between peers, or through routers."""

from clusters.zenoh.system import System

__all__ = ["System"]
