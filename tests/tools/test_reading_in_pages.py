"""The pages of a note add up to the note, and `raw` is exactly the text of the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.tools import Small
from support.vault import VaultProcess, make_small_vault, vault_wire
from vaultbridge.engine.reading import Part, exact_part
from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.text import BOM
from vaultbridge.protocols.bridge_v1.endpoints import BridgeV1
from vaultbridge.tools.read_note import RAW_CHARS

CUT = re.compile(r"\[cut; continue with start=(\d+)\]\Z")

lines = st.one_of(
    st.just(""),
    st.just("   "),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\n"), max_size=20),
    st.sampled_from(
        ["# A heading", "## Another", "word " * 60, "x" * 200, "[cut; continue with start=3]", "---"]
    ),
)
texts = st.lists(
    st.tuples(lines, st.sampled_from(["\n", "\n", "\r\n", "\n\n\n", "\r"])).map("".join), max_size=30
).map("".join)


def join_pages(read: Callable[..., str], **arguments: object) -> str:
    """All pages without their first lines and closing marks, as a caller would join them."""
    pages: list[str] = []
    start = 0
    while True:
        _, _, body = read(start=start, **arguments).partition("\n")
        more = CUT.search(body)
        if more is None or int(more[1]) <= start:
            return "".join([*pages, body])
        pages.append(body[: more.start()])
        start = int(more[1])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=texts, size=st.integers(1, 300), first=st.integers(1, 20), count=st.integers(0, 20))
def test_pages_add_up_to_the_note_the_section_or_the_lines(
    small: Small, text: str, size: int, first: int, count: int
) -> None:
    # A note that ends in our own mark cannot be distinguished from a cut one by its text alone.
    text = text if not CUT.search(text) else text + "."
    harness = small({})
    (harness.folder / "N.md").write_bytes(text.encode())

    def read(**arguments: object) -> str:
        return harness.text("read_note", path="N.md", **arguments)

    assert join_pages(read, max_chars=size) == text
    note = parse(text)
    for heading in {
        candidate.text for candidate in note.headings if candidate.text in ("A heading", "Another")
    }:
        whole = exact_part(text, note, Part(heading=heading))
        assert join_pages(read, max_chars=size, heading=heading) == whole
        assert harness.text("read_note", path="N.md", heading=heading, raw=True) == whole
    span = f"{first}-{first + count}"
    try:
        whole = exact_part(text, note, Part(lines=(first, first + count)))
    except InvalidArgument:
        return
    if not CUT.search(whole):
        assert join_pages(read, max_chars=size, lines=span) == whole
    assert harness.text("read_note", path="N.md", lines=span, raw=True) == whole


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=texts, bom=st.booleans())
def test_raw_saved_again_is_the_file_byte_for_byte(small: Small, text: str, bom: bool) -> None:
    harness = small({})
    data = (BOM if bom else b"") + text.encode()
    (harness.folder / "N.md").write_bytes(data)
    assert harness.text("read_note", path="N.md", raw=True).encode() == data


def test_a_passage_copied_from_a_page_is_found(small: Small) -> None:
    whole = "first\n\n\n\n" + "second " * 40 + "\n\n\nlast\n"
    harness = small({"A.md": whole})
    page = harness.text("read_note", name="A", max_chars=9).partition("\n")[2]
    passage = page[: page.index("[cut;")]
    assert passage == "first\n\n\n\n"
    harness.data("edit_note", name="A", op="replace_text", old=passage, new="new\n")
    assert harness.read("A.md") == "new\n" + whole.removeprefix(passage)


def test_raw_is_never_cut_and_a_refusal_says_what_to_ask_for(small: Small) -> None:
    line = "x" * 999 + "\n"
    harness = small(
        {"Long.md": line * 1200, "B.md": b"a\xff\n", "One.md": "y" * (RAW_CHARS + 1), "A.md": "a"}
    )
    assert len(harness.text("read_note", name="Long", raw=True, lines="1-1000")) == RAW_CHARS
    refused = harness.catch_refusal(InvalidArgument, "read_note", name="Long", raw=True)
    assert "lines=1-1000," in str(refused)
    assert "One line is longer" in str(
        harness.catch_refusal(InvalidArgument, "read_note", name="One", raw=True)
    )
    assert "not UTF-8" in str(harness.catch_refusal(InvalidArgument, "read_note", name="B", raw=True))
    for more in ({"start": 3}, {"outline": True}):
        harness.catch_refusal(InvalidArgument, "read_note", name="A", raw=True, **more)
    harness.catch_refusal(InvalidArgument, "read_note", names=["A", "B"], raw=True)


@pytest.mark.parametrize("size", [700, 24_000])
async def test_pages_and_raw_return_the_note_over_stdio(tmp_path: Path, size: int) -> None:
    paragraph = "A line of words that goes on.\r\n\r\n\r\n" + "long " * 300 + "\n\n"
    whole = paragraph * 60
    vault = make_small_vault(tmp_path, {"A.md": whole})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        pages: list[str] = []
        start = 0
        while True:
            text = await process.text("read_note", name="A", max_chars=size, start=start)
            body = text.partition("\n")[2]
            more = CUT.search(body)
            pages.append(body[: more.start()] if more else body)
            if more is None:
                break
            start = int(more[1])
        assert "".join(pages) == whole
        assert await process.text("read_note", name="A", raw=True) == whole


async def test_raw_returns_the_note_over_bridge_v1(tmp_path: Path) -> None:
    import msgspec

    whole = "\n\n# H\r\nno line end"
    async with vault_wire(tmp_path, make_small_vault(tmp_path, {"A.md": whole})) as wire:
        body = b'{"arguments":{"path":"A.md","raw":true}}'
        answer = msgspec.json.decode(await BridgeV1(wire.server).call("read_note", body))
        assert answer["content"][0]["text"] == whole
