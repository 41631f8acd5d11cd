"""Mentions that wait for an assistant."""

from __future__ import annotations

from vaultbridge.editor.feed import MENTION_SECONDS, WAITING_MENTIONS, MentionQueue
from vaultbridge.editor.model import Mention
from vaultbridge.vault.paths import vault_path

NOTE = Mention(vault_path("Note.md"))


def test_a_mention_waits_ten_seconds() -> None:
    assert MENTION_SECONDS == 10.0
    waiting = MentionQueue()
    waiting.add(NOTE, 0.0)
    assert waiting.take(10.0) == (NOTE,)


def test_an_older_mention_is_dropped() -> None:
    waiting = MentionQueue()
    waiting.add(NOTE, 0.0)
    waiting.add(Mention(vault_path("New.md")), 5.0)
    assert waiting.take(10.1) == (Mention(vault_path("New.md")),)


def test_each_mention_is_delivered_once() -> None:
    waiting = MentionQueue()
    waiting.add(NOTE, 0.0)
    waiting.take(1.0)
    assert waiting.take(1.0) == ()


def test_the_oldest_mentions_are_dropped_first() -> None:
    waiting = MentionQueue()
    for number in range(WAITING_MENTIONS + 3):
        waiting.add(Mention(vault_path(f"{number}.md")), 0.0)
    taken = waiting.take(0.0)
    assert len(taken) == WAITING_MENTIONS
    assert taken[0].path == "3.md"
