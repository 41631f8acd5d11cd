"""The client's WebSocket transport: it reconnects, and accounts for every message."""
