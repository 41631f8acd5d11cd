"""Obsidian's search language: parsed, evaluated against the index, shown as hits."""
