"""Keeps a bridge running after login, by what the system has for that."""
