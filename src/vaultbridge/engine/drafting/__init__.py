"""A draft: the vault as it would be after some operations, and how each operation is carried out on it."""
