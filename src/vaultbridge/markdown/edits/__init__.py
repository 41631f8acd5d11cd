"""Turns edits of a note into changes of its text; bytes that an edit does not name do not change."""
