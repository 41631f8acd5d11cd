"""The files of every package say the same: version, name, commands. Their own tools check them in `make
packages`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from hashlib import sha256
from pathlib import Path

import aiohttp
import yaml

from support.files import write_vault
from support.serve import Served
from support.waiting import BOUND
from vaultbridge import __version__
from vaultbridge.tools.standard import STANDARD_TOOLS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read_json(path: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((ROOT / path).read_text("utf-8"))
    return found


def test_every_file_names_this_version() -> None:
    registry = json.loads((ROOT / "server.json").read_text("utf-8"))
    formula = (ROOT / "packaging" / "homebrew" / "vaultbridge.rb").read_text("utf-8")
    named = {
        "server.json": registry["version"],
        "its package": registry["packages"][0]["version"],
        "bundle": read_json("packaging/mcpb/manifest.json")["version"],
        "plugin": read_json("packaging/claude-plugin/.claude-plugin/plugin.json")["version"],
        "formula": re.search(r"vaultbridge-([0-9.]+)\.tar\.gz", formula)[1],  # type: ignore[index]
    }
    assert set(named.values()) == {__version__}, named


def test_the_registry_finds_its_name_in_the_readme() -> None:
    assert f"mcp-name: {read_json('server.json')['name']} " in (ROOT / "README.md").read_text("utf-8")


def test_the_manual_page_is_current(tmp_path: Path) -> None:
    page = tmp_path / "vaultbridge.1"
    subprocess.run([sys.executable, "-m", "vaultbridge.cli.manual", str(page)], check=True)
    assert (ROOT / "man" / "vaultbridge.1").read_text("utf-8") == page.read_text("utf-8"), (
        "run `make generate`"
    )


def test_the_bundle_asks_for_a_folder_and_starts_the_server_on_it() -> None:
    manifest = json.loads((ROOT / "packaging" / "mcpb" / "manifest.json").read_text("utf-8"))
    assert manifest["server"]["type"] == "uv" and manifest["user_config"]["vault"]["type"] == "directory"
    assert manifest["server"]["mcp_config"]["args"][-3:] == ["vaultbridge", "stdio", "${user_config.vault}"]
    assert (ROOT / manifest["server"]["entry_point"]).is_file()


def test_the_marketplace_leads_to_the_plugin() -> None:
    (plugin,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))["plugins"]
    folder = ROOT / plugin["source"]
    assert (folder / ".claude-plugin" / "plugin.json").is_file()
    skill = (folder / "skills" / "obsidian-vault" / "SKILL.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+)`", skill.partition("## If it")[0]))
    offered = {tool.name.removeprefix("obsidian_") for tool in STANDARD_TOOLS}
    words = {"append", "replace_text", "replace_section", "dry_run", "vault"}
    assert named - words <= offered, named - words - offered


def test_the_container_runs_as_nobody_special_and_the_workflows_are_yaml() -> None:
    docker = (ROOT / "packaging" / "docker" / "Dockerfile").read_text("utf-8")
    assert "\nUSER 1000\n" in docker and "HEALTHCHECK" in docker and "--require-hashes" in docker
    # Volumes take the mode of these folders, and compose.yaml lets the container run as any user.
    assert "chmod 1777 /cache /config" in docker
    compose = yaml.safe_load((ROOT / "packaging" / "docker" / "compose.yaml").read_text("utf-8"))
    service = compose["services"]["vaultbridge"]
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"]
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        flow = yaml.safe_load(file.read_text("utf-8"))
        assert flow["permissions"] == {"contents": "read"} and flow["jobs"], file.name
        used = [step["uses"] for job in flow["jobs"].values() for step in job["steps"] if "uses" in step]
        # A tag of somebody else's can be moved; a commit cannot.
        assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used), used


async def test_the_container_starts_without_a_configuration_and_obeys_one(tmp_path: Path) -> None:
    """What the image runs, with its environment and its order, in folders instead of volumes."""
    docker = (ROOT / "packaging" / "docker" / "Dockerfile").read_text("utf-8")
    environ = dict(word.split("=") for word in re.search(r"^ENV (.*)$", docker, re.M)[1].split())  # type: ignore[index]
    del environ["PATH"]
    volumes = {name: tmp_path / name.strip("/") for name in ("/cache", "/config")}
    for folder in volumes.values():
        folder.mkdir()
    vault = write_vault(tmp_path / "vault", {"A.md": "apple", "Private/d.md": "diary"})
    server = Served(
        tmp_path / "home", **{name: str(volumes.get(value, value)) for name, value in environ.items()}
    )
    command = json.loads(re.search(r"^CMD (\[.*\])$", docker, re.M)[1])  # type: ignore[index]
    # The test may listen on this machine only, and on any port.
    local = {"/vault": str(vault), "0.0.0.0": "127.0.0.1", "3000": "0"}
    arguments = [local.get(word, word) for word in command[1:]]
    token = (await server.answer("token", "make", "laptop"))["token"]

    async def ask_for_the_diary() -> tuple[int, str]:
        where = f"http://127.0.0.1:{server.port}/bridge/v1"
        headers = {"Authorization": f"Bearer {token}"}
        call = {"arguments": {"name": "Private/d.md"}}
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(BOUND)) as http:
            async with http.get(f"{where}/health") as healthy:
                assert healthy.status == 200
            url = f"{where}/tools/read_note/call"
            async with http.post(url, json=call, headers=headers) as response:
                return response.status, await response.text()

    try:
        await server.start(*arguments, port=None)
        status, text = await ask_for_the_diary()
        assert status == 200 and "diary" in text
        assert await server.end() == 0
        place = re.search(r"^# (/config/\S+), and the tokens", docker, re.M)[1]  # type: ignore[index]
        file = tmp_path / place.strip("/")
        assert (file.parent / "tokens.json").is_file()
        file.write_text("[scope]\ndeny = ['Private/']\n", "utf-8")
        await server.start(*arguments, port=None)
        status, text = await ask_for_the_diary()
        assert "No note named 'Private/d.md'" in text and "diary" not in text
    finally:
        await server.kill()


def test_the_project_says_where_it_lives() -> None:
    assert {"Homepage", "Documentation", "Issues", "Changelog"} == PROJECT["urls"].keys()
    assert all(url.startswith("https://github.com/vaultbridge/") for url in PROJECT["urls"].values())


def test_the_release_files_of_the_companion_are_what_install_writes(tmp_path: Path) -> None:
    """Built twice, beside a file of another package: the same bytes, and nothing else is touched."""
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    dist = tmp_path / "dist"
    (dist / "companion").mkdir(parents=True)
    (dist / "companion" / "left-over.js").write_text("old", "utf-8")
    (dist / "other.whl").write_bytes(b"other")
    found = []
    for _ in range(2):
        run_python("packaging/build.py", str(dist), "--only", "companion")
        found.append({file.name: file.read_bytes() for file in (dist / "companion").iterdir()})
    assert found[0] == found[1]
    assert (dist / "other.whl").read_bytes() == b"other"
    run_python("-m", "vaultbridge", "companion", "install", str(vault))
    plugin = vault / ".obsidian" / "plugins" / "vaultbridge"
    installed = {file.name: file.read_bytes() for file in plugin.iterdir()}
    assert installed.keys() == {"main.js", "manifest.json", "styles.css"}
    assert found[0] == {**installed, "versions.json": found[0]["versions.json"]}


def test_the_formula_gets_the_hash_of_the_source_distribution(tmp_path: Path) -> None:
    (tmp_path / f"vaultbridge-{__version__}.tar.gz").write_bytes(b"source")
    run_python("packaging/build.py", str(tmp_path), "--only", "formula")
    written = (tmp_path / "vaultbridge.rb").read_text("utf-8")
    assert f'sha256 "{sha256(b"source").hexdigest()}"' in written and "0000" not in written


def run_python(*words: str) -> None:
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
