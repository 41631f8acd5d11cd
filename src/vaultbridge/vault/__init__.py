"""Files: the vault on disk, Obsidian's settings in it, and every way to change it."""
