"""`vaultbridge.server.unused_patterns`: a pattern that hides nothing is reported to the owner, with the name
that was probably meant, and to nobody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.files import write_vault
from support.serve import Served
from support.vault import VaultProcess
from support.waiting import BOUND, ask_until
from vaultbridge.errors import InvalidArgument
from vaultbridge.server.unused_patterns import NAMES_COMPARED, ScopePattern, find_unused
from vaultbridge.vault.scope import Scope

FILES = [
    "Private/a.md",
    "A/Diary/b.md",
    "B/Diary/c.md",
    "Folder/d.md",
    "Top.md",
    "Work/Secrets/k.md",
    "Work/Ünder/x.md",
]


@pytest.mark.parametrize(
    ("pattern", "suggestion"),
    [
        ("Pirvate/", "Private/"),
        ("pirvate", "Private"),
        ('"Private/"', "Private/"),
        ("'Private/'", "Private/"),
        ("“Private”", "Private"),
        ("Secrets/", "Work/Secrets/"),
        ("Wrok/Secrets/", "Work/Secrets/"),
        ("Diary/", "**/Diary/"),
        ("d.md", "Folder/d.md"),
        ("d", "Folder/d.md"),
        ("Under/", "Work/Ünder/"),
        ("Pirvate/*.md", "Private/*.md"),
        ("Private/*.txt", ""),
        ("Secret.md/", "Work/Secrets/"),
        ("Topp/", ""),
        ("**/Dairy/", "**/Diary/"),
        ("**/Secretz/*.md", "**/Secrets/*.md"),
        ("**/k.txt", ""),
        ("Something else", ""),
        ("*.secret.md", ""),
    ],
)
def test_what_was_meant_is_suggested(pattern: str, suggestion: str) -> None:
    (about,) = find_unused([ScopePattern("deny", pattern)], FILES, list)
    assert about.suggestion == suggestion
    assert repr(pattern) in str(about)


@pytest.mark.parametrize(
    "pattern", ["Private/", "PRIVATE", "Top", "*.md", "/Top.md", "Work\\\\Secrets", "**/Diary/"]
)
def test_a_pattern_that_matches_is_not_reported(pattern: str) -> None:
    assert find_unused([ScopePattern("deny", pattern)], FILES, list) == []


EMPTY = ["Drafts", "Work/Later", "Work/Later/Deep"]


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("Drafts/", "Drafts"),
        ("drafts", "Drafts"),
        ("Work\\Later", "Work/Later"),
        ("**/Deep/", "Work/Later/Deep"),
        ("D*s", "Drafts"),
    ],
)
def test_a_pattern_for_an_empty_folder_is_not_called_mistyped(pattern: str, folder: str) -> None:
    (about,) = find_unused([ScopePattern("deny", pattern)], FILES, lambda: EMPTY)
    assert (about.empty_folder, about.suggestion) == (folder, "")
    assert str(about) == (
        f"The pattern {pattern!r} (deny) hides nothing yet: the folder {folder!r} is there, "
        "but no file of the vault is in it."
    )


@pytest.mark.parametrize(
    ("pattern", "suggestion"),
    [("Darfts/", "Drafts/"), ("Later/", "Work/Later/"), ("Drafts/*.md", ""), ("'Drafts'", "Drafts")],
)
def test_an_empty_folder_may_be_what_was_meant(pattern: str, suggestion: str) -> None:
    folders = [*EMPTY, "Private", "Work", "Work/Secrets"]
    (about,) = find_unused([ScopePattern("deny", pattern)], FILES, lambda: folders)
    assert (about.empty_folder, about.suggestion) == ("", suggestion)


def test_the_disk_is_asked_only_when_a_pattern_matches_no_file() -> None:
    def read_folders() -> list[str]:
        asked.append(1)
        return []

    asked: list[int] = []
    assert find_unused([ScopePattern("deny", "Private/")], FILES, read_folders) == []
    assert not asked
    assert find_unused([ScopePattern("deny", "Nowhere/")], FILES, read_folders)
    assert asked == [1]


@given(st.text(alphabet="PrivateWok/*.md\"' [", min_size=1, max_size=12))
def test_a_suggestion_always_matches_something(pattern: str) -> None:
    try:
        Scope(deny=(pattern,))
    except InvalidArgument:
        return
    for about in find_unused([ScopePattern("deny", pattern)], FILES, list):
        if about.suggestion:
            assert find_unused([ScopePattern("deny", about.suggestion)], FILES, list) == []


def test_in_a_large_vault_only_so_many_names_are_compared() -> None:
    files = [f"Folder {number}/note {number}.md" for number in range(NAMES_COMPARED)]
    (about,) = find_unused([ScopePattern("deny", "Fodler 7/")], files, list)
    assert about.suggestion.startswith("Folder")


# In the servers.


async def wait_for_log(file: Path, text: str) -> str:
    async def read() -> str:
        log = await asyncio.to_thread(file.read_text, "utf-8")
        return log if text in log else ""

    return str(await ask_until(read))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    made = Served(tmp_path / "home")
    yield made
    await made.kill()


VAULT = {"Private/diary.md": "zebra", "Work/Secrets/k.md": "k", "A.md": "a"}


async def test_serve_says_in_its_log_which_patterns_match_nothing(tmp_path: Path, server: Served) -> None:
    vault = write_vault(tmp_path / "Notes", VAULT)
    (vault / "Drafts/Old").mkdir(parents=True)
    (vault / "Drafts/.DS_Store").write_bytes(b"")
    config = server.home / ".config/vaultbridge/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[[vaults]]\npath = {json.dumps(str(vault))}\ndeny = ['Secrets/']\n", "utf-8")
    await server.answer("token", "make", "phone", "--deny", "Work/", "--deny", "Wrok/")
    await server.start(vault, "--deny", "Pirvate/", "--deny", "Private/", "--deny", "drafts/")
    # It comes last.
    log = await wait_for_log(server.log, "(deny of the token phone) hides nothing")
    assert "The pattern 'Pirvate/' (deny) hides nothing" in log
    assert "Did you mean 'Private/'?" in log
    assert "The pattern 'Secrets/' (deny of the vault Notes) hides nothing" in log
    assert "The pattern 'Wrok/' (deny of the token phone) hides nothing" in log
    assert "'Private/' (deny)" not in log
    assert "The pattern 'drafts/' (deny) hides nothing yet: the folder 'Drafts' is there" in log
    assert "'Work/'" not in log.replace("Did you mean 'Work/'", "")
    assert str(tmp_path) not in log
    # A pattern that is written while it runs is reported too.
    config.write_text(f"[[vaults]]\npath = {json.dumps(str(vault))}\ndeny = ['Sercets/']\n", "utf-8")
    await wait_for_log(server.log, "'Sercets/' (deny of the vault Notes)")


async def test_no_caller_is_told(tmp_path: Path, server: Served) -> None:
    vault = write_vault(tmp_path / "Notes", VAULT)
    await server.start(vault, "--deny", "Pirvate/")
    await wait_for_log(server.log, "hides nothing")
    async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as http:
        for tool, arguments in (("obsidian_vault_info", {}), ("obsidian_read_note", {"name": "Pirvate/x"})):
            where = f"/bridge/v1/tools/{tool}/call"
            async with http.post(where, json={"arguments": arguments}) as response:
                assert "Pirvate/'" not in await response.text()


async def test_stdio_says_it_on_standard_error_after_the_handshake(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "Notes", VAULT)
    async with VaultProcess(tmp_path, str(vault), "--deny", "Pirvate/", "--deny", "A") as process:
        await process.begin()
        assert "Private/" in await process.text("list_files")
        assert process.inner.stderr is not None
        line = ""
        while "hides nothing" not in line:
            line = (await asyncio.wait_for(process.inner.stderr.readline(), BOUND)).decode()
            assert line, "the process has ended"
    assert "The pattern 'Pirvate/' (deny on the command line) hides nothing" in line
    assert "Did you mean 'Private/'?" in line


async def test_a_pattern_for_several_vaults_has_to_match_in_one_of_them(
    tmp_path: Path, server: Served
) -> None:
    first = write_vault(tmp_path / "First", VAULT)
    second = write_vault(tmp_path / "Second", {"B.md": "b"})
    (first / "Drafts").mkdir()
    await server.start(first, second, "--deny", "Private/", "--deny", "Drafts/", "--deny", "Nowhere/")
    log = await wait_for_log(server.log, "'Nowhere/' (deny) hides nothing:")
    assert "'Private/'" not in log
    # The second vault has no such folder, the first one has.
    assert log.count("'Drafts/' (deny) hides nothing") == 1
    assert "'Drafts/' (deny) hides nothing yet" in log
