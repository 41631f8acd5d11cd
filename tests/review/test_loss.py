"""How much a change may lose before a person is asked: `review/loss.py`, and `destructive` over it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.review import Reviewed
from vaultbridge.engine.operations import (
    Append,
    Create,
    Delete,
    Move,
    RenameTag,
    ReplaceSection,
    ReplaceText,
    SetProperty,
)
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.plan import PlannedFile, PlannedFiles
from vaultbridge.review.loss import (
    HALF,
    MEASURED_CHARS,
    MUCH_LOST,
    SOME_LOST,
    find_danger,
    loses_much,
    measure,
)

Make = Callable[..., Reviewed]

NUMBERS = random.Random(7)
VOWELS, CONSONANTS = "aeiou", "bcdfghklmnprstvz"


def make_word() -> str:
    return "".join(NUMBERS.choice(CONSONANTS) + NUMBERS.choice(VOWELS) for _ in range(NUMBERS.randint(1, 4)))


WORDS = sorted({make_word() for _ in range(3000)})


def make_sentence(seed: int, words: int = 12) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words)).capitalize() + "."


def make_text(seed: int, sentences: int = 30) -> str:
    return "".join(f"{make_sentence(1000 * seed + number)}\n" for number in range(sentences))


def changed(before: str | bytes, after: str | bytes, path: str = "N.md") -> PlannedFile:
    old, new = (text if isinstance(text, bytes) else text.encode() for text in (before, after))
    return PlannedFile(path, "changed", before=old, after=new)


def waits(*files: PlannedFile) -> bool:
    return find_danger(PlannedFiles(files)) is not None


LONG = make_text(1)
"""30 sentences, some 2,300 characters."""

LINES = LONG.splitlines(keepends=True)

SMALL_EDITS = {
    "a typo": (LONG, LONG.replace(LINES[4][:6], "Typo ", 1)),
    "a sentence": (LONG, LONG.replace(LINES[4], make_sentence(99) + "\n")),
    "a task": (LONG + "- [ ] buy milk\n", LONG + "- [x] buy milk\n"),
    "a task alone": ("- [ ] buy milk\n", "- [x] buy milk\n"),
    "a property": ("---\nstatus: open\n---\n", "---\nstatus: closed\n---\n"),
    "a heading": ("# Old name\n" + LONG, "# New title\n" + LONG),
    "a number in a table": (
        "| a | 1 |\n| b | 2 |\n" * 40,
        "| a | 1 |\n| b | 3 |\n" + "| a | 1 |\n| b | 2 |\n" * 39,
    ),
    "line ends": (LONG, LONG.replace("\n", "\r\n")),
    "the order of the lines": (LONG, "".join(reversed(LINES))),
    "a short removed line": (LONG, "".join(LINES[:3] + LINES[4:])),
    "a name at many places": (
        "See [[Some long name of a note]] there.\n" * 60,
        "See [[Another]] there.\n" * 60,
    ),
    "nothing in Chinese": ("我们今天讨论了这个项目的计划。\n" * 20, "我们今天讨论了这个项目的计划。\n" * 21),
    "a word in Chinese": ("我们今天讨论了这个项目的计划。\n", "我们明天讨论了这个项目的计划。\n"),
    "bytes that are not UTF-8": (b"caf\xe9 au lait\n" * 90, b"caf\xe9 au lait\n" * 90 + b"more\n"),
    "a base": ("filters:\n  and:\n    - status == 1\n", "filters:\n  and:\n    - status == 2\n"),
}


@pytest.mark.parametrize("name", SMALL_EDITS)
def test_a_small_edit_does_not_wait(name: str) -> None:
    assert not waits(changed(*SMALL_EDITS[name]))


def scramble(text: str) -> str:
    words = text.split()
    random.Random(3).shuffle(words)
    return " ".join(words)


SECTIONS = "# A\n\n" + LONG + "\n# B\n\n" + make_text(2)

LOSSES = {
    "a section, though one word survives": (SECTIONS, "# A\n\nnothing\n\n# B\n\n" + make_text(2)),
    "the whole text, though its words survive": (LONG, scramble(LONG)),
    "a passage behind much new text": (LONG, "".join(LINES[:10]) + make_text(5, 200)),
    "half of a short note": (make_text(3, 8), make_text(3, 4)),
    "a short note but for a word": (make_text(3, 2), LINES[0].split()[0] + " other words\n"),
    "all line ends": ("milk\nbread\nrice\n" * 400, "milk bread rice " * 400),
    "a table of numbers": (
        "".join(f"| {n * 7919 % 10007} | {n * 104729 % 10009} |\n" for n in range(90)),
        "| a | b |\n",
    ),
    "the same number many times": ("| 0 | 0 |\n" * 400, "| 0 | 0 |\n" * 10),
    "a repeated passage": (LONG * 2, LONG),
    "half in Chinese": (
        "".join(chr(0x4E00 + n * 37 % 5000) for n in range(300)),
        "".join(chr(0x4E00 + n * 37 % 5000) for n in range(100)),
    ),
    "in another script": ("".join(chr(0x0E01 + n * 7 % 40) for n in range(900)), "x"),
    "bytes that are not UTF-8": (b"".join(b"caf\xe9 %d\n" % n for n in range(300)), b"caf\xe9 1\n"),
    "a base": ("".join(f"formula_{n}: price * {n}\n" for n in range(120)), "formula_1: price * 1\n"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_considerable_loss_waits(name: str) -> None:
    assert waits(changed(*LOSSES[name]))


def test_a_replaced_attachment_and_a_text_too_long_to_measure_wait() -> None:
    assert waits(changed(b"\x89PNG" + b"a" * 50, b"\x89PNG" + b"b" * 50, "p.png"))
    assert waits(PlannedFile("N.md", "changed", content=False))
    long = "x" * MEASURED_CHARS
    assert waits(changed(long + "a\nb\n", long + "b\nb\n"))
    assert not waits(changed(long + "\n", long + "\nb\n"))


def canvas(*texts: str, edges: int = 0, x: int = 0) -> str:
    nodes = [
        {"id": f"n{n}", "type": "text", "text": text, "x": x + n, "y": 0, "width": 9, "height": 9}
        for n, text in enumerate(texts)
        if text != "gone"
    ]
    lines = [{"id": f"e{n}", "fromNode": "n0", "toNode": "n1"} for n in range(edges)]
    return json.dumps({"nodes": nodes, "edges": lines})


def test_a_card_of_a_canvas_is_judged_like_a_note() -> None:
    cards = [make_sentence(n) for n in range(100)]
    long = make_text(9, 5)
    before = canvas(*cards, long)
    for after in (canvas(*cards, ""), canvas(*cards, "gone"), canvas(*cards, "one " + long.split()[3])):
        assert waits(changed(before, after, "C.canvas"))
    # Cards that only move, a corrected card, a short one that goes.
    for after in (
        canvas(*cards, long, x=12345),
        canvas(*cards, long.replace("a", "e", 2)),
        canvas("gone", *cards[1:], long),
        canvas(*cards, long, "more"),
    ):
        assert not waits(changed(before, after, "C.canvas"))
    assert waits(changed(before, "{", "C.canvas"))


def test_many_removed_cards_or_edges_wait_though_their_texts_are_short() -> None:
    many = ["x"] * 60
    assert waits(changed(canvas(*many), canvas(*many[:20]), "C.canvas"))
    assert waits(changed(canvas("a", "b", edges=60), canvas("a", "b", edges=5), "C.canvas"))
    assert not waits(changed(canvas("a", "b", edges=60), canvas("a", "b", edges=59), "C.canvas"))


def test_a_text_that_moves_within_the_change_is_not_lost() -> None:
    rest = make_text(4, 60)
    source = changed(rest + LONG, rest)
    assert waits(source)
    assert not waits(source, PlannedFile("New.md", "created", after=("# New\n" + LONG).encode()))
    assert not waits(source, changed("target\n", "target\n" + LONG, "T.md"))
    # What was in the other note before is no copy.
    assert waits(source, changed(LONG, LONG + "more\n", "T.md"))


TEXTS = st.lists(st.sampled_from(WORDS), min_size=40, max_size=300).map(
    lambda words: "".join(f"{word}{' ' if n % 9 else chr(10)}" for n, word in enumerate(words, 1))
)


@given(text=st.text(max_size=300), more=st.text(max_size=300))
def test_appending_never_waits(text: str, more: str) -> None:
    old = text.encode("utf-8", "surrogatepass") + b"\n"
    assert not waits(changed(old, old + more.encode("utf-8", "surrogatepass")))


@given(text=TEXTS, place=st.integers(0, 40), more=TEXTS)
def test_inserting_lines_never_waits(text: str, place: int, more: str) -> None:
    lines = text.splitlines(keepends=True)
    assert not waits(changed(text, "".join([*lines[:place], more + "\n", *lines[place:]])))


@given(text=TEXTS, order=st.randoms(use_true_random=False))
def test_another_order_of_the_lines_never_waits(text: str, order: random.Random) -> None:
    lines = (text if text.endswith("\n") else text + "\n").splitlines(keepends=True)
    shuffled = list(lines)
    order.shuffle(shuffled)
    assert not loses_much([changed("".join(lines), "".join(shuffled))])


@given(text=TEXTS, start=st.integers(0, 30), count=st.integers(1, 30), more=TEXTS, where=st.booleans())
def test_removing_a_considerable_share_always_waits(
    text: str, start: int, count: int, more: str, where: bool
) -> None:
    """Whatever else is written, before or after it: the words here have no three in a row by chance."""
    lines = text.splitlines(keepends=True)
    removed = "".join(lines[start : start + count])
    rest = "".join(lines[:start] + lines[start + count :])
    # The words at both ends may survive with their neighbours.
    sure = measure(removed) - 40
    if sure >= MUCH_LOST or (sure >= SOME_LOST and sure >= HALF * measure(text)):
        noise = "".join(f"{word.upper()} and of the\n" for word in more.split())
        assert waits(changed(text, noise + rest if where else rest + noise))


@given(text=TEXTS, seed=st.integers(0, 99), parts=st.integers(2, 8))
def test_the_same_loss_in_several_notes_waits_as_well(text: str, seed: int, parts: int) -> None:
    base = make_text(seed, 40)
    lost = make_text(seed + 100, 24)
    assert waits(changed(base + lost, base))
    lines = lost.splitlines(keepends=True)
    pieces = ["".join(lines[number::parts]) for number in range(parts)]
    files = [
        changed(make_text(seed + number, 40) + piece, make_text(seed + number, 40), f"N{number}.md")
        for number, piece in enumerate(pieces)
    ]
    assert waits(*files)
    assert not waits(files[0]) or parts == 2


# From a tool's operations on.


def test_a_section_of_8688_bytes_and_a_batch_of_three_wait(reviewed: Make) -> None:
    """As it was found: written at once, because one word survived."""
    section = make_text(1, 110)
    note = f"# Note\n\n## Plan\n\n{section}\n## Rest\n\n{make_text(2, 200)}"
    vault = reviewed({f"N{number}.md": note for number in range(3)})
    operations: list[Operation] = [
        ReplaceSection(note=f"N{number}", heading="Plan", content=section.split()[0]) for number in range(3)
    ]
    assert vault.store.get(vault.ask(operations[0], review="destructive")).why == "loss"
    assert vault.store.get(vault.ask(*operations, review="destructive")).why == "loss"
    assert vault.engine.history.changes() == []


def test_a_loss_in_several_operations_of_a_batch_waits(reviewed: Make) -> None:
    lines = make_text(1, 60).splitlines()
    vault = reviewed({"N.md": "\n".join(lines) + "\n"})
    removals = [ReplaceText(note="N", old=line, new="") for line in lines[::3]]
    assert vault.apply(removals[0], review="destructive").change_id
    assert vault.store.get(vault.ask(*removals[1:], review="destructive")).why == "loss"


def test_moving_a_passage_in_a_batch_does_not_wait(reviewed: Make) -> None:
    passage = make_text(1, 40)
    vault = reviewed({"N.md": make_text(2, 40) + passage, "T.md": "# T\n"})
    moving = [ReplaceText(note="N", old=passage, new=""), Append(note="T", content=passage)]
    assert vault.apply(*moving, review="destructive").change_id


def test_everyday_changes_do_not_wait(reviewed: Make) -> None:
    text = "---\nstatus: open\n---\n# N\n\n" + make_text(1) + "- [ ] call [[T]] #tag\n"
    links = "".join(f"- {make_sentence(n, 4)} [[T]] and [[T|{n}]]\n" for n in range(150))
    vault = reviewed({"N.md": text, "T.md": "t\n", **{f"L{n}.md": links for n in range(5)}})
    everyday: list[Operation] = [
        SetProperty(note="N", name="status", value="closed"),
        ReplaceText(note="N", old="- [ ] call", new="- [x] call"),
        Append(note="N", content=make_text(5)),
        RenameTag(tag="tag", to="other"),
        Move(note="T", to="Another and much longer name"),
        Create(note="New", content=make_text(6)),
    ]
    for operation in everyday:
        assert vault.apply(operation, review="destructive").change_id, operation
    assert vault.store.get(vault.ask(Delete(note="New"), review="destructive")).why == "delete"
