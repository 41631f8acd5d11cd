"""A note's text to values and edits. Pure: does no I/O."""
