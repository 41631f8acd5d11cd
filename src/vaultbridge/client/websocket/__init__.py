"""The WebSocket transport of the client: reconnects, and accounts for every message."""
