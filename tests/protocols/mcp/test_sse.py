"""Server-Sent Events as bytes."""

from __future__ import annotations

from vaultbridge.protocols.mcp.http import reply as sse


def test_an_event_ends_with_an_empty_line() -> None:
    assert sse.encode_event(b'{"a":1}') == b'data: {"a":1}\n\n'


def test_name_id_and_retry_come_before_the_data() -> None:
    assert (
        sse.encode_event(b"", name="message", id_="1-0", retry_ms=500)
        == b"event: message\nid: 1-0\nretry: 500\ndata: \n\n"
    )


def test_every_line_of_data_is_marked() -> None:
    """A bare line would be read as another field."""
    assert sse.encode_event(b"a\nb\r\nid: 9\rc") == b"data: a\ndata: b\ndata: id: 9\ndata: c\n\n"


def test_a_comment_contains_no_data() -> None:
    assert sse.COMMENT.startswith(b":")
    assert sse.COMMENT.endswith(b"\n\n")
