"""Claude Code's IDE socket: lock files, handshake, methods, tools, notifications."""
