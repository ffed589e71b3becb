"""Publish and subscribe without a server: datagrams from peer to peer, and all that it takes to test it."""
