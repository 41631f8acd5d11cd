"""One process that joins an Obsidian vault to every AI assistant."""

__version__ = "0.1.0"
