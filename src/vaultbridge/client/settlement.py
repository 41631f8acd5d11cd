"""Who must be told what when messages cannot take their course any more. Pure.

Requests get an answer (an error made up here), everything else gets into an error for `on_error`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vaultbridge.client.errors import MessagesDiscarded, MessagesUnconfirmed, TransportError
from vaultbridge.client.ledger import InDoubt
from vaultbridge.client.messages import CONNECTION_LOST, REQUEST_TIMED_OUT, Kind, Message, error_answer
from vaultbridge.client.queue import Outgoing


class Settlement(msgspec.Struct, frozen=True):
    """`errors` for `on_error`, `answers` for the requests, each in the order of sending."""

    errors: tuple[TransportError, ...] = ()
    answers: tuple[Message, ...] = ()


def of_lost_line(why: str, doubt: InDoubt, orphans: Iterable[Outgoing]) -> Settlement:
    """A line ended: `doubt` had been handed to it, `orphans` are queued answers to its requests."""
    errors: list[TransportError] = []
    if doubt.others or doubt.forgotten:
        errors.append(MessagesUnconfirmed(messages_of(doubt.others), forgotten=doubt.forgotten))
    answers = messages_of(orphans)
    if answers:
        errors.append(
            MessagesDiscarded(answers, "the requests they answer came over a connection that is gone.")
        )
    return Settlement(tuple(errors), tuple(_unanswered(item, why) for item in doubt.requests))


def of_queue(why: str, queued: Iterable[Outgoing], *, requests_kept: bool, others_kept: bool) -> Settlement:
    """The transport ended with `queued` messages; `…_kept` ones stay in the queue file."""
    items = tuple(queued)
    others = messages_of(item for item in items if item.kind is not Kind.REQUEST)
    errors = () if others_kept or not others else (MessagesDiscarded(others, f"{why[0].lower()}{why[1:]}."),)
    requests = (item for item in items if item.kind is Kind.REQUEST)
    return Settlement(errors, tuple(_unsent(item, why, kept=requests_kept) for item in requests))


def of_timeout(item: Outgoing, seconds: float, *, sent: bool) -> Message:
    assert item.id is not None
    after = "it may still be carried out" if sent else "it was never sent"
    text = f"No answer to {item.method!r} within {seconds:g} s; {after}."
    return error_answer(item.id, REQUEST_TIMED_OUT, text, reason="timeout", sent=sent)


def cancellation(item: Outgoing) -> Message:
    """Tell the server that nobody waits for a request's answer any more (MCP, Cancellation)."""
    params = {"requestId": item.id, "reason": "timed out"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def messages_of(items: Iterable[Outgoing]) -> tuple[Message, ...]:
    return tuple(item.message() for item in items)


def _unanswered(item: Outgoing, why: str) -> Message:
    assert item.id is not None
    text = (
        f"{why} before the answer to {item.method!r} arrived;"
        " it was not sent again and may or may not have been carried out."
    )
    return error_answer(item.id, CONNECTION_LOST, text, reason="connection-lost", sent=True)


def _unsent(item: Outgoing, why: str, *, kept: bool) -> Message:
    assert item.id is not None
    after = "it stays in the queue file and goes out with the next process" if kept else "it was never sent"
    text = f"{why} before {item.method!r} could be sent; {after}."
    return error_answer(item.id, CONNECTION_LOST, text, reason="not-sent", sent=False)
