"""Parses, edits and outlines JSON Canvas files. Pure: it does no I/O."""
