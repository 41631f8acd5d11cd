"""What the MCP tests share: a wire without a network, and the judge that holds every message to its
schema."""
