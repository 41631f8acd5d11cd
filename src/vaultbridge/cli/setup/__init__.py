"""Commands that connect vaults, assistants and Obsidian, and check that it works."""
