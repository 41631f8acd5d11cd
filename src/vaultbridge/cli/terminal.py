"""What a terminal can show: colour, clickable links, its width, and a pager for long output.

Output to a pipe or a file gets none of this: it is plain text.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import TextIOBase, TextIOWrapper
from typing import TYPE_CHECKING, Final, Literal, TextIO, cast

if TYPE_CHECKING:
    import subprocess

When = Literal["auto", "always", "never"]

STYLES: Final = {
    "path": "35",
    "line": "32",
    "match": "1;31",
    "heading": "1",
    "dim": "2",
    "tag": "36",
    "added": "32",
    "removed": "31",
    "hunk": "36",
    "good": "32",
    "warning": "33",
    "bad": "1;31",
}
"""SGR codes of the 16 colours, which every theme makes readable. Paths, lines and matches are coloured as
`grep` does, diffs as `git` does."""

ERROR_CHARS = 1000
"""The longest error that is shown: nobody reads more, and an argument may be as long as a book."""

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

PLAIN_WIDTH: Final = 80
PLAIN_HEIGHT: Final = 24
"""The size if there is no terminal to ask: that of the first ones, which programs still expect."""

NARROWEST: Final = 20
"""The least width that is used: a terminal that reports less is wrong."""

GAP: Final = 2
NARROWEST_COLUMN: Final = 8
"""The space between the columns of a table, and the least width that a column is cut to."""

LINKING_TERMINALS: Final = (
    "KITTY_WINDOW_ID",
    "WT_SESSION",
    "KONSOLE_VERSION",
    "VTE_VERSION",
    "WEZTERM_PANE",
    "ALACRITTY_WINDOW_ID",
    "GHOSTTY_RESOURCES_DIR",
)
LINKING_PROGRAMS: Final = ("iTerm.app", "vscode", "WezTerm", "Hyper", "ghostty", "WarpTerminal")
"""Terminals known to open OSC 8 links, by the variables that they set. Others may print the escape codes."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ESCAPES: Final = re.compile(rf"(\x1b\[[0-9;]*m|\x1b\]8;;[^\x00-\x1f\x7f-\x9f]*\x1b\\)|{_CONTROL.pattern}")
"""The sequences that `style` and `link_note` write, and any other control character."""


class Terminal:
    """Where a command writes: `screen` says that a person looks at it, `color` and `links` what it can show,
    `width` how much fits in a line."""

    def __init__(
        self, *, screen: bool = False, color: bool = False, links: bool = False, width: int = PLAIN_WIDTH
    ) -> None:
        self.screen = screen
        self.color = color
        self.links = links
        self.width = width

    @classmethod
    def detect(cls, when: When = "auto", environ: Mapping[str, str] = os.environ) -> Terminal:
        """Look at standard output and the environment. `NO_COLOR` counts unless `--color` is given."""
        terminal = sys.stdout.isatty()
        if when == "auto":
            color = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
            color = color and _understands_escapes()
        else:
            color = when == "always"
        able = any(name in environ for name in LINKING_TERMINALS)
        links = color and terminal and (able or environ.get("TERM_PROGRAM") in LINKING_PROGRAMS)
        return cls(
            screen=terminal, color=color, links=links, width=read_width(1) if terminal else PLAIN_WIDTH
        )

    def style(self, text: str, name: str) -> str:
        return f"\x1b[{STYLES[name]}m{text}\x1b[0m" if self.color and text else text

    def clean(self, text: str) -> str:
        """Make a note's text harmless on a terminal, where control sequences in it must not take effect.
        Other output stays as it is."""
        return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text) if self.screen else text

    def mark(self, text: str, spans: tuple[tuple[int, int], ...]) -> str:
        """Show the places of `spans` in colour."""
        if not self.color:
            return self.clean(text)
        parts: list[str] = []
        at = 0
        for start, end in sorted(spans):
            if start >= at:
                parts += [self.clean(text[at:start]), self.style(self.clean(text[start:end]), "match")]
                at = end
        return "".join([*parts, self.clean(text[at:])])

    def link_note(self, shown: str, vault: str, path: str) -> str:
        """Make `shown` open the note in Obsidian, where the terminal can."""
        if not self.links:
            return shown
        from vaultbridge.vault.obsidian import make_obsidian_link

        url = make_obsidian_link(vault, path)
        return f"\x1b]8;;{url}\x1b\\{shown}\x1b]8;;\x1b\\"

    def color_diff(self, diff: str) -> str:
        """Colour a unified diff."""
        if not self.color:
            return diff
        kinds = {"+": "added", "-": "removed", "@": "hunk"}
        rows = []
        for row in diff.split("\n"):
            kind = "heading" if row.startswith(("+++", "---")) else kinds.get(row[:1], "")
            rows.append(self.style(self.clean(row), kind) if kind else self.clean(row))
        return "\n".join(rows)


