"""Turns a note's text into values and edits. Pure: it does no I/O."""
