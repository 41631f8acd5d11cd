"""The index: a copy in SQLite of what the notes say. It can be deleted and always equals a rebuilt one."""
