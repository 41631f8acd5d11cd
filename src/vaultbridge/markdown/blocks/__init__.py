"""The block structure of a note: headings, lists, quotes, code, tasks."""
