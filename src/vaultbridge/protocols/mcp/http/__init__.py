"""MCP over HTTP: Streamable HTTP at `/mcp`, and the older HTTP+SSE."""
