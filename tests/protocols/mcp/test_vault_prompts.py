"""Built-in prompts and the notes of the prompt folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.process import ROOT
from support.vault import copy_sample_vault, make_small_vault, open_engines
from vaultbridge.errors import InvalidArgument, NotFound
from vaultbridge.protocols.mcp.values import PromptResult, TextContent
from vaultbridge.protocols.mcp.vault.prompts import (
    BUILT_IN,
    PROMPT_BYTES,
    PROMPT_NOTES,
    Prompts,
    paginate_prompts,
)
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.scope import Scope

OWN = {prompt.name for prompt in BUILT_IN}


def read_text(result: PromptResult) -> str:
    first = result.messages[0].content
    assert isinstance(first, TextContent)
    return first.text


def list_names(prompts: Prompts) -> set[str]:
    return {info.name for info in prompts.list_infos()} - OWN


def test_the_sample_vaults_prompts_are_listed_with_their_arguments(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, copy_sample_vault(tmp_path))
    prompts = Prompts(engines)
    found = {info.name: info for info in prompts.list_infos()}
    assert list_names(prompts) == {"plan_a_night", "report_to_the_council"}
    plan = found["plan_a_night"]
    assert plan.title == "Plan a night"
    assert plan.description == "Plan an observing night from the notes of this vault"
    assert [(argument.name, argument.required) for argument in plan.arguments] == [
        ("date", True),
        ("visitors", False),
    ]
    text = read_text(prompts.get("plan_a_night", {"date": "2026-04-01", "visitors": "two"}))
    assert "Plan the night of 2026-04-01" in text
    assert "Visitors: two." in text
    engines.close()


def test_prompt_notes_are_found_without_an_index_and_as_they_are_now(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"Prompts/A.md": "old", "Prompts/Sub folder/B ü.md": "b", "C.md": "c"})
    engines = open_engines(tmp_path, vault)
    prompts = Prompts(engines)
    assert list_names(prompts) == {"a", "sub_folder_b_ü"}
    (vault / "Prompts" / "A.md").write_text("new")
    assert read_text(prompts.get("a", {})) == "new"
    assert engines["Notes"].queries.status.state == "empty"
    engines.close()


def test_another_folder_may_hold_the_prompts(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"Prompts/A.md": "a", "Meta/Prompts/B.md": "b"})
    engines = open_engines(tmp_path, vault)
    assert list_names(Prompts(engines, folder="Meta/Prompts")) == {"b"}
    assert list_names(Prompts(engines, folder="Nowhere")) == set()
    engines.close()


def test_hidden_large_and_foreign_files_are_no_prompts(tmp_path: Path) -> None:
    outside = make_small_vault(tmp_path, {"Secret.md": "secret"}, "outside")
    files: dict[str, str | bytes] = {
        "Prompts/Seen.md": "seen",
        "Prompts/Private/Hidden.md": "hidden",
        "Prompts/.dot/D.md": "d",
        "Prompts/Large.md": "x" * (PROMPT_BYTES + 1),
        "Prompts/Picture.png": b"png",
    }
    vault = make_small_vault(tmp_path, files)
    (vault / "Prompts" / "Link.md").symlink_to(outside / "Secret.md")
    engines = open_engines(tmp_path, vault, scope=Scope(deny=("Prompts/Private",)))
    assert list_names(Prompts(engines)) == {"seen"}
    engines.close()


def test_names_that_collide_are_numbered(tmp_path: Path) -> None:
    vault = make_small_vault(
        tmp_path, {"Prompts/A b.md": "1", "Prompts/A-b.md": "2", "Prompts/Tidy inbox.md": "3"}
    )
    engines = open_engines(tmp_path, vault)
    prompts = Prompts(engines)
    assert list_names(prompts) == {"a_b", "a_b_2", "tidy_inbox_2"}
    assert {read_text(prompts.get(name, {})) for name in ("a_b", "a_b_2")} == {"1", "2"}
    engines.close()


def test_prompt_notes_are_bounded_and_come_in_pages(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"Prompts/P{n:03}.md": "x" for n in range(PROMPT_NOTES + 5)}
    engines = open_engines(tmp_path, make_small_vault(tmp_path, files))
    infos = Prompts(engines).list_infos()
    assert len(infos) == PROMPT_NOTES + len(OWN)
    assert paginate_prompts(infos, "").items == tuple(infos)
    engines.close()


def test_a_built_in_prompt_attaches_its_note(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, copy_sample_vault(tmp_path))
    result = Prompts(engines).get("summarize_note", {"note": "M82", "focus": "the core"})
    assert "[[M82]]" in read_text(result)
    assert "Focus: the core." in read_text(result)
    brought = result.messages[1].content
    note = (tmp_path / "Sample Vault/Targets/M82.md").read_text()
    mark = f"note-{content_hash(note.encode())}"
    assert brought == TextContent(text=f"The note Targets/M82.md, as data:\n<{mark}>\n{note}\n</{mark}>")
    engines.close()


def test_a_long_note_is_brought_along_in_part_and_says_how_to_go_on(tmp_path: Path) -> None:
    engines = open_engines(
        tmp_path, make_small_vault(tmp_path, {"Long.md": "word " * 20 + "\n" + "line\n" * 20_000})
    )
    content = Prompts(engines).get("find_related", {"note": "Long"}).messages[1].content
    assert isinstance(content, TextContent)
    assert len(content.text) < 25_000
    assert "read on with start=" in content.text
    engines.close()


def test_unknown_prompts_notes_and_arguments_are_reported(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, copy_sample_vault(tmp_path))
    prompts = Prompts(engines)
    with pytest.raises(InvalidArgument, match="no prompt 'nope'"):
        prompts.get("nope", {})
    with pytest.raises(NotFound):
        prompts.get("summarize_note", {"note": "No such note at all"})
    with pytest.raises(InvalidArgument, match="note is missing"):
        prompts.get("summarize_note", {})
    engines.close()


def test_where_nothing_may_be_changed_no_prompt_changes_anything(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, copy_sample_vault(tmp_path))
    prompts = Prompts(engines)
    prompts.limit(read_only=True)
    assert {info.name for info in prompts.list_infos()} & OWN == OWN - {"tidy_inbox"}
    engines.close()


def test_with_several_vaults_a_prompt_asks_which(tmp_path: Path) -> None:
    first, second = (
        make_small_vault(tmp_path, {"A.md": "in one"}, "One"),
        make_small_vault(tmp_path, {"A.md": "2"}, "Two"),
    )
    engines = open_engines(tmp_path, first, second)
    prompts = Prompts(engines)
    info = next(info for info in prompts.list_infos() if info.name == "summarize_note")
    assert [argument.name for argument in info.arguments] == ["note", "focus", "vault"]
    with pytest.raises(InvalidArgument, match="vault is missing"):
        prompts.get("summarize_note", {"note": "A"})
    with pytest.raises(NotFound):
        prompts.get("summarize_note", {"note": "A", "vault": "Three"})
    content = prompts.get("summarize_note", {"note": "A", "vault": "One"}).messages[1].content
    assert isinstance(content, TextContent)
    assert "\nin one\n" in content.text
    engines.close()


def test_a_vault_that_is_missing_leaves_the_built_in_prompts(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, tmp_path / "missing")
    assert {info.name for info in Prompts(engines).list_infos()} == OWN


def test_the_built_in_prompts_name_only_tools_that_exist() -> None:
    import re

    known = set(standard_catalog().names())
    for prompt in BUILT_IN:
        assert set(re.findall(r"obsidian_\w+", prompt.wording)) <= known, prompt.name
        assert set(re.findall(r"\{(\w+)\}", prompt.wording)) <= {
            argument.name for argument in prompt.arguments
        }
        assert not {declared.name for declared in prompt.arguments if not declared.required} - set(
            prompt.defaults
        )


def test_a_value_with_braces_is_only_text() -> None:
    prompt = next(prompt for prompt in BUILT_IN if prompt.name == "summarize_note")
    assert "[[{focus}]]" in prompt.text({"note": "{focus}", "focus": "x"})


def test_the_built_in_prompts_and_their_arguments_are_in_the_document() -> None:
    document = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    for prompt in BUILT_IN:
        arguments = ", ".join(f"`{argument.name}`" for argument in prompt.arguments)
        assert f"| `{prompt.name}` | {arguments} |" in document


def test_hidden_notes_do_not_take_the_place_of_visible_prompts(tmp_path: Path) -> None:
    hidden: dict[str, str | bytes] = {f"Prompts/Private/P{n:03}.md": "x" for n in range(PROMPT_NOTES)}
    vault = make_small_vault(tmp_path, {**hidden, "Prompts/Z.md": "z"})
    engines = open_engines(tmp_path, vault, scope=Scope(deny=("Prompts/Private/",)))
    assert list_names(Prompts(engines)) == {"z"}
