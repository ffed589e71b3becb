"""One partition's history as arrays, and findings made from arrays."""
