"""Text to values: what a note says, and how a text edit changes it. Pure; does no I/O."""
