"""Commands that read and change notes, for people at a terminal."""
