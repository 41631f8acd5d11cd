"""`vaultbridge stdio`: an MCP server for one client, loaded piece by piece so that no client has to wait."""
