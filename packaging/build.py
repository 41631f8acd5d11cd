"""Builds every package into a folder, and lets each be checked by its own tool.

    python packaging/build.py dist [--only wheel|formula|install|mcpb|registry|plugin|container|companion]

The wheel, the source distribution and the bundle are built twice and must be the same to the byte. The tools
come from PyPI (`requirements/packaging.lock`) and npm, into `.venv-packaging` and `packaging/node_modules`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".venv-packaging"
HERE = ROOT / "packaging"

BUNDLED = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src", "man")
"""What the bundle for Claude Desktop holds beside its manifest: enough for `uv run`."""

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The first date that a zip file can hold, for every file of the bundle."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Build every package and check each by its own tool.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=tuple(STEPS))
    args = parser.parse_args()
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, step in STEPS.items():
        if args.only in (None, name):
            step(folder)
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        name = file.relative_to(folder).as_posix()
        print(f"{name:<44} {file.stat().st_size:>10,} bytes  sha256 {digest}")
    return 0


def build_python_packages(folder: Path) -> None:
    """Build wheel and source distribution, twice, and check their metadata."""
    with tempfile.TemporaryDirectory() as again:
        for place in (folder, Path(again)):
            run(sys.executable, "-m", "hatchling", "build", "-d", str(place), quiet=True)
        for file in sorted(Path(again).iterdir()):
            if file.read_bytes() != (folder / file.name).read_bytes():
                raise SystemExit(f"{file.name} differs when it is built again")
    packages = [str(file) for file in sorted(folder.glob("vaultbridge-*")) if file.suffix in (".whl", ".gz")]
    run(str(find_tool("twine")), "check", "--strict", *packages)


def fill_formula(folder: Path) -> None:
    """Write the Homebrew formula with the hash of the source distribution that was just built."""
    formula = (HERE / "homebrew" / "vaultbridge.rb").read_text("utf-8")
    source = folder / formula.partition('url "')[2].partition('"')[0].rpartition("/")[2]
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    (folder / "vaultbridge.rb").write_text(formula.replace("0" * 64, digest), "utf-8")
    if ruby := shutil.which("ruby"):
        run(ruby, "-c", str(folder / "vaultbridge.rb"), quiet=True)


def build_bundle(folder: Path) -> None:
    """Build the .mcpb for Claude Desktop, twice, and validate it with the official package."""
    mcpb = find_npm_tool("mcpb")
    bundle = folder / "vaultbridge.mcpb"
    with tempfile.TemporaryDirectory() as again:
        for place in (bundle, Path(again, bundle.name)):
            pack_bundle(mcpb, place)
        if bundle.read_bytes() != Path(again, bundle.name).read_bytes():
            raise SystemExit(f"{bundle.name} differs when it is built again")
        run(mcpb, "unpack", str(bundle), str(Path(again, "unpacked")), quiet=True)
        for needed in ("manifest.json", "src/vaultbridge/__main__.py"):
            if not Path(again, "unpacked", needed).is_file():
                raise SystemExit(f"the bundle lacks {needed}")


def pack_bundle(mcpb: str, bundle: Path) -> None:
    with tempfile.TemporaryDirectory() as staged:
        stage = Path(staged)
        shutil.copy(HERE / "mcpb" / "manifest.json", stage)
        for name in BUNDLED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, stage / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, stage)
        run(mcpb, "validate", str(stage / "manifest.json"))
        run(mcpb, "pack", str(stage), str(bundle), quiet=True)
    make_reproducible(bundle)


def make_reproducible(archive: Path) -> None:
    """Write a zip file again, sorted, and without what depends on who built it and when: dates and umask."""
    with zipfile.ZipFile(archive) as packed:
        entries = [(info, packed.read(info)) for info in packed.infolist() if not info.is_dir()]
    with zipfile.ZipFile(archive, "w") as packed:
        for info, content in sorted(entries, key=lambda entry: entry[0].filename):
            plain = zipfile.ZipInfo(info.filename, date_time=EARLIEST)
            plain.compress_type = zipfile.ZIP_DEFLATED
            plain.create_system = 3  # Unix, whose modes follow
            runs = bool(info.external_attr >> 16 & 0o100)
            plain.external_attr = (0o100755 if runs else 0o100644) << 16
            packed.writestr(plain, content)


def check_registry_entry(folder: Path) -> None:
    """Check server.json, the plugin and its skill against the published schemas."""
    with tempfile.TemporaryDirectory() as staged:
        # Only what is meant for others: the rest of the repository is not linted.
        stage = Path(staged)
        shutil.copy(ROOT / "server.json", stage)
        shutil.copytree(ROOT / ".claude-plugin", stage / ".claude-plugin")
        shutil.copytree(HERE / "claude-plugin", stage / "packaging" / "claude-plugin")
        run(str(find_tool("skillsaw")), "lint", "--strict", str(stage))
    shutil.copy(ROOT / "server.json", folder)


def check_plugin(folder: Path) -> None:
    """Let Claude Code itself validate the plugin and the marketplace file."""
    claude = find_npm_tool("claude")
    for place in (HERE / "claude-plugin", ROOT):
        run(claude, "plugin", "validate", str(place))


def build_companion(folder: Path) -> None:
    """Write the release files of the Obsidian plugin, which `companion install` writes too."""
    from vaultbridge.cli.setup.companion import release_files

    files = release_files()
    place = folder / "companion"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / name).write_bytes(data)
    version = json.loads(files["manifest.json"])["version"]
    if version not in json.loads(files["versions.json"]):
        raise SystemExit(f"versions.json does not list {version}")


def try_first_minute(folder: Path) -> None:
    """Install as a newcomer would, from the wheel and from the checkout, run `init` and `connect`, and call a
    tool by the file that each wrote."""
    (wheel,) = folder.glob("vaultbridge-*.whl")
    uv, pipx = str(find_tool("uv")), str(find_tool("pipx"))
    ways = {
        "venv and pip": lambda home: [
            [sys.executable, "-m", "venv", str(home / "env")],
            [str(home / "env" / "bin" / "pip"), "install", "--quiet", str(wheel)],
        ],
        "uv tool install": lambda home: [[uv, "tool", "install", "--quiet", str(wheel)]],
        "pipx install": lambda home: [[pipx, "install", "--quiet", str(wheel)]],
        "venv and pip, from the checkout": lambda home: [
            [sys.executable, "-m", "venv", str(home / "env")],
            [str(home / "env" / "bin" / "pip"), "install", "--quiet", str(ROOT)],
        ],
        "uv tool install .": lambda home: [[uv, "tool", "install", "--quiet", str(ROOT)]],
        "pipx install .": lambda home: [[pipx, "install", "--quiet", str(ROOT)]],
    }
    for name, commands in ways.items():
        with tempfile.TemporaryDirectory() as place:
            home = Path(place)
            shutil.copytree(ROOT / "examples" / "sample-vault", home / "Notes")
            (home / ".cursor").mkdir()
            environ = _make_newcomer_environ(home)
            for words in commands(home):
                run(*words, quiet=True, environ=environ)
            started = time.monotonic()
            program = next(iter([*home.glob("env/bin/vaultbridge"), *home.glob(".local/bin/vaultbridge")]))
            run(str(program), "init", "--yes", "-v", str(home / "Notes"), quiet=True, environ=environ)
            _require_answer(name, home, environ)
            connect = [str(program), "connect", "cursor", str(home / "Notes")]
            run(*connect, "--remove", quiet=True, environ=environ)
            run(*connect, quiet=True, environ=environ)
            _require_answer(name, home, environ)
            print(f"{name}: init and a first answer in {time.monotonic() - started:.1f} s")


def _require_answer(name: str, home: Path, environ: dict[str, str]) -> None:
    answer = _call_as_configured(home / ".cursor" / "mcp.json", environ)
    if "survey" not in answer:
        raise SystemExit(f"{name}: the first tool call answered {answer[:200]!r}")


def _make_newcomer_environ(home: Path) -> dict[str, str]:
    """The environment of somebody who has nothing of ours yet."""
    kept = (
        "PATH",
        "LANG",
        "PIP_INDEX_URL",
        "PIP_CONFIG_FILE",
        "UV_INDEX_URL",
        "UV_DEFAULT_INDEX",
        "SSL_CERT_FILE",
    )
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    environ |= {
        "HOME": str(home),
        "PIPX_HOME": str(home / "pipx"),
        "PIPX_BIN_DIR": str(home / ".local" / "bin"),
    }
    return environ | {"UV_TOOL_BIN_DIR": str(home / ".local" / "bin"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _call_as_configured(file: Path, environ: dict[str, str]) -> str:
    """Start what the assistant's file says and ask for a search, as the assistant would."""
    (entry,) = json.loads(file.read_text("utf-8"))["mcpServers"].values()
    messages = (
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "newcomer", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "obsidian_search", "arguments": {"query": "light pollution"}},
        },
    )
    with subprocess.Popen(
        [entry["command"], *entry["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
        text=True,
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
        for line in server.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                server.stdin.close()
                return json.dumps(answer)
    return ""


def find_tool(name: str) -> Path:
    """Return a program of the packaging environment, which is made when it is missing."""
    lock = ROOT / "requirements" / "packaging.lock"
    ready = TOOLS / ".ready"
    if not ready.exists() or ready.stat().st_mtime < lock.stat().st_mtime:
        run(sys.executable, "-m", "venv", str(TOOLS))
        python = str(TOOLS / "bin" / "python")
        run(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
            str(lock),
        )
        ready.touch()
    return TOOLS / "bin" / name


def find_npm_tool(name: str) -> str:
    """Return a program of the packaging's npm packages, which are installed when they are missing."""
    place = HERE / "node_modules" / ".bin" / name
    if not place.exists():
        if shutil.which("npm") is None:
            raise SystemExit("npm is needed for this package: install Node.js")
        run("npm", "ci", "--prefix", str(HERE), "--no-audit", "--no-fund", quiet=True)
    return str(place)


def run(*words: str, quiet: bool = False, environ: dict[str, str] | None = None) -> None:
    around = environ or {**os.environ, "PYTHONWARNINGS": "ignore", "DISABLE_AUTOUPDATER": "1"}
    done = subprocess.run(words, cwd=ROOT, env=around, capture_output=quiet, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(words[:3])} failed\n{(done.stdout or '') + (done.stderr or '')}".rstrip()
        )


def check_container(folder: Path) -> None:
    """Let hadolint read the Dockerfile, check the compose file and the workflows against their schemas, and
    let zizmor look for what could be abused in the workflows. There need not be a daemon that could build
    the image."""
    run(str(find_tool("hadolint")), str(HERE / "docker" / "Dockerfile"))
    schemas = {
        "vendor.compose-spec": [HERE / "docker" / "compose.yaml"],
        "vendor.github-workflows": sorted((ROOT / ".github" / "workflows").glob("*.yml")),
        "vendor.dependabot": [ROOT / ".github" / "dependabot.yml"],
    }
    for schema, files in schemas.items():
        run(str(find_tool("check-jsonschema")), "--builtin-schema", schema, *map(str, files))
    run(str(find_tool("zizmor")), "--offline", "--no-progress", "--quiet", str(ROOT / ".github"))


STEPS = {
    "wheel": build_python_packages,
    "formula": fill_formula,
    "install": try_first_minute,
    "mcpb": build_bundle,
    "registry": check_registry_entry,
    "plugin": check_plugin,
    "container": check_container,
    "companion": build_companion,
}

if __name__ == "__main__":
    raise SystemExit(main())
