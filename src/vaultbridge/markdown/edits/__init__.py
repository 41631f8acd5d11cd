"""Edits of a note as changes of its text; no byte changes that an edit does not name."""
