"""The functions of the Bases language, by the type of value they belong to."""
