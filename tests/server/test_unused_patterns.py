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
        ("Something else", ""),
        ("*.secret.md", ""),
    ],
)
def test_what_was_meant_is_suggested(pattern: str, suggestion: str) -> None:
    (about,) = find_unused([ScopePattern("deny", pattern)], FILES)
    assert about.suggestion == suggestion
    assert repr(pattern) in str(about)


@pytest.mark.parametrize(
    "pattern", ["Private/", "PRIVATE", "Top", "*.md", "/Top.md", "Work\\\\Secrets", "**/Diary/"]
)
def test_a_pattern_that_matches_is_not_reported(pattern: str) -> None:
    assert find_unused([ScopePattern("deny", pattern)], FILES) == []


@given(st.text(alphabet="PrivateWok/*.md\"' [", min_size=1, max_size=12))
def test_a_suggestion_always_matches_something(pattern: str) -> None:
    try:
        Scope(deny=(pattern,))
    except InvalidArgument:
        return
    for about in find_unused([ScopePattern("deny", pattern)], FILES):
        if about.suggestion:
            assert find_unused([ScopePattern("deny", about.suggestion)], FILES) == []


def test_in_a_large_vault_only_so_many_names_are_compared() -> None:
    files = [f"Folder {number}/note {number}.md" for number in range(NAMES_COMPARED)]
    (about,) = find_unused([ScopePattern("deny", "Fodler 7/")], files)
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
    config = server.home / ".config/vaultbridge/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[[vaults]]\npath = {json.dumps(str(vault))}\ndeny = ['Secrets/']\n", "utf-8")
    await server.answer("token", "make", "phone", "--deny", "Work/", "--deny", "Wrok/")
    await server.start(vault, "--deny", "Pirvate/", "--deny", "Private/")
    log = await wait_for_log(server.log, "The pattern 'Wrok/'")
    assert "The pattern 'Pirvate/' (deny) hides nothing" in log
    assert "The pattern 'Secrets/' (deny of the vault Notes) hides nothing" in log
    assert "The pattern 'Wrok/' (deny of the token phone) hides nothing" in log
    assert "'Private/' (deny)" not in log
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
    await server.start(first, second, "--deny", "Private/", "--deny", "Nowhere/")
    log = await wait_for_log(server.log, "'Nowhere/' (deny) hides nothing")
    assert "'Private/'" not in log
