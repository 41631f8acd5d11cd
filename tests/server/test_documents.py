"""docs/http.md and docs/plugins.md say what is so: examples run, tables agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from server.conftest import Serving
from vaultbridge.cli import serve as serve_command
from vaultbridge.protocols.bridge_v1 import stdio_bridge as bridge
from vaultbridge.protocols.bridge_v1.routes import BODY_SECONDS, describe_api
from vaultbridge.server.serve import IDLE_SECONDS

DOCS = Path(__file__).parents[2] / "docs"
HTTP = (DOCS / "http.md").read_text("utf-8")
PLUGINS = (DOCS / "plugins.md").read_text("utf-8")


async def test_the_plugin_of_the_document_is_loaded_and_works(serving: Serving) -> None:
    example = PLUGINS.partition("```python\n")[2].partition("```")[0]
    async with serving() as served:
        tools = served.config_file.parent / "tools"
    tools.mkdir()
    (tools / "mine.py").write_text(example, "utf-8")
    async with serving() as served:
        answer = await served.call("word_count", note="Hello", minimum=3)
        assert answer["content"][0]["text"] == "4 words"


def test_every_status_and_path_of_the_description_is_in_the_document() -> None:
    for path, item in describe_api()["paths"].items():
        assert f"{path}`" in HTTP
        for operation in item.values():
            for status in operation["responses"]:
                assert status == "200" or f"| {status} |" in HTTP or f"gets {status}" in HTTP


def test_the_numbers_of_the_document_are_those_of_the_code() -> None:
    assert f"within {BODY_SECONDS:g} s" in HTTP
    assert f"a complete request within {IDLE_SECONDS:g} s" in HTTP
    assert f"after {bridge.FIRST_WAIT_SECONDS:g} s" in HTTP
    assert f"… {bridge.LONGEST_WAIT_SECONDS:g} s" in HTTP
    assert f"`{bridge.STATUS_TOOL}`" in HTTP


def test_every_option_that_the_document_names_exists(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve_command.main(["--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    shown = HTTP.partition("## Other machines")[2].partition("## Limits")[0]
    named = set(re.findall(r"--[a-z-]+", shown))
    assert named
    assert named <= known, named - known
