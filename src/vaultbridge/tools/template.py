"""`template`: list and show templates, try one out, put one into a note."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.answer import Answer, read
from vaultbridge.tools.fields import Arguments, DryRun, Expected, Limit, MaxChars, Offset, Start
from vaultbridge.tools.outcomes import outcome_answer
from vaultbridge.tools.pages import building, cut, page, sliced
from vaultbridge.tools.tool import Tool
from vaultbridge.tools.workshop import Bench


class ReadTemplate(Arguments, frozen=True, kw_only=True):
    action: Literal["list", "show", "expand"] = "list"
    template: str = ""
    title: str = ""
    limit: Limit = 100
    offset: Offset = 0
    start: Start = 0
    max_chars: MaxChars = 24_000


class Template(ReadTemplate, frozen=True, kw_only=True):
    action: Literal["list", "show", "expand", "insert"] = "list"  # type: ignore[assignment]
    name: Annotated[str, Meta(description="insert: note")] = ""
    heading: str = ""
    line: Annotated[int, Meta(ge=0)] = 0
    expected: Expected = ""
    dry_run: DryRun = False


def run(bench: Bench, arguments: Template) -> Answer:
    if arguments.action == "list":
        return _list(bench, arguments)
    if not arguments.template:
        raise InvalidArgument("template is missing.", argument="template", hint="Which template?")
    if arguments.action == "insert":
        return _insert(bench, arguments)
    if arguments.action == "show":
        from vaultbridge.engine.template_insert import template_path

        text = bench.engine.view(template_path(bench.engine, arguments.template)).text
    else:
        text = bench.engine.expand(arguments.template, arguments.title or "Untitled")
    return read(cut(text, start=arguments.start, max_chars=arguments.max_chars))


def _list(bench: Bench, arguments: Template) -> Answer:
    from vaultbridge.vault.paths import vault_folder

    folder = bench.engine.settings.template_folder
    if not folder:
        return read("(the vault has no templates folder; any note can serve as a template)")
    notes = building(bench)
    files = bench.engine.ask.files(vault_folder(folder))
    rows = [file.path for file in files if file.kind == "note"]
    shown = sliced(rows, offset=arguments.offset, limit=arguments.limit)
    return read(page(shown, total=len(rows), offset=arguments.offset, what="templates", notes=notes))


def _insert(bench: Bench, arguments: Template) -> Answer:
    from vaultbridge.engine.template_insert import inserting

    if not arguments.name:
        raise InvalidArgument("name is missing.", argument="name", hint="Insert into which note?")
    if arguments.heading and arguments.line:
        raise InvalidArgument("Give heading or line, not both.", argument="line")
    path = bench.engine.find(arguments.name)
    operations = inserting(
        bench.engine,
        arguments.template,
        path,
        heading=arguments.heading,
        line=arguments.line,
        expected=arguments.expected,
    )
    outcome = bench.engine.apply(
        operations, dry_run=arguments.dry_run, label="insert template", actor=bench.shop.actor
    )
    return outcome_answer(outcome, path, path=path)


TEMPLATE = Tool(
    name="template",
    title="Templates",
    description="List or show templates, expand one as text, or insert one into a note (properties merge)",
    arguments=Template,
    run=run,
    group="notes",
    effect="adds",
    reading=ReadTemplate,
    reading_description="List or show templates, or expand one as text",
    changing=lambda arguments: arguments.action == "insert",
    note="name",
)
