"""Finds notes that belong together and are not linked yet, why, and the edit that would link them."""
