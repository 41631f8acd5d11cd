"""`vaultbridge.plugins` is what plugins may rely on: complete, documented, and its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import vaultbridge.plugins
from support.files import write_vault
from support.plugins import PluginFolder
from support.tools import open_harness
from vaultbridge import errors
from vaultbridge.engine.operations.vocabulary import OPERATIONS
from vaultbridge.errors import InvalidArgument
from vaultbridge.plugins.decorator import ANSWER_BYTES
from vaultbridge.plugins.loading import LOAD_SECONDS
from vaultbridge.plugins.registry import MAX_FILE_BYTES, MAX_FILES, MAX_PLUGIN_TOOLS
from vaultbridge.tools.base.answer import Answer, ImagePart
from vaultbridge.tools.base.tool import ToolContext

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_only_the_public_names_are_listed_and_each_can_be_imported() -> None:
    public = vaultbridge.plugins.__all__
    assert dir(vaultbridge.plugins) == sorted(public)
    for name in public:
        assert getattr(vaultbridge.plugins, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'build_tool'"):
        vaultbridge.plugins.build_tool  # type: ignore[attr-defined]  # noqa: B018 - the access is the test


def test_every_public_name_is_documented() -> None:
    for name in vaultbridge.plugins.__all__:
        assert f"`{name}`" in PAGE, name


def test_every_error_a_caller_may_meet_is_public() -> None:
    tree = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.VaultbridgeError)
    }
    assert tree <= set(vaultbridge.plugins.__all__)


def test_every_operation_of_the_engine_is_in_operations() -> None:
    assert OPERATIONS
    for kind in OPERATIONS.values():
        assert getattr(vaultbridge.plugins.operations, kind.__name__) is kind


def test_importing_the_package_imports_nothing_that_a_plugin_does_not_use() -> None:
    code = "import sys, vaultbridge.plugins; print(*[m for m in sys.modules if m.startswith('vaultbridge.')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["vaultbridge.plugins"]


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert f"at most {ANSWER_BYTES // 2**20} MiB of text" in PAGE
    assert f"{MAX_FILES} files of at most {MAX_FILE_BYTES // 2**20} MiB, and {MAX_PLUGIN_TOOLS} tools" in PAGE
    assert f"may take {LOAD_SECONDS:g} seconds" in PAGE


def test_the_examples_of_the_page_work(plugins: PluginFolder, tmp_path: Path) -> None:
    for number, example in enumerate(EXAMPLES):
        plugins.raw(f"example_{number}.py", example)
    assert plugins.registry.problems == {}
    assert plugins.list_added() == ["word_count", "log_weight", "pixel"]

    folder = tmp_path / "notes"
    write_vault(folder, {"Health.md": "one two three\n"})
    harness = open_harness(tmp_path, folder)

    def call(name: str, **arguments: object) -> Answer:
        context = ToolContext(engines={"notes": harness.engine}, actor="test")
        return plugins.catalog.call(name, arguments, context)

    try:
        assert call("word_count", note="Health").text == "3 words"
        assert call("word_count", note="Health", minimum=5).text == "only 3 words"
        logged = call("log_weight", note="Health", kilograms=71.5)
        assert logged.data is not None and logged.data["files"] == ["Health.md"]
        assert harness.read("Health.md") == "---\nweight: 71.5\n---\none two three\n- 71.5 kg\n"
        with pytest.raises(InvalidArgument, match="kilograms is -1"):
            call("log_weight", note="Health", kilograms=-1)
        picture = call("pixel").content[1]
        assert isinstance(picture, ImagePart) and picture.mime_type == "image/gif"
    finally:
        harness.engine.close()
