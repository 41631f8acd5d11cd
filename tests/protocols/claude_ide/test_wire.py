"""The quoting that Claude Code needs for paths with spaces; the other shapes are tested on the socket."""

from __future__ import annotations

import pytest

from vaultbridge.protocols.claude_ide.wire import find_language_id, quote_path
from vaultbridge.vault.paths import vault_path


@pytest.mark.parametrize(
    ("absolute", "lines", "expected"),
    [
        ("/v/My Folder/Note.md", (None, None), '/v/"My Folder/Note.md"'),
        ("/v/My Folder/Note.md", (2, 3), '/v/"My Folder/Note.md#L2-3"'),
        ("/v/My Folder/Note.md", (2, 2), '/v/"My Folder/Note.md#L2"'),
        ("/v/My Folder/Note.md", (2, None), '/v/"My Folder/Note.md#L2"'),
        ("/v/Plain.md", (2, 3), None),
        ("/elsewhere/My Note.md", (None, None), '/v/"/elsewhere/My Note.md"'),
        ("/My Vault/Note.md", (2, 2), '/v/"/My Vault/Note.md#L2"'),
        ("/elsewhere/Note.md", (2, 2), None),
        ('/v/My "quoted" Note.md', (None, None), None),
        ("/vv/My Note.md", (None, None), '/v/"/vv/My Note.md"'),
    ],
)
def test_only_paths_that_need_it_are_quoted(
    absolute: str, lines: tuple[int | None, int | None], expected: str | None
) -> None:
    assert quote_path(absolute, "/v", *lines) == expected
    assert quote_path(absolute, "/v/", *lines) == expected


def test_languages() -> None:
    assert find_language_id(vault_path("A.MD")) == "markdown"
    assert find_language_id(vault_path("A.base")) == "yaml"
    assert find_language_id(vault_path("A.png")) == "plaintext"
