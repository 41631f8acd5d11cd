"""What an assistant may do with a vault, written once for every protocol. Knows no protocol."""
