"""Bringing the index up to date with the disk."""
