"""The bounded queue."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.client.errors import QueueFull
from vaultbridge.client.messages import MessageKind
from vaultbridge.client.websocket.queue import QueuedMessage, SendQueue


def make_item(
    request_id: int | None = None, size: int = 10, kind: MessageKind | None = None
) -> QueuedMessage:
    kind = kind or (MessageKind.NOTIFICATION if request_id is None else MessageKind.REQUEST)
    return QueuedMessage(kind, request_id, "m", b"x" * size)


def test_messages_leave_in_the_order_they_came() -> None:
    queue = SendQueue()
    items = [make_item(n) for n in range(5)]
    for entry in items:
        queue.push(entry)
    assert queue.head() is items[0]
    assert [queue.pop() for _ in items] == items
    assert queue.head() is None


def test_a_queue_full_by_count_refuses_and_keeps_what_it_has() -> None:
    queue = SendQueue(max_messages=2)
    queue.push(make_item())
    queue.push(make_item())
    with pytest.raises(QueueFull, match="2 messages are waiting"):
        queue.push(make_item())
    assert len(queue) == 2


def test_a_queue_full_by_bytes_refuses_and_keeps_what_it_has() -> None:
    queue = SendQueue(max_bytes=25)
    queue.push(make_item(size=20))
    with pytest.raises(QueueFull, match="20 of 25 bytes"):
        queue.push(make_item(size=6))
    queue.push(make_item(size=5))
    assert queue.bytes == 25


def test_a_restored_message_passes_the_bound_that_was_asked_before() -> None:
    queue = SendQueue(max_messages=1)
    queue.push(make_item())
    queue.push_restored(make_item())
    assert len(queue) == 2


def test_a_waiting_request_can_be_taken_back_by_its_id() -> None:
    queue = SendQueue()
    for n in range(3):
        queue.push(make_item(n))
    taken = queue.remove_request(1)
    assert taken is not None and taken.id == 1
    assert 1 not in queue and 2 in queue
    assert queue.remove_request(1) is None
    assert [entry.id for entry in queue] == [0, 2]


def test_answers_are_taken_out_and_the_rest_stays_in_order() -> None:
    queue = SendQueue()
    items = [
        make_item(1),
        make_item(2, kind=MessageKind.RESPONSE),
        make_item(),
        make_item(3, kind=MessageKind.ERROR),
        make_item(4),
    ]
    for entry in items:
        queue.push(entry)
    assert queue.take_answers() == (items[1], items[3])
    assert list(queue) == [items[0], items[2], items[4]]


@given(st.lists(st.sampled_from(["push", "pop", "remove", "answers", "clear"]), max_size=60))
def test_bytes_and_ids_always_agree_with_the_content(actions: list[str]) -> None:
    queue = SendQueue(max_messages=8, max_bytes=120)
    for number, action in enumerate(actions):
        if action == "push":
            kind = (MessageKind.REQUEST, MessageKind.NOTIFICATION, MessageKind.RESPONSE)[number % 3]
            with contextlib.suppress(QueueFull):
                queue.push(make_item(None if kind is MessageKind.NOTIFICATION else number, number % 30, kind))
        elif action == "pop" and len(queue):
            queue.pop()
        elif action == "remove":
            queue.remove_request(number - 2)
        elif action == "answers":
            queue.take_answers()
        elif action == "clear":
            queue.clear()
        assert queue.bytes == sum(len(candidate.data) for candidate in queue)
        assert len(queue) <= 8 and queue.bytes <= 120
        requests = [entry.id for entry in queue if entry.kind is MessageKind.REQUEST]
        assert all(n in queue for n in requests)
