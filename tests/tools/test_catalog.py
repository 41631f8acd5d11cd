"""The catalog: which tools a connection sees, and how a call reaches one."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from support.files import write_vault
from support.tools import Small, open_harness
from vaultbridge.errors import InvalidArgument, NotFound, PermissionDenied, VaultNotFound
from vaultbridge.tools.base.answer import Answer, answer_text
from vaultbridge.tools.base.catalog import MAX_TOOLS, Catalog
from vaultbridge.tools.base.tool import ForeignTool, ToolContext, build_annotations
from vaultbridge.tools.standard import STANDARD_TOOLS, standard_catalog
from vaultbridge.vault.scope import Scope


def make_greeter(name: str = "greet", **more: Any) -> ForeignTool:
    def run(context: ToolContext, arguments: dict[str, Any]) -> Answer:
        return answer_text(f"hello {arguments.get('who', 'you')} from {context.actor}")

    schema = {"type": "object", "properties": {"who": {"type": "string"}}}
    return ForeignTool(
        name=name,
        description="Greet",
        input_schema=schema,
        run=run,
        group=more.pop("group", "plugin:x"),
        **more,
    )


def test_the_order_of_tools_is_always_the_same() -> None:
    names = standard_catalog().names()
    assert names == standard_catalog().names()
    assert names[0] == "obsidian_create_note"
    assert standard_catalog().names("") == tuple(tool.name for tool in STANDARD_TOOLS)
    assert [tool.name for tool in standard_catalog().list_tools()] == list(names)


def test_a_tool_is_called_with_or_without_the_prefix(small: Small) -> None:
    harness = small({"A.md": "a"})
    assert harness.text("read_note", name="A") == harness.text("obsidian_read_note", name="A")


def test_an_unknown_tool_is_refused_with_the_closest_name(small: Small) -> None:
    harness = small({})
    assert harness.catch_refusal(NotFound, "obsidian_raed_note").closest[0] == "obsidian_read_note"
    assert harness.catch_refusal(NotFound, "raed_note").closest[0] == "read_note"


def test_profiles_choose_the_tools() -> None:
    catalog = standard_catalog()
    core = {tool.name for tool in catalog.list_tools(profile="core", prefix="")}
    assert core == {
        "create_note",
        "read_note",
        "edit_note",
        "move_note",
        "delete_note",
        "list_files",
        "context",
        "search",
        "links",
        "daily_note",
        "write_daily_note",
        "undo",
        "vault_info",
    }
    reading = {tool.name: tool for tool in catalog.list_tools(profile="read-only", prefix="")}
    assert not set(reading) & {"create_note", "edit_note", "move_note", "delete_note", "batch"}
    assert all(tool.annotations == {"readOnlyHint": True} for tool in reading.values())
    assert catalog.list_tools(read_only=True) == catalog.list_tools(profile="read-only")


def test_no_tool_both_reads_and_changes(small: Small) -> None:
    """Listing tags must need no approval, and what needs none must change nothing: a tool that says it only
    reads takes no argument that changes something, and the read-only list is the same tools as ever."""
    catalog = standard_catalog()
    whole = {tool.name: tool for tool in catalog.list_tools(prefix="")}
    reading = {tool.name: tool for tool in catalog.list_tools(prefix="", read_only=True)}
    assert {name for name, tool in whole.items() if tool.annotations.get("readOnlyHint")} == set(reading)
    assert {"tags", "tasks", "properties", "history", "canvas", "daily_note", "template"} <= set(reading)
    assert all(whole[name] == tool for name, tool in reading.items())
    for tool in whole.values():
        assert ("destructiveHint" in tool.annotations) == (tool.name not in reading)
        if tool.name in reading:
            assert not {"expected", "dry_run", "content", "force", "to"} & set(
                tool.input_schema["properties"]
            ) - ({"to"} if tool.name == "links" else set())


def test_a_tool_outside_the_profile_cannot_be_called(small: Small) -> None:
    harness = small({"A.md": "a"}).with_context(profile="core")
    assert "a" in harness.text("read_note", name="A")
    harness.catch_refusal(NotFound, "tags")


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("create_note", {"name": "N"}),
    ("edit_note", {"name": "A", "op": "append", "content": "x"}),
    ("move_note", {"name": "A", "to": "B"}),
    ("delete_note", {"name": "A"}),
    ("batch", {"operations": [{"op": "delete", "name": "A"}]}),
    ("edit_note", {"op": "set_property", "name": "A", "property": "p", "value": 1}),
    ("edit_note", {"op": "add_tag", "name": "A", "tag": "t"}),
    ("edit_note", {"op": "set_task", "name": "A", "line": 1}),
    ("edit_note", {"op": "insert_template", "template": "A", "name": "A"}),
    ("write_daily_note", {"action": "append", "content": "x"}),
    ("edit_canvas", {"action": "create", "name": "C"}),
    ("add_attachment", {"name": "a.png", "data": "YQ=="}),
    ("undo", {}),
]


@pytest.mark.parametrize("context", [{"read_only": True}, {"profile": "read-only"}])
def test_a_read_only_connection_changes_nothing(small: Small, context: dict[str, Any]) -> None:
    harness = small({"A.md": "- [ ] a\n"})
    harness.data("edit_note", name="A", op="append", content="once")
    narrow = harness.with_context(**context)
    for name, arguments in WRITES:
        narrow.catch_refusal(PermissionDenied, name, **arguments)
    assert "[ ] a" in narrow.text("read_note", name="A")
    assert narrow.text("tags") == "(tags: none)"


def test_a_read_only_scope_changes_nothing(small: Small) -> None:
    small({"A.md": "- [ ] a\n"}).data("edit_note", name="A", op="append", content="once")
    harness = small({}, scope=Scope(read_only=True))
    for name, arguments in WRITES:
        harness.catch_refusal(PermissionDenied, name, **arguments)


def test_every_changing_tool_is_in_the_list_above() -> None:
    assert {name for name, _ in WRITES} == {tool.name for tool in STANDARD_TOOLS if tool.effect != "reads"}


def test_listeners_are_notified_when_foreign_tools_come_and_go(small: Small) -> None:
    harness = small({})
    heard: list[int] = []
    there = len(harness.catalog.names())
    stop = harness.catalog.listen(lambda: heard.append(len(harness.catalog.names())))
    harness.catalog.add(make_greeter())
    assert harness.catalog.names()[-1] == "greet", "a foreign tool's name is its own"
    assert harness.text("greet", who="me") == "hello me from test"
    harness.catalog.remove("greet")
    harness.catalog.remove("greet")
    assert heard == [there + 1, there]
    stop()
    harness.catalog.add(make_greeter())
    assert heard == [there + 1, there]


def test_replacing_tools_is_one_change_and_keeps_their_place() -> None:
    catalog = Catalog([make_greeter("a"), make_greeter("b"), make_greeter("c"), make_greeter("d")])
    seen = []
    catalog.listen(lambda: seen.append(catalog.names()))
    catalog.replace_tools(["b", "d", "missing"], [make_greeter("x"), make_greeter("b"), make_greeter("y")])
    catalog.replace_tools(["x", "b"], [])
    catalog.replace_tools([], [make_greeter("z")])
    assert seen == [("a", "x", "b", "y", "c"), ("a", "y", "c"), ("a", "y", "c", "z")]
    with pytest.raises(InvalidArgument, match="already a tool named 'c'"):
        catalog.replace_tools(["a"], [make_greeter("c")])
    with pytest.raises(InvalidArgument, match="There may be"):
        catalog.replace_tools(["a"], [make_greeter(f"t{n}") for n in range(MAX_TOOLS)])
    assert seen[3:] == []
    assert catalog.names() == ("a", "y", "c", "z")


def test_removing_a_group_removes_all_its_tools() -> None:
    catalog = Catalog([make_greeter("a"), make_greeter("b"), make_greeter("c", group="plugin:y")])
    catalog.remove("plugin:x")
    assert catalog.names() == ("c",)


def test_tools_and_groups_are_switched_off_and_on(small: Small) -> None:
    harness = small({"A.md": "a"})
    heard: list[None] = []
    harness.catalog.listen(lambda: heard.append(None))
    harness.catalog.switch("read_note", on=False)
    harness.catch_refusal(NotFound, "read_note", name="A")
    harness.catalog.switch("metadata", on=False)
    harness.catalog.switch("metadata", on=False)
    assert "obsidian_tags" not in harness.catalog.names()
    assert "obsidian_tags" not in {tool.name for tool in harness.catalog.list_tools()}
    harness.catalog.switch("metadata", on=True)
    harness.catalog.switch("read_note", on=True)
    assert harness.catalog.names() == standard_catalog().names()
    assert len(heard) == 4, "switching off what is off is no news"


def test_names_are_unique_and_their_number_is_limited() -> None:
    catalog = Catalog([make_greeter()])
    with pytest.raises(InvalidArgument, match="already"):
        catalog.add(make_greeter())
    full = Catalog(make_greeter(f"g{number}") for number in range(MAX_TOOLS))
    with pytest.raises(InvalidArgument, match="500"):
        full.add(make_greeter())


def test_a_foreign_tool_that_may_change_things_is_refused_read_only(small: Small) -> None:
    harness = small({}).with_context(read_only=True)
    harness.catalog.add(make_greeter())
    harness.catalog.add(make_greeter("look", effect="reads"))
    harness.catch_refusal(PermissionDenied, "greet")
    assert harness.text("look").startswith("hello")
    assert [tool.name for tool in harness.catalog.list_tools(read_only=True)][-1] == "look"


def test_several_vaults_do_not_get_mixed_up(tmp_path: Any) -> None:
    desks = []
    for name in ("one", "two"):
        write_vault(tmp_path / name, {"A.md": name})
        desks.append(open_harness(tmp_path, tmp_path / name))
    catalog = standard_catalog()
    context = ToolContext(engines={harness.engine.name: harness.engine for harness in desks})
    assert context.vaults == ("one", "two")
    listed = catalog.list_tools(vaults=context.vaults)
    vault = {"type": "string", "enum": ["one", "two"], "description": "Which vault"}
    assert all(tool.input_schema["properties"]["vault"] == vault for tool in listed)
    assert all("vault" in tool.input_schema["required"] for tool in listed)
    assert catalog.call("read_note", {"name": "A", "vault": "two"}, context).text.endswith("\ntwo")
    with pytest.raises(InvalidArgument, match="one, two") as missing:
        catalog.call("read_note", {"name": "A"}, context)
    assert missing.value.argument == "vault"
    with pytest.raises(VaultNotFound, match="Open vaults: one, two"):
        catalog.call("read_note", {"name": "A", "vault": "three"}, context)
    with pytest.raises(InvalidArgument):
        catalog.call("read_note", {"name": "A", "vault": 3}, context)
    for harness in desks:
        harness.engine.close()


def test_a_single_vault_need_not_be_named_but_may_be(small: Small) -> None:
    harness = small({"A.md": "a"})
    assert all(
        "vault" not in tool.input_schema["properties"]
        for tool in harness.catalog.list_tools(vaults=("vault",))
    )
    assert harness.text("read_note", name="A", vault="vault").endswith("a")


def test_without_a_vault_every_call_says_so() -> None:
    with pytest.raises(VaultNotFound, match="No vault is open"):
        standard_catalog().call("vault_info", {}, ToolContext(engines={}))


def test_the_listing_is_cached_until_the_tools_change() -> None:
    catalog = standard_catalog()
    assert catalog.list_tools() is catalog.list_tools()
    before = catalog.list_tools()
    catalog.switch("open", on=False)
    assert len(catalog.list_tools()) == len(before) - 1


def test_listings_asked_for_while_tools_change_are_never_stale() -> None:
    catalog = standard_catalog()
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            catalog.switch("open", on=False)
            catalog.switch("open", on=True)

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(300):
        catalog.list_tools()
    stop.set()
    thread.join()
    assert "obsidian_open" in [tool.name for tool in catalog.list_tools()]


def test_annotations_say_what_reads_and_what_is_destructive() -> None:
    assert build_annotations("reads", idempotent=True) == {"readOnlyHint": True}
    assert build_annotations("adds", idempotent=False) == {"destructiveHint": False}
    assert build_annotations("changes", idempotent=True) == {"destructiveHint": True, "idempotentHint": True}
    assert build_annotations("changes", idempotent=False) == {"destructiveHint": True}


def test_path_is_listed_where_seed_003_shows_it(small: Small) -> None:
    """Seed 003 shows read_note with its path."""
    listed = {tool.name: tool.input_schema for tool in standard_catalog().list_tools(prefix="")}
    assert listed["read_note"]["properties"]["path"] == {"type": "string", "description": "Same as name"}
    assert list(listed["read_note"]["properties"])[:2] == ["name", "path"]
    for schema in listed.values():
        assert not {"name", "path"} <= schema["properties"].keys() or "name" not in schema.get("required", ())
    refused = small({"A.md": "a"}).catch_refusal(InvalidArgument, "edit_note", nam="A")
    assert "path" in refused.hint
