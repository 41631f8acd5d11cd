"""The vault on disk: its files, Obsidian's settings in it, and every way to change it."""
