"""Where the configuration lies, what it says, what stands above it, and that its document knows every key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from vaultbridge.errors import InvalidArgument
from vaultbridge.server.config.environment import apply_environment
from vaultbridge.server.config.model import (
    EMPTY,
    LIVE,
    Config,
    VaultConfig,
    choose_config,
    config_file,
    describe_vaults,
    load_config,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "config.md"

EVERYTHING = """
[[vaults]]
path = "~/Notes"
read_only = true
allow = ["Work/"]
deny = ["Work/Secret/"]
outside_links = true
review = "all"

[server]
host = "127.0.0.1"
port = 3000
cors = "local"
hosts = ["vault.home.arpa"]
origins = ["https://vault.home.arpa"]
tls_certificate = "cert.pem"
tls_key = "key.pem"
behind_proxy = false

[scope]
read_only = false
allow = []
deny = ["Private/"]

[tools]
profile = "full"
enable = []
disable = ["delete_note", "canvas"]
errors = "auto"
review = "destructive"
plugins = true
packages = true

[ide]
enabled = true
name = "Obsidian"
relative_paths = false
quote_mentions = true

[privacy]
share_selection = true

[limits]
call_seconds = 30
review_seconds = 45
note_bytes = 1048576

[tokens]
required = false

[embeddings]
url = "http://localhost:11434/v1"
model = "nomic-embed-text"
key_env = "MODEL_KEY"
private = ["Diary/"]
question_prompt = "search_query: "
passage_prompt = "search_document: "
dimensions = 256
batch = 16
timeout_seconds = 30
wait_ms = 100
allow_http = false

