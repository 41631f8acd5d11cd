"""A function with type hints becomes a tool, or an error that says what is missing."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from support.plugins import NO_VAULTS
from vaultbridge.engine import Engine
from vaultbridge.errors import EngineFailure, InvalidArgument, NoteNotFound, VaultNotFound
from vaultbridge.plugins.decorator import ANSWER_BYTES, MARK, ToolDeclaration, build_tool, tool
from vaultbridge.server.wiring import open_engine
from vaultbridge.tools.base.answer import Answer, answer_text
from vaultbridge.tools.base.tool import ForeignTool, ToolContext


@dataclass
class Place:
    x: int
    y: int = 2


def build(function: Any, group: str = "mine") -> ForeignTool:
    declaration = getattr(function, MARK)
    assert isinstance(declaration, ToolDeclaration)
    return build_tool(declaration, group=group)


def test_hints_and_defaults_become_the_schema_and_the_docstring_the_description() -> None:
    @tool(effect="reads", title="Greet")
    def greet(
        name: Annotated[str, msgspec.Meta(description="who")],
        times: int = 1,
        how: Literal["low", "loud"] = "low",
    ) -> str:
        """Greet somebody."""
        return f"hello {name} " * times + how

    built = build(greet)
    assert built.name == "greet"
    assert built.description == "Greet somebody."
    assert built.group == "mine"
    assert (built.effect, built.title) == ("reads", "Greet")
    assert built.input_schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "who"},
            "times": {"type": "integer", "default": 1},
            "how": {"type": "string", "enum": ["loud", "low"], "default": "low"},
        },
        "required": ["name"],
    }
    assert built.run(NO_VAULTS, {"name": "A", "times": 2}).text == "hello A hello A low"


@pytest.mark.parametrize(
    ("arguments", "argument"), [({}, "name"), ({"name": [3]}, "name"), ({"name": "a", "more": 1}, "more")]
)
def test_arguments_are_checked_before_the_function_runs(arguments: dict[str, Any], argument: str) -> None:
    ran = []

    @tool()
    def greet(name: str) -> str:
        """Greet."""
        ran.append(name)
        return ""

    with pytest.raises(InvalidArgument) as caught:
        build(greet).run(NO_VAULTS, arguments)
    assert caught.value.argument == argument
    assert ran == []


@pytest.mark.parametrize(
    ("value", "text", "data"),
    [
        ("text", "text", None),
        (None, "Done.", None),
        ({"a": [1]}, '{"a":[1]}', {"a": [1]}),
        ({1: {2}}, '{"1":[2]}', {"1": [2]}),
        ([1, 2], "[1,2]", None),
        ([Place(1)], '[{"x":1,"y":2}]', None),
        (b"ab", '"YWI="', None),
        (answer_text("own"), "own", None),
    ],
)
def test_what_a_function_returns_is_the_answer(value: Any, text: str, data: Any) -> None:
    @tool()
    def give() -> Any:
        """Give."""
        return value

    answer = build(give).run(NO_VAULTS, {})
    assert isinstance(answer, Answer)
    assert (answer.text, answer.data) == (text, data)


def test_a_coroutine_is_awaited() -> None:
    @tool()
    async def later() -> str:
        """Later."""
        return "at last"

    assert build(later).run(NO_VAULTS, {}).text == "at last"


def test_a_failure_of_the_function_reveals_only_the_exceptions_name(caplog: pytest.LogCaptureFixture) -> None:
    @tool()
    def fail() -> str:
        """Fail."""
        raise KeyError("/home/somebody/secret")

    with pytest.raises(EngineFailure) as caught:
        build(fail).run(NO_VAULTS, {})
    assert "KeyError" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "secret" in caplog.text


def endless() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (object(), "TypeError"),
        ({(1, 2): 3}, "TypeError"),
        (endless(), "TypeError"),
        ("\ud800", "UnicodeEncodeError"),
        ({"a": "\ud800"}, "UnicodeEncodeError"),
    ],
)
def test_an_answer_that_cannot_be_sent_is_the_plugins_failure(
    value: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def give() -> Any:
        """Give."""
        return value

    with pytest.raises(EngineFailure, match=f"give failed with {kind}"):
        build(give).run(NO_VAULTS, {})
    assert "give failed" in caplog.text


def test_an_answer_that_is_too_long_is_refused() -> None:
    @tool
    def flood(length: int) -> str:
        """Flood."""
        return "é" * length

    assert build(flood).run(NO_VAULTS, {"length": ANSWER_BYTES // 2}).text
    with pytest.raises(EngineFailure, match="flood returned"):
        build(flood).run(NO_VAULTS, {"length": ANSWER_BYTES // 2 + 1})


def test_a_function_that_calls_exit_only_fails() -> None:
    @tool
    def leave() -> str:
        """Leave."""
        sys.exit(3)

    with pytest.raises(EngineFailure, match="leave failed with SystemExit"):
        build(leave).run(NO_VAULTS, {})


def test_a_mutable_default_is_copied_for_each_call() -> None:
    @tool
    def gather(
        items: list[int] = [1, 2],  # noqa: B006 - people write this
        place: Place = Place(3),  # noqa: B008 - frozen
        names: dict[str, int] | None = None,
    ) -> list[Any]:
        """Gather."""
        items.append(3)
        place.x += 1
        return [items, place.x, names]

    gathering = build(gather)
    assert "required" not in gathering.input_schema
    for _ in range(2):
        assert gathering.run(NO_VAULTS, {}).text == "[[1,2,3],4,null]"


def test_our_own_errors_are_passed_on() -> None:
    @tool()
    def fail() -> str:
        """Fail."""
        raise NoteNotFound("x")

    with pytest.raises(NoteNotFound):
        build(fail).run(NO_VAULTS, {})


def test_the_vault_and_the_context_are_filled_in_and_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTBRIDGE_CACHE", str(tmp_path / "cache"))
    vault = tmp_path / "Notes"
    vault.mkdir()
    (vault / "A.md").write_text("one two three")

    @tool(effect="reads")
    def words(engine: Engine, context: ToolContext, note: str) -> str:
        """Count words."""
        return f"{len(engine.view(note).text.split())} {context.actor}"

    counted = build(words)
    assert set(counted.input_schema["properties"]) == {"note", "vault"}
    assert counted.input_schema["required"] == ["note"]
    with open_engine(vault) as engine:
        context = ToolContext(engines={"Notes": engine, "Other": engine}, actor="me")
        assert counted.run(context, {"note": "A", "vault": "Notes"}).text == "3 me"
        with pytest.raises(InvalidArgument, match="several vaults"):
            counted.run(context, {"note": "A"})
        with pytest.raises(VaultNotFound):
            counted.run(context, {"note": "A", "vault": 3})


def no_docstring(a: int) -> str:
    return ""


def no_hint(a) -> str:  # type: ignore[no-untyped-def]
    """Something."""
    return ""


def anything(*a: int) -> str:
    """Something."""
    return ""


def unknown_hint(a: Nothing) -> str:  # type: ignore[name-defined]  # noqa: F821 - on purpose
    """Something."""
    return ""


def no_json(a: complex) -> str:
    """Something."""
    return ""


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (no_docstring, "no docstring"),
        (no_hint, "no type hint"),
        (anything, "cannot be an argument"),
        (unknown_hint, "hints cannot be read"),
        (no_json, "cannot be expressed in JSON"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_the_reason(function: Any, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        build(tool()(function))


def test_a_parameter_must_not_be_called_vault_beside_an_engine() -> None:
    @tool
    def both(engine: Engine, vault: str) -> str:
        """Something."""
        return ""

    with pytest.raises(InvalidArgument, match="vault is reserved"):
        build(both)


def test_an_effect_is_one_of_three() -> None:
    @tool(effect="read")  # type: ignore[call-overload]
    def looks() -> str:
        """Look."""
        return ""

    with pytest.raises(InvalidArgument, match="reads, adds, changes"):
        build(looks)


def test_a_name_with_our_prefix_is_refused() -> None:
    @tool
    def obsidian_read_note() -> str:
        """Read."""
        return ""

    with pytest.raises(InvalidArgument, match="begins with obsidian_"):
        build(obsidian_read_note)


@pytest.mark.parametrize("name", ["1st", "a b", "é", "x" * 65, "_x"])
def test_a_name_must_be_one_that_models_accept(name: str) -> None:
    @tool(name=name)
    def named() -> str:
        """Something."""
        return ""

    with pytest.raises(InvalidArgument, match="not a valid tool name"):
        build(named)
