"""The assistants that people use, and safe edits of the files in which they list their MCP servers."""
