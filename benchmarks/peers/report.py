"""Turns the figures of a run into Markdown tables and SVG plots, and puts them into docs/benchmarks.md."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

from fidelity import TITLES
from timing import Figure

ROWS = {
    "start_cold": "start to the first note read, without an index, ms",
    "start_warm": "the same, started before, ms",
    "index": "start without an index until a search finds all, ms",
    "read_first": "read a note for the first time, ms",
    "read_again": "read a note again, ms",
    "search_rare": "search a word that 7 notes have, ms",
    "search_common": "search a word that half of the notes have, ms",
    "search_words": "search two common words, ms",
    "questions": "judged questions answered among the first 5 notes",
    "write": "create a note, ms",
    "append": "append a line, ms",
    "backlinks": "backlinks of a note with many, ms",
    "backlinks_found": "of these found",
    "rename": "rename that note, ms",
    "rename_missed": "links to it that still have the old name",
    "outside_edit": "another program's edit until a search finds it, ms",
    "memory": "memory at the end, MB",
    "tools": "tools",
    "tools_bytes": "size of tools/list, bytes",
}

UNRANKED = {"tools"}
"""Rows where neither more nor less is better."""

TIMES = tuple(name for name, title in ROWS.items() if title.endswith(", ms"))

LIMIT_OF = {
    "read_again": ("read, bare file",),
    "search_rare": ("search_rare, ripgrep", "search_rare, SQLite"),
    "search_common": ("search_common, ripgrep", "search_common, SQLite"),
    "write": ("write, fsynced file",),
}

COLOURS = ("#6d28d9", "#0891b2", "#d97706", "#dc2626", "#16a34a", "#6b7280", "#db2777")
"""Ours first; the others in the order of the table."""


def render_tables(run: dict[str, Any]) -> str:
    """The tables of one run as Markdown."""
    names = list(run["servers"])
    heads = [f"{name} {run['servers'][name]}" for name in names]
    lines = [_render_row(["", *heads, "limit"]), _render_row(["---", *["---:"] * len(names), "---:"])]
    for measure, title in ROWS.items():
        figures: list[Figure] = [run["figures"][name].get(measure, {}) for name in names]
        best = _find_best(measure, figures)
        cells = [
            f"**{_render_cell(figure)}**" if figure is best else _render_cell(figure) for figure in figures
        ]
        lines.append(_render_row([title, *cells, _render_limit_cell(measure, run["limits"])]))
    lines += [
        "",
        _render_row(["what happens to the notes", *heads]),
        _render_row(["---", *["---"] * len(names)]),
    ]
    for check, title in TITLES.items():
        lines.append(
            _render_row(
                [title, *(_render_verdict_cell(run["fidelity"][name].get(check, {})) for name in names)]
            )
        )
    for name, why in run["missing"].items():
        lines += ["", f"Not installed here: {name} ({why})."]
    failures = [
        f"{name}, {ROWS.get(measure) or TITLES.get(measure) or measure}: {figure['failed']}"
        for part in ("figures", "fidelity")
        for name in names
        for measure, figure in run[part][name].items()
        if "failed" in figure
    ]
    if failures:
        lines += ["", "What failed, in the server's words:", "", *(f"- {failure}" for failure in failures)]
    return "\n".join(lines) + "\n"


def _render_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _render_cell(figure: Figure) -> str:
    if "failed" in figure:
        return "failed"
    if "median" in figure:
        shown = _render_number(figure["median"])
        if figure["count"] < 2:
            return shown
        return f"{shown} ({_render_number(figure['low'])}–{_render_number(figure['high'])})"
    if "value" in figure:
        shown = _render_number(figure["value"])
        return f"{shown} of {figure['of']}" if "of" in figure else shown
    return "no"


def _render_number(value: float) -> str:
    if isinstance(value, int) or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _find_best(measure: str, figures: list[Figure]) -> Figure | None:
    """The best cell of a row, if one is better than all others. Renames that miss links do not count."""
    if measure in UNRANKED:
        return None
    sign = -1 if measure in ("questions", "backlinks_found") else 1
    known = [(sign * _get_value(figure), figure) for figure in figures if _is_known(figure)]
    known.sort(key=lambda pair: pair[0])
    if not known or (len(known) > 1 and known[0][0] == known[1][0]):
        return None
    return known[0][1]


def _get_value(figure: Figure) -> float:
    return float(figure["median"] if "median" in figure else figure["value"])


def _is_known(figure: Figure) -> bool:
    return ("median" in figure or "value" in figure) and not figure.get("incomplete")


def _render_limit_cell(measure: str, limits: dict[str, Figure]) -> str:
    parts = [
        f"{_render_number(limits[name]['median'])} {name.partition(', ')[2]}"
        for name in LIMIT_OF.get(measure, ())
        if name in limits
    ]
    return ", ".join(parts)


def _render_verdict_cell(verdict: dict[str, Any]) -> str:
    if "says" in verdict:
        return str(verdict["says"]) if verdict["good"] else f"**✗** {verdict['says']}"
    return "failed" if "failed" in verdict else "no"


def plot_times(run: dict[str, Any]) -> str:
    """Every time as a dot on a logarithmic axis, with a line over the middle half of the measurements."""
    names = list(run["servers"])
    rows = [
        (ROWS[measure].removesuffix(", ms"), [run["figures"][name].get(measure, {}) for name in names])
        for measure in TIMES
    ]
    values = [
        entry[key] for _, figures in rows for entry in figures if "median" in entry for key in ("low", "high")
    ]
    low, high = math.floor(math.log10(max(min(values), 0.01))), math.ceil(math.log10(max(values)))
    left, width, step, top = 330, 560, 26, 70
    height = top + step * len(rows) + 40

    def place_value(value: float) -> float:
        return left + width * (math.log10(max(value, 0.01)) - low) / max(1, high - low)

    parts = [
        _render_text(left, 24, "milliseconds, logarithmic: further left is faster", anchor="start", bold=True)
    ]
    parts += _render_legend(names, 44)
    for power in range(low, high + 1):
        at = place_value(10.0**power)
        parts.append(f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{height - 40}" stroke="#e5e7eb"/>')
        parts.append(_render_text(at, height - 22, f"{10.0**power:g}", anchor="middle"))
    for number, (title, figures) in enumerate(rows):
        y = top + step * number + step / 2
        parts.append(_render_text(left - 12, y + 4, title, anchor="end"))
        for colour, figure in reversed(list(zip(COLOURS, figures, strict=False))):
            if "median" in figure:
                ends = f'x1="{place_value(figure["low"]):.1f}" x2="{place_value(figure["high"]):.1f}"'
                parts.append(
                    f'<line {ends} y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2" opacity="0.5"/>'
                )
                hollow = figure.get("incomplete")
                fill = "#ffffff" if hollow else colour
                drawn = f'fill="{fill}" stroke="{colour}" stroke-width="2"'
                parts.append(f'<circle cx="{place_value(figure["median"]):.1f}" cy="{y}" r="5" {drawn}/>')
    return _render_svg(left + width + 30, height, parts)


def plot_sizes(run: dict[str, Any]) -> str:
    """Memory and the size of the list of tools as bars."""
    names = list(run["servers"])
    left, width, step = 330, 460, 22
    parts: list[str] = []
    y = 10
    for measure in ("memory", "tools_bytes"):
        known = {name: run["figures"][name].get(measure, {}).get("value") for name in names}
        most = max((value for value in known.values() if value), default=1)
        parts.append(_render_text(left, y + 14, ROWS[measure], anchor="start", bold=True))
        y += 26
        for colour, name in zip(COLOURS, names, strict=False):
            parts.append(_render_text(left - 12, y + 14, name, anchor="end"))
            value = known[name]
            if value:
                bar = width * value / most
                parts.append(
                    f'<rect x="{left}" y="{y + 3}" width="{bar:.1f}" height="{step - 7}" fill="{colour}"/>'
                )
                parts.append(_render_text(left + bar + 6, y + 14, f"{value:,.0f}", anchor="start"))
            y += step
        y += 14
    return _render_svg(left + width + 100, y, parts)


def _render_legend(names: list[str], y: int) -> list[str]:
    parts, at = [], 20.0
    for colour, name in zip(COLOURS, names, strict=False):
        parts.append(f'<circle cx="{at}" cy="{y}" r="5" fill="{colour}"/>')
        parts.append(_render_text(at + 10, y + 4, name, anchor="start"))
        at += 40 + 7.2 * len(name)
    return parts


def _render_text(x: float, y: float, text: str, *, anchor: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{html.escape(text)}</text>'


def _render_svg(width: float, height: float, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#111827">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="#ffffff"/>', *parts, "</svg>"]) + "\n"


def put_into_document(document: Path, run: dict[str, Any], images: Path) -> None:
    """Replaces the figures of this size of vault in the document, and writes the plots beside it."""
    notes = run["notes"]
    for name, plot in (("times", plot_times), ("sizes", plot_sizes)):
        (images / f"peers-{name}-{notes}.svg").write_text(plot(run), "utf-8")
    begin, end = f"<!-- figures of {notes} notes -->", f"<!-- end of figures of {notes} notes -->"
    text = document.read_text("utf-8")
    before, found, rest = text.partition(begin)
    if not found:
        raise SystemExit(f"{document.name} has no place for a vault of {notes} notes: {begin}")
    after = rest.partition(end)[2]
    pictures = "\n".join(
        f"![{alt}](images/peers-{name}-{notes}.svg)\n"
        for name, alt in (
            ("times", f"Times on a vault of {notes:,} notes, one row for each measure"),
            ("sizes", f"Memory and list of tools on a vault of {notes:,} notes"),
        )
    )
    told = f"{describe(run)}\n\n{render_tables(run)}\n{pictures}"
    document.write_text(f"{before}{begin}\n\n{told}\n{end}{after}", "utf-8")


def describe(run: dict[str, Any]) -> str:
    machine = run["machine"]
    return (
        f"{run['notes']:,} notes, {run['rounds']} rounds, {run['date']}; {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}, load {machine['load']:.1f} at the start. Times "
        f"are medians, with the middle half of the measurements in parentheses; the best of a row is bold."
    )