def _understands_escapes() -> bool:
    """Whether the terminal acts on escape sequences. The older console of Windows prints them, unless a
    program switches that on."""
    if sys.platform != "win32":
        return True
    import ctypes

    standard_output, virtual_terminal = -11, 0x0004
    kernel = ctypes.WinDLL("kernel32")
    handle, mode = kernel.GetStdHandle(standard_output), ctypes.c_ulong()
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        return True  # a terminal that is no console of Windows, such as that of Git for Windows
    return bool(kernel.SetConsoleMode(handle, mode.value | virtual_terminal))


@contextmanager
def page_output(*, wanted: bool, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Send what is printed through the person's pager, if standard output is a terminal and too small for it.

    Only then: a pager may hold the screen until somebody presses a key, and whatever comes next in a script
    or a Makefile waits for that. `PAGER=cat` or an empty `PAGER` switches it off, and so does a pager that is
    not installed: the shell would only say so, and the output would be lost."""
    pager = environ.get("PAGER", "less")
    if not (wanted and sys.stdout.isatty()) or pager in ("", "cat") or environ.get("TERM") == "dumb":
        yield
        return
    from shutil import which

    program = (pager.split() or [""])[0]
    if which(program, path=environ.get("PATH")) is None:
        yield
        return
    screen, remarks = sys.stdout, sys.stderr
    output = _PagedOutput(screen, lambda: _start_pager(pager, environ))
    held = _Remarks(output, remarks)
    sys.stdout, sys.stderr = cast("TextIO", output), cast("TextIO", held)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = screen, remarks
        output.finish()
        remarks.write("".join(held.waiting))


def _start_pager(pager: str, environ: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    import subprocess

    settings = {"LESS": "FRX", "LESSCHARSET": "utf-8", **environ}
    try:
        return subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, env=settings)
    except OSError:
        return None


class _PagedOutput(TextIOBase):
    """Keeps what is printed until it fills the screen, and then starts the pager. What fits is printed at the
    end."""

    def __init__(self, screen: TextIO, start: Callable[[], subprocess.Popen[bytes] | None]) -> None:
        self._screen, self._start = screen, start
        self._columns, rows = read_size(1)
        self._room = rows - 1  # the prompt takes a row
        self._kept: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: TextIO | None = None
        self.begun = False

    def write(self, text: str, /) -> int:
        self.begun = True
        if self._pipe is not None:
            return self._pipe.write(text)
        self._kept.append(text)
        self._room -= sum(_count_rows(line, self._columns) for line in text.split("\n")[:-1])
        if self._room < 0:
            self._open()
        return len(text)

    def _open(self) -> None:
        self._process = self._start()
        if self._process is None or self._process.stdin is None:
            self._pipe = self._screen
        else:
            self._pipe = TextIOWrapper(self._process.stdin, encoding="utf-8", errors="backslashreplace")
        self._release()

    def _release(self) -> None:
        kept, self._kept = self._kept, []
        (self._pipe or self._screen).write("".join(kept))

    def finish(self) -> None:
        """Print what was kept, or wait until the person has left the pager."""
        if self._process is None or self._pipe is None:
            self._release()
            return
        with suppress(BrokenPipeError, ValueError):  # the person has closed the pager
            self._pipe.close()
        while True:
            try:
                self._process.wait()
                return
            except KeyboardInterrupt:
                continue  # meant for the pager: `less` stops a search with it

    def flush(self) -> None:
        if self._pipe is not None:
            self._pipe.flush()

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._screen.fileno()


def _count_rows(line: str, columns: int) -> int:
    """How many rows of the terminal a line takes."""
    return max(1, -(-measure(_ESCAPES.sub("", line)) // columns))


class _Remarks(TextIOBase):
    """Standard error while output may be paged. A remark after the first line of output, such as how many
    notes there are, waits until the output is there to be read; progress comes before that line and is shown
    at once."""

    def __init__(self, output: _PagedOutput, stream: TextIO) -> None:
        self._output, self._stream = output, stream
        self.waiting: list[str] = []

    def write(self, text: str, /) -> int:
        if self._output.begun:
            self.waiting.append(text)
            return len(text)
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def read_size(stream_number: int) -> tuple[int, int]:
    """The columns and rows of the terminal that a stream leads to. One that does not know them gets the usual
    ones."""
    try:
        size = os.get_terminal_size(stream_number)
    except OSError:
        return PLAIN_WIDTH, PLAIN_HEIGHT
    return max(size.columns or PLAIN_WIDTH, NARROWEST), size.lines or PLAIN_HEIGHT


def read_width(stream_number: int) -> int:
    """The width of the terminal that a stream leads to, or PLAIN_WIDTH."""
    return read_size(stream_number)[0]


def render_table(names: Sequence[str], rows: Sequence[Sequence[str]], terminal: Terminal) -> Iterator[str]:
    """The lines of a table whose columns fit the terminal: the widest ones are cut first. Nothing is cut if
    the output is not a terminal."""
    table = [[" ".join(terminal.clean(cell).split()) for cell in row] for row in (names, *rows)]
    widths = [max(map(measure, column)) for column in zip(*table, strict=True)]
    room = terminal.width - GAP * (len(widths) - 1)
    while terminal.screen and sum(widths) > room and max(widths) > NARROWEST_COLUMN:
        widths[widths.index(max(widths))] -= 1
    for number, row in enumerate(table):
        line = (" " * GAP).join(_fit(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield terminal.style(line, "heading") if number == 0 else line


_UNBROKEN: Final = re.compile(r"`[^`]*`\S*|(?<=: )\S*vaultbridge .*|\S+")
"""A word, or a command that somebody may paste: in backquotes, or after a colon up to the end."""


def wrap_remark(text: str, stream: TextIO, *, indent: int = 0) -> str:
    """Break a remark between words where the terminal that it goes to would break it within one; `indent`
    cells are before it. A command stays whole, because a line break in it would be pasted too. Anything but a
    terminal gets one line."""
    room = read_width(stream.fileno()) - indent if stream.isatty() else 0
    if measure(text) <= room or not room:
        return text
    lines: list[str] = []
    for word in _UNBROKEN.findall(text):
        if lines and measure(lines[-1]) + 1 + measure(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return f"\n{' ' * indent}".join(lines)


def measure(text: str) -> int:
    """How many cells of a terminal a text takes: two for wide characters, none for marks."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(char) in ("Mn", "Me", "Cf") else 2 if east_asian_width(char) in "WF" else 1
        for char in text
    )


def _fit(text: str, width: int) -> str:
    if measure(text) <= width:
        return text + " " * (width - measure(text))
    while text and measure(text) > width - 1:
        text = text[:-1]
    return text + "…" + " " * (width - 1 - measure(text))


def disarm(text: str) -> str:
    """Make a line that we have styled harmless on a terminal: of its control sequences only colours and links
    take effect, even if a name in it has others."""
    return _ESCAPES.sub(lambda found: found[1] or ascii(found[0])[1:-1], text)


def escape_controls(name: str) -> str:
    """Make a name from elsewhere fit into a row of a list: no line break, tab or control sequence in it."""
    return _CONTROL_CHARACTERS.sub(lambda found: ascii(found[0])[1:-1], name)


def to_one_line(text: str) -> str:
    """Make an error printable: a name in it may contain line breaks or control sequences."""
    shown = _CONTROL_CHARACTERS.sub(lambda found: " " if found[0].isspace() else ascii(found[0])[1:-1], text)
    return shown if len(shown) <= ERROR_CHARS else f"{shown[: ERROR_CHARS - 1]}…"
