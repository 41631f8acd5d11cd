"""What an assistant may do with a vault, once, for every protocol. Knows no protocol."""
