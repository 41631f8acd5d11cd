"""Bases: the expression language, the `.base` file, and running one of its views over rows. Pure."""
