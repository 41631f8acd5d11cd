"""Bytes on a wire. A transport moves messages between a peer and a dialect; it knows no engine.

`connection` runs a dialect over any of them; `stdio` and `mcp_http` are two of them.
"""
