"""JSON-RPC 2.0 messages and sessions, without I/O."""
