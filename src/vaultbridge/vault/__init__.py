"""Files: the vault as it lies on disk, Obsidian's settings beside it, and every way to change it."""
