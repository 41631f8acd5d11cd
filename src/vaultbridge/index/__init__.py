"""What the vault says, in SQLite: derived, deletable, always equal to a rebuilt one."""
