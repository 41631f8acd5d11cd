"""What each MCP version has, compared with the schemas the specification publishes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vaultbridge.protocols.mcp.versions import (
    HANDSHAKE_VERSIONS,
    MODERN_VERSIONS,
    SUPPORTED_NEWEST_FIRST,
    VERSIONS,
    negotiate,
)

SCHEMAS = Path(__file__).parents[2] / "data" / "mcp-schema"


def read_definitions(version: str) -> dict[str, Any]:
    schema = json.loads((SCHEMAS / f"{version}.json").read_text("utf-8"))
    found: dict[str, Any] = schema.get("$defs") or schema["definitions"]
    return found


def test_all_published_versions_are_known_oldest_first() -> None:
    assert list(VERSIONS) == sorted(path.stem for path in SCHEMAS.glob("*.json"))
    assert list(SUPPORTED_NEWEST_FIRST) == sorted(VERSIONS, reverse=True)
    assert MODERN_VERSIONS == ("2026-07-28",)
    assert tuple(VERSIONS)[:4] == HANDSHAKE_VERSIONS


@pytest.mark.parametrize("name", list(VERSIONS))
def test_the_table_says_what_the_schema_says(name: str) -> None:
    known, version = read_definitions(name), VERSIONS[name]
    tool = known["Tool"]["properties"]
    assert version.tool_annotations == ("annotations" in tool)
    assert version.titles == ("title" in tool)
    assert version.output_schemas == ("outputSchema" in tool)
    assert version.output_schemas == ("structuredContent" in known["CallToolResult"]["properties"])
    assert version.value_meta == ("_meta" in tool)
    assert version.icons == ("icons" in tool)
    assert version.audio == ("AudioContent" in known)
    assert version.resource_links == ("ResourceLink" in known)
    assert version.completions_capability == ("completions" in known["ServerCapabilities"]["properties"])
    assert version.elicitation == ("ElicitRequest" in known)
    assert version.server_description == ("description" in known["Implementation"]["properties"])
    assert version.modern == ("InitializeResult" not in known)
    assert version.modern == ("DiscoverResult" in known)
    assert version.batches == ("JSONRPCBatchRequest" in known)
    progress = known["ProgressNotification"]["properties"]["params"]
    progress = progress.get("properties") or known["ProgressNotificationParams"]["properties"]
    assert version.progress_message == ("message" in progress)


@pytest.mark.parametrize("name", HANDSHAKE_VERSIONS)
def test_a_known_version_is_agreed_to(name: str) -> None:
    assert negotiate(name).name == name


@pytest.mark.parametrize("name", ["2026-07-28", "2099-01-01", "1.0", "", "2024-10-07"])
def test_an_unknown_version_is_negotiated_to_the_newest_with_a_handshake(name: str) -> None:
    """Lifecycle, Version Negotiation."""
    assert negotiate(name).name == "2025-11-25"
