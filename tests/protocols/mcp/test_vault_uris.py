"""The addresses of a vault's files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import NotFound
from vaultbridge.protocols.mcp.vault.resources import (
    URI_CHARS,
    ResourceAddress,
    make_uri,
    make_uri_template,
    parse_uri,
)

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/"), min_size=1)


@given(NAMES, st.lists(NAMES, min_size=1, max_size=4))
def test_parsing_a_uri_inverts_making_it(vault: str, parts: list[str]) -> None:
    path = "/".join(parts)
    uri = make_uri(vault, path)
    assert parse_uri(uri) == ResourceAddress(vault, path)
    assert re.fullmatch(r"obsidian://vault/[A-Za-z0-9\-._~%/]+", uri)


def test_the_address_is_the_apps_own_short_link() -> None:
    assert make_uri("My Vault", "A b/ü?#.md") == "obsidian://vault/My%20Vault/A%20b/%C3%BC%3F%23.md"


@pytest.mark.parametrize(
    "uri",
    [
        "obsidian://vault/My%20Vault/Folder/A%20b.md",
        "obsidian://vault/My%20Vault/Folder%2FA%20b.md",
        "obsidian://vault/My Vault/Folder/A b.md",
        "OBSIDIAN://vault/My%20Vault/Folder/A%20b.md",
    ],
)
def test_an_address_may_be_encoded_more_or_less_than_ours(uri: str) -> None:
    assert parse_uri(uri) == ResourceAddress("My Vault", "Folder/A b.md")


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "file:///etc/passwd",
        "obsidian://open?vault=a&file=b",
        "obsidian://vault/",
        "obsidian://vault/V",
        "obsidian://vault/V/",
        "obsidian://vault//a.md",
        "obsidian://vault/V/" + "a" * URI_CHARS,
    ],
)
def test_a_foreign_uri_names_no_note(uri: str) -> None:
    with pytest.raises(NotFound):
        parse_uri(uri)


def test_a_template_holds_the_vault_unless_it_is_still_to_be_chosen() -> None:
    assert make_uri_template("A b") == "obsidian://vault/A%20b/{+path}"
    assert make_uri_template() == "obsidian://vault/{vault}/{+path}"
