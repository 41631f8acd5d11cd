"""Recognizes a vault: at its path, and after it was moved to another one."""
