"""Counts what twenty everyday requests cost an assistant: calls, tokens and errors, beside two other servers.

    python benchmarks/tasks_bench.py [--only vaultbridge] [--json FILE] [--write-docs] [-v]

Each request is scripted as a careful assistant would call the tools of that server, and carried out over
stdio on a fresh copy of the same vault. Afterwards the notes on disk, or the answer, must be what was asked
for, and nothing else: a request that left any other note changed, or whose answer names a note that it must
not, is not done. Tokens are those of each call's name, arguments and answer; the list of tools is counted
once. The instructions that a server gives are shown beside the sum, because not every client passes them on.
The exit code is 1 if ours costs more than the goal.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]

from servers import OURS, TABLE, Place, Server, Session, load_servers
from tasks import mcpvault, obsidian_mcp_rs, ours
from tasks.assistant import Assistant, NotPossible, describe_tools
from tasks.requests import REQUESTS, Request
from tasks.vault import write
from tokens import TokenCounter

DOCUMENT = HERE.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures of twenty requests -->", "<!-- end of twenty requests -->"

MOST_CALLS = 26
MOST_TOKENS = 6_000
"""The goal, the list of tools included."""

SCRIPTS = {
    OURS: (ours.SCRIPT, ours.change_routes),
    "mcpvault": (mcpvault.SCRIPT, mcpvault.change_routes),
    "obsidian-mcp-rs": (obsidian_mcp_rs.SCRIPT, obsidian_mcp_rs.change_routes),
}
"""How each server's tools fulfil the requests, and make the change that "undo that" is about."""


@dataclass
class Done:
    """What one request took. `tokens` are counted at the end of the run."""

    done: bool
    calls: int = 0
    tokens: int = 0
    errors: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    why: str = ""


def fulfil(server: Server, request: Request) -> Done:
    script, make_change = SCRIPTS[server.name]
    with tempfile.TemporaryDirectory(prefix="tasks-", ignore_cleanup_errors=True) as work:
        place = Place(Path(work))
        write(place.vault)
        with Session(server, place) as session:
            assistant = Assistant(session.client)
            if request.name == "undo":
                make_change(assistant)
                assistant.forget()
                assert not request.check(place.vault, "")
            why, told = "", None
            try:
                told = script[request.name](assistant)
            except NotPossible as reason:
                why = str(reason)
        done = not why and request.check(place.vault, told or "")
        return Done(done, assistant.calls, 0, assistant.errors, assistant.texts, why)


def list_tools(server: Server) -> tuple[str, str]:
    """The list of tools, and what the server tells a model about itself."""
    with tempfile.TemporaryDirectory(prefix="tasks-", ignore_cleanup_errors=True) as work:
        place = Place(Path(work))
        with Session(server, place) as session:
            tools = session.client.request("tools/list", {})["result"]["tools"]
            return describe_tools(tools), session.client.instructions


@dataclass
class Measured:
    """The requests of one server by name, and what it costs before any: its tools and its instructions."""

    results: dict[str, Done]
    listing: int
    instructions: int


def measure(server: Server, counter: TokenCounter, only: list[str] | None) -> Measured:
    results = {
        request.name: fulfil(server, request) for request in REQUESTS if only is None or request.name in only
    }
    flat = [text for result in results.values() for text in result.texts]
    counts = iter(counter.count([*list_tools(server), *flat]))
    listing, instructions = next(counts), next(counts)
    for result in results.values():
        result.tokens = sum(next(counts) for _ in result.texts)
    return Measured(results, listing, instructions)


def render(measured: Mapping[str, Measured], versions: Mapping[str, str]) -> str:
    names = list(measured)
    rows = [
        ["", *(f"{name} {versions[name]}" for name in names)],
        ["---", *("---:" for _ in names)],
    ]
    for request in REQUESTS:
        row = [f"{request.name}: {request.asked}"]
        for name in names:
            result = measured[name].results.get(request.name)
            row.append(_render_result(result) if result is not None else "")
        rows.append(row)
    totals = {name: _total(measured[name]) for name in names}
    for title, key in (
        ("**done**", "done"), ("**calls**", "calls"), ("**errors**", "errors"),
        ("tokens of calls and answers", "spent"), ("tokens of the list of tools", "listing"),
        ("**tokens together**", "tokens"), ("besides, tokens of the instructions", "instructions"),
    ):  # fmt: skip
        rows.append([title, *(f"{totals[name][key]:,}" for name in names)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _render_result(result: Done) -> str:
    if not result.done:
        return "not possible" if result.why else "✗ not done"
    calls = "1 call" if result.calls == 1 else f"{result.calls} calls"
    return f"{calls}, {result.tokens:,} tokens"


def _total(measured: Measured) -> dict[str, int]:
    results, listing = measured.results, measured.listing
    spent = sum(result.tokens for result in results.values())
    return {
        "done": sum(result.done for result in results.values()),
        "calls": sum(result.calls for result in results.values()),
        "errors": sum(len(result.errors) for result in results.values()),
        "spent": spent,
        "listing": listing,
        "tokens": spent + listing,
        "instructions": measured.instructions,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(SCRIPTS), help="these servers only")
    parser.add_argument("--request", action="append", help="these requests only")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for standard output")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every call and answer")
    args = parser.parse_args()
    servers, missing = load_servers(TABLE, args.only or list(SCRIPTS))
    servers = [server for server in servers if args.only is None or server.name in args.only]
    for name, why in missing.items():
        print(f"without {name}: {why}", file=sys.stderr)
    counter = TokenCounter()
    measured = {server.name: measure(server, counter, args.request) for server in servers}
    for name, answers in measured.items():
        for request, result in answers.results.items():
            if args.verbose:
                for text in result.texts:
                    print(f"-- {name}, {request}\n{text}\n")
            for trouble in [*result.errors, *([result.why] if result.why else [])]:
                print(f"{name}, {request}: {trouble}", file=sys.stderr)
    table = render(measured, {server.name: server.version for server in servers})
    print(f"{table}\n\nTokens: {counter.name}.")
    if args.json:
        figures = {
            name: {
                "requests": {key: _figures(result) for key, result in answers.results.items()},
                **_total(answers),
            }
            for name, answers in measured.items()
        }
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        if args.json == "-":
            print(text)
        else:
            Path(args.json).write_text(text, "utf-8")
    if args.write_docs:
        page = DOCUMENT.read_text("utf-8")
        head, _, rest = page.partition(BEGIN)
        _, _, tail = rest.partition(END)
        DOCUMENT.write_text(f"{head}{BEGIN}\n\n{table}\n\nTokens: {counter.name}.\n\n{END}{tail}", "utf-8")
    if args.request or OURS not in measured:
        return 0
    total = _total(measured[OURS])
    good = (
        total["done"] == len(REQUESTS)
        and not total["errors"]
        and total["calls"] <= MOST_CALLS
        and total["tokens"] <= MOST_TOKENS
    )
    return 0 if good else 1


def _figures(result: Done) -> dict[str, Any]:
    return {key: value for key, value in asdict(result).items() if key != "texts"}


if __name__ == "__main__":
    sys.exit(main())