[log]
level = "info"
"""


def list_keys() -> Iterator[str]:
    for section in fields(Config):
        table: Any = VaultConfig if section.name == "vaults" else section.type
        for field in fields(table):
            yield f"{section.name}.{field.name}"


def test_without_a_file_there_is_an_empty_configuration(tmp_path: Path) -> None:
    assert load_config(tmp_path / "config.toml") == EMPTY


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_is_named_has_to_be_there(tmp_path: Path, linked: bool) -> None:
    """Its limits would be lost, and nobody would notice."""
    file = tmp_path / "mine.toml"
    if linked:
        file.symlink_to(tmp_path / "away.toml")
    environ = {"HOME": str(tmp_path), "VAULTBRIDGE_CONFIG": str(file)}
    by_option = choose_config({"HOME": str(tmp_path)}, named=file)
    for chosen, named_by in ((choose_config(environ), "VAULTBRIDGE_CONFIG"), (by_option, "--config")):
        assert chosen.path == file
        for use in (chosen.load, chosen.check):
            with pytest.raises(InvalidArgument) as refused:
                use()
            assert refused.value.message == f"{named_by} names the file 'mine.toml', which does not exist."
            assert f"leave {named_by} out" in refused.value.hint
            assert str(tmp_path) not in str(refused.value)
    (tmp_path / ("away.toml" if linked else "mine.toml")).write_text("[scope]\nread_only = true\n", "utf-8")
    for chosen in (choose_config(environ), by_option):
        chosen.check()
        assert chosen.load().scope.read_only


@pytest.mark.parametrize("environ", [{}, {"VAULTBRIDGE_CONFIG": ""}, {"XDG_CONFIG_HOME": "/nowhere"}])
def test_at_the_usual_place_there_may_be_no_file(tmp_path: Path, environ: dict[str, str]) -> None:
    chosen = choose_config({"HOME": str(tmp_path), **environ})
    chosen.check()
    assert chosen.load() == EMPTY


def test_the_command_line_s_file_is_read_instead_of_the_environment_s(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "VAULTBRIDGE_CONFIG": str(tmp_path / "missing.toml")}
    (tmp_path / "mine.toml").write_text("[log]\nlevel = 'debug'\n", "utf-8")
    assert choose_config(environ, named=tmp_path / "mine.toml").load().log.level == "debug"


def test_every_key_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(EVERYTHING, "utf-8")
    config = load_config(file)
    assert config.vaults == (
        VaultConfig(
            path="~/Notes",
            read_only=True,
            allow=("Work/",),
            deny=("Work/Secret/",),
            outside_links=True,
            review="all",
        ),
    )
    assert config.server.hosts == ("vault.home.arpa",)
    assert config.limits.call_seconds == 30.0
    named = {line.partition(" ")[0] for line in EVERYTHING.splitlines() if " = " in line}
    assert named == {key.partition(".")[2] for key in list_keys()}


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbf[log]\r\nlevel = 'debug'\r\n")
    assert load_config(file).log.level == "debug"


def test_a_file_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(InvalidArgument, match="cannot be read"):
        load_config(tmp_path / "config.toml")


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(InvalidArgument, match="more than"):
        load_config(file)


@pytest.mark.parametrize(
    ("environ", "platform", "place"),
    [
        ({"HOME": "/h"}, "linux", "/h/.config/vaultbridge/config.toml"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "linux", "/x/vaultbridge/config.toml"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "relative"}, "linux", "/h/.config/vaultbridge/config.toml"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Application Support/vaultbridge/config.toml"),
        ({"HOME": "/h", "APPDATA": "/a"}, "win32", "/a/vaultbridge/config.toml"),
        ({"HOME": "/h", "VAULTBRIDGE_CONFIG": "/c/my.toml"}, "linux", "/c/my.toml"),
    ],
)
def test_the_file_lies_where_the_system_keeps_such_files(
    environ: dict[str, str], platform: str, place: str
) -> None:
    assert config_file(environ, platform=platform) == Path(place)


def test_the_environment_overrides_the_file() -> None:
    environ = {
        "VAULTBRIDGE_HOST": "::1",
        "VAULTBRIDGE_PORT": "4000",
        "VAULTBRIDGE_READ_ONLY": "1",
        "VAULTBRIDGE_LOG_LEVEL": "error",
    }
    config = apply_environment(EMPTY, environ)
    assert (config.server.host, config.server.port) == ("::1", 4000)
    assert config.scope.read_only
    assert config.log.level == "error"
    assert apply_environment(EMPTY, {}) == EMPTY


def test_a_vault_named_elsewhere_keeps_what_the_file_says_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Link").symlink_to(tmp_path / "Notes")
    config = Config(
        vaults=(VaultConfig(path="~/Notes", read_only=True), VaultConfig(path="Work", deny=("x",)))
    )
    assert describe_vaults(config.vaults, [str(tmp_path / "Link"), "Work", "Other"]) == (
        VaultConfig(path=str(tmp_path / "Link"), read_only=True),
        VaultConfig(path="Work", deny=("x",)),
        VaultConfig(path="Other"),
    )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a file without end")
def test_a_file_without_end_is_read_no_further_than_allowed() -> None:
    with pytest.raises(InvalidArgument, match="more than"):
        load_config(Path("/dev/zero"))


@pytest.mark.parametrize(
    "variable",
    ["VAULTBRIDGE_HOST", "VAULTBRIDGE_PORT", "VAULTBRIDGE_READ_ONLY", "VAULTBRIDGE_LOG_LEVEL"],
)
@pytest.mark.parametrize("value", ["host:99999999", "²"])
def test_a_wrong_variable_is_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidArgument, match=variable):
        apply_environment(EMPTY, {variable: value})


def test_a_port_of_thousands_of_digits_is_no_port() -> None:
    with pytest.raises(InvalidArgument, match="VAULTBRIDGE_PORT"):
        apply_environment(EMPTY, {"VAULTBRIDGE_PORT": "9" * 5000})


def test_every_key_is_documented_with_whether_it_is_live() -> None:
    text = DOCUMENT.read_text("utf-8")
    rows = {
        line.split("|")[1].strip().strip("`"): line for line in text.splitlines() if line.startswith("| `")
    }
    missing = [key for key in list_keys() if key not in rows]
    assert not missing, missing
    wrong = [key for key in list_keys() if ("live" in rows[key].split("|")[3]) != (key in LIVE)]
    assert not wrong, wrong
    unknown = [key for key in rows if "." in key and key not in set(list_keys())]
    assert not unknown, unknown


def test_every_live_setting_is_a_key() -> None:
    assert set(list_keys()) >= LIVE


def test_the_documents_example_is_a_good_configuration(tmp_path: Path) -> None:
    text = DOCUMENT.read_text("utf-8")
    example = text.partition("```toml\n")[2].partition("```")[0]
    file = tmp_path / "config.toml"
    file.write_text(example, "utf-8")
    assert load_config(file) != EMPTY


def test_a_file_cut_anywhere_is_loaded_or_refused_with_its_line_and_never_changed(tmp_path: Path) -> None:
    """A disk that was full, or an editor that crashed, leaves the beginning of a file."""
    whole = b'[[vaults]]\npath = "~/Notes"\n\n[scope]\ndeny = ["Private/"]\n\n[server]\nport = 3000\n'
    file = tmp_path / "config.toml"
    refused = 0
    for end in range(len(whole) + 1):
        file.write_bytes(whole[:end])
        try:
            load_config(file)
        except InvalidArgument as error:
            refused += 1
            line = error.details["line"]
            assert isinstance(line, int) and 1 <= line <= whole[:end].count(b"\n") + 1
            assert str(error).startswith(f"config.toml, line {line}: ")
        assert file.read_bytes() == whole[:end]
    assert refused > len(whole) // 2
