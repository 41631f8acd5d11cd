"""JSON-RPC 2.0 and the protocol session, without I/O.

`messages` holds the values, `codec` turns bytes into them and back, `session` keeps one
conversation's books (what is in flight in both directions, batches, cancellation, progress),
`lifecycle` is the table of its phases, `versions` says what each MCP version has.
Nothing here opens, waits, schedules or knows what a method means: `dialects/` give methods their
meaning and `transports/` move the bytes. Imports nothing of ours but `errors` and `limits`.
"""
