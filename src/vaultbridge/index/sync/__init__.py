"""Brings the index up to date with the disk: scan, compare, parse, write."""
