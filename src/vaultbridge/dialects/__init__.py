"""What methods mean. A dialect gives meaning to the messages of one connection; it moves no bytes.

`dialect` says what a dialect is and what it may ask of its connection; `failures` is the one place that
turns an error into wire form; `mcp*` speak MCP.
"""
