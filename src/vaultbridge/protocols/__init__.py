"""One folder for each protocol: wire format, meaning and routes. What several share is next to the folders.

Comments cite the documents that we hold to by the numbers that begin the ids in `docs/protocols`: 000 and 001
(Claude Code's IDE socket), 002 (the WebSocket client), 003 (Bridge v1) and 004 (MCP over stdio).
"""
