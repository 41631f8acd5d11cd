"""Files over the IDE socket of a real server: what may be written, read and listed there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.callers import ide
from server.conftest import Serving
from support.editor import Client, Failed

VAULT = {
    "Plan.md": "plan\n",
    "Sub/Plan.md": "plan below\n",
    "Sub/main.js": "1\n",
    "Sub.md": "a note called like the folder\n",
    "Private/Diary.md": "dear diary\n",
    "whole.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "stub.png": b"\x89PNG",
}


@pytest.fixture
async def client(serving: Serving, vault: Path) -> AsyncIterator[Client]:
    async with serving('[scope]\ndeny = ["Private/"]\n') as served, ide(served) as client:
        yield client


async def catch_refusal(client: Client, method: str, **params: str) -> Failed:
    with pytest.raises(Failed) as failed:
        await client.request(method, **params)
    return failed.value


@pytest.mark.parametrize(
    "path",
    ["relative/path/to/file.txt", "file.js", "data.json", "LICENSE", "Ordner/Käse.css", "New.md", "a.canvas"],
)
async def test_any_text_file_is_written_read_and_written_again(
    client: Client, vault: Path, path: str
) -> None:
    """Seed 001 writes `relative/path/to/file.txt`."""
    for text in ("{}\n", "new file contents — ü\n", ""):
        assert (await client.request("writeFile", path=path, content=text))["success"] is True
        assert (vault / path).read_text("utf-8") == text
        assert await client.request("readFile", path=path) == text
        assert await client.request("files/read", path=path) == text


@pytest.mark.parametrize("sent", ["one\ntwo\n", "one\r\ntwo\r\n", "one\r\ntwo\n", "one"])
async def test_what_is_written_over_a_note_is_what_was_sent(client: Client, vault: Path, sent: str) -> None:
    """Whatever line ends the note had: a whole text brings its own."""
    for path in ("Windows.md", "Unix.txt"):
        (vault / path).write_bytes(b"old\r\nends\r\n" if path == "Windows.md" else b"old\nends\n")
        await client.request("writeFile", path=path, content=sent)
        assert (vault / path).read_bytes() == sent.encode()
        assert await client.request("readFile", path=path) == sent


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("method", ["readFile", "files/read"])
async def test_a_note_in_another_encoding_is_not_lost_by_reading_and_writing_it(
    client: Client, vault: Path, encoding: str, method: str
) -> None:
    """Seed 001 answers a bare string, which cannot say that characters were replaced."""
    before = "Grüße\n".encode(encoding)
    (vault / "Old.md").write_bytes(before)
    refused = await catch_refusal(client, method, path="Old.md")
    assert (refused.code, refused.data["errorCode"]) == (-32603, "SERVER_ERROR")
    assert refused.message.startswith("failed to read file: Old.md is not UTF-8 (")
    refused = await catch_refusal(client, "writeFile", path="Old.md", content="Gr\ufffd\n")
    assert "not UTF-8" in refused.message and "set force" in str((refused.message, refused.data))
    assert (vault / "Old.md").read_bytes() == before
    await client.request("writeFile", path="Old.md", content="Grüße\n", force=True)
    assert (vault / "Old.md").read_text("utf-8") == "Grüße\n"


@pytest.mark.parametrize("path", ["whole.png", "stub.png"])
async def test_a_file_that_is_not_text_is_neither_shown_nor_replaced(
    client: Client, vault: Path, path: str
) -> None:
    before = (vault / path).read_bytes()
    assert "not text" in (await catch_refusal(client, "readFile", path=path)).message
    assert "not a text file" in (await catch_refusal(client, "writeFile", path=path, content="x")).message
    assert (vault / path).read_bytes() == before


async def test_hidden_folders_stay_closed(client: Client, vault: Path) -> None:
    for path in (".obsidian/app.json", ".git/config", "Sub/.hidden/x.txt", ".env"):
        assert (await catch_refusal(client, "writeFile", path=path, content="x")).code == -32602
        assert (await catch_refusal(client, "readFile", path=path)).code == -32602
        assert not (vault / path).exists()


async def test_a_folder_is_named_as_one_and_the_note_of_its_name_stays(client: Client, vault: Path) -> None:
    for path in ("Sub", "Sub/", "sub"):
        message = (await catch_refusal(client, "writeFile", path=path, content="x")).message
        assert "failed to write file: " in message and "is a folder, not a file" in message
    assert "is a folder" in (await catch_refusal(client, "readFile", path="Sub")).message
    assert (vault / "Sub.md").read_text() == "a note called like the folder\n"
    # What is private is not said to be a folder, nor to be anything.
    assert "folder," not in (await catch_refusal(client, "writeFile", path="Private", content="x")).message
    assert (
        "Private" not in (await catch_refusal(client, "writeFile", path="PRIVATE/x.txt", content="x")).message
    )


async def test_another_spelling_writes_the_file_itself_and_not_the_note_of_that_name(
    client: Client, vault: Path
) -> None:
    (vault / "MAKEFILE").write_text("all:\n")
    (vault / "Makefile.md").write_text("about it\n")
    answer = await client.request("writeFile", path="Makefile", content="none:\n")
    assert answer["path"] == "MAKEFILE"
    assert (vault / "MAKEFILE").read_text() == "none:\n"
    assert (vault / "Makefile.md").read_text() == "about it\n"


async def test_the_answer_has_the_path_that_the_file_really_got(client: Client, vault: Path) -> None:
    answer = await client.request("writeFile", path="SUB/new.txt", content="new\n")
    assert (vault / answer["path"]).read_text() == "new\n"
    assert answer["path"] == "Sub/new.txt"
    assert await client.request("listFiles", pattern="new.txt") == ["Sub/new.txt"]


async def test_a_pattern_without_a_slash_is_a_file_name_in_any_folder(client: Client) -> None:
    for pattern, found in {
        "*.js": ["Sub/main.js"],
        "main.js": ["Sub/main.js"],
        "Plan.md": ["Plan.md", "Sub/Plan.md"],
        "plan.*": ["Plan.md", "Sub/Plan.md"],
        "/Plan.md": ["Plan.md"],
        "Sub/*": ["Sub/Plan.md", "Sub/main.js"],
        "Sub/": ["Sub/Plan.md", "Sub/main.js"],
        "**/main.js": ["Sub/main.js"],
        "Sub": [],
        "Diary.md": [],
        "": ["Plan.md", "Sub.md", "Sub/Plan.md", "Sub/main.js", "stub.png", "whole.png"],
    }.items():
        assert await client.request("listFiles", pattern=pattern) == found, pattern


async def test_the_error_about_a_bad_pattern_uses_the_argument_name_that_was_sent(client: Client) -> None:
    for pattern in ("*" * 40, "x" * 600, "../*"):
        failed = await catch_refusal(client, "listFiles", pattern=pattern)
        assert failed.code == -32602
        assert "pattern" in failed.message
        assert "allow" not in f"{failed.message} {failed.data}"
