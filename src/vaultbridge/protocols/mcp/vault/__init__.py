"""What vaults offer over MCP: tools, resources, prompts, completions."""
