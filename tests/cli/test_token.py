"""`vaultbridge token`: made, listed and revoked on the command line."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import aiohttp
import pytest

from support.files import write_vault
from support.http import read_events
from support.serve import Served, served
from support.waiting import BOUND
from vaultbridge.cli.setup.token import main
from vaultbridge.tokens import TokenStore


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("VAULTBRIDGE_CONFIG", str(tmp_path / "config.toml"))
    return tmp_path


def test_a_token_is_printed_alone_and_works(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["make", "phone", "--read-only", "--allow", "Work/", "--deny", "*.key", "--vault", "Notes"]) == 0
    )
    output = capsys.readouterr()
    secret = output.out.strip()
    token = TokenStore(config).check(secret)
    assert token is not None
    assert (token.name, token.read_only, token.allow, token.deny) == ("phone", True, ("Work/",), ("*.key",))
    assert token.vaults == ("Notes",)
    assert secret not in output.err
    assert "only once" in output.err


def test_tokens_are_listed_without_their_secrets(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["make", "phone", "--expires", "30d"])
    main(["make", "laptop", "--read-only"])
    secret = capsys.readouterr().out.split()[0]
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert "phone  read and write, until " in listed
    assert "laptop  read-only" in listed
    assert secret not in listed
    assert main(["--json", "list"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["name"] for row in rows] == ["phone", "laptop"]
    assert all("hash" not in row for row in rows)


def test_without_tokens_the_list_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "no tokens" in capsys.readouterr().out


def test_a_token_is_revoked_by_name_or_id(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "make", "phone"])
    made = json.loads(capsys.readouterr().out)
    assert main(["revoke", made["id"]]) == 0
    assert TokenStore(config).check(made["token"]) is None
    assert main(["revoke", "phone"]) == 1
    assert "no token 'phone'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [["make"], [], ["make", "x", "--expires", "soon"], ["make", "x", "--expires", "0d"], ["sell"]]
)
def test_wrong_usage_is_code_2(argv: list[str]) -> None:
    assert main(argv) == 2


def test_an_expiry_counts_from_now(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, seconds in (("12h", 43_200), ("30d", 2_592_000), ("4w", 2_419_200)):
        main(["--json", "make", text, "--expires", text])
        made = json.loads(capsys.readouterr().out)
        assert made["expires"] - made["created"] == pytest.approx(seconds)


def test_options_may_come_after_the_word(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = config / "elsewhere" / "config.toml"
    words = ["make", "phone", "--json", "--config", str(elsewhere)]
    assert main(words) == 2, "no server would read the file, nor the tokens beside it"
    assert "--config names the file" in capsys.readouterr().err
    elsewhere.parent.mkdir()
    elsewhere.touch()
    assert main(words) == 0
    made = json.loads(capsys.readouterr().out)
    assert TokenStore(elsewhere.parent).check(made["token"]) is not None
    assert main(["--config", str(elsewhere), "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "phone"
    assert main(["--json", "revoke", "phone", "--config", str(elsewhere)]) == 0
    assert json.loads(capsys.readouterr().out)["revoked"] is True
    assert main(["revoke", "phone", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "There is no token 'phone'."


def test_a_damaged_list_is_reported_and_left_alone(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config / "tokens.json").write_text("[{")
    for argv in (["list"], ["make", "phone"], ["revoke", "phone"]):
        assert main(argv) == 1
        output = capsys.readouterr()
        assert output.out == ""
        assert "tokens.json is damaged" in output.err and output.err.count("\n") == 1
    assert (config / "tokens.json").read_text() == "[{"


async def test_tokens_made_at_the_same_time_are_all_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VAULTBRIDGE_CONFIG")
    folder = tmp_path / "config" / "vaultbridge"
    home = Served(tmp_path / "home", XDG_CONFIG_HOME=str(tmp_path / "config"))
    made = await asyncio.gather(*(home.answer("token", "make", f"t{n}") for n in range(6)))
    store = TokenStore(folder)
    assert [store.check(entry["token"]) is not None for entry in made] == [True] * 6
    assert stat.S_IMODE((folder / "tokens.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_revoking_ends_what_the_token_has_open(tmp_path: Path) -> None:
    """The whole way, with two processes: `serve` and `token revoke`."""
    vault = tmp_path / "Notes"
    vault.mkdir()
    async with (
        served(tmp_path / "home", vault) as server,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(BOUND)) as http,
    ):
        phone = await server.answer("token", "make", "phone", "--read-only")
        other = await server.answer("token", "make", "other")
        url = server.announced["sse"]
        async with (
            http.get(url, headers={"Authorization": f"Bearer {phone['token']}"}) as ending,
            http.get(url, headers={"Authorization": f"Bearer {other['token']}"}) as staying,
        ):
            assert (ending.status, staying.status) == (200, 200)
            assert (await server.command("token", "revoke", "phone"))[0] == 0
            assert [event.name async for event in read_events(ending)] == ["endpoint"]
            stream = read_events(staying)
            where = server.announced["url"] + (await anext(stream)).data
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            async with http.post(
                where, json=ping, headers={"Authorization": f"Bearer {other['token']}"}
            ) as posted:
                assert posted.status == 202
            while (await anext(stream)).message.get("id") != 1:
                pass
        async with http.get(url, headers={"Authorization": f"Bearer {phone['token']}"}) as refused:
            assert refused.status == 401


def test_a_pattern_that_hides_nothing_is_said_when_the_token_is_made(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = write_vault(config / "Notes", {"Private/a.md": "a"})
    (vault / "Drafts").mkdir()
    (config / "config.toml").write_text(f"[[vaults]]\npath = {json.dumps(str(vault))}\n", "utf-8")
    assert main(["make", "phone", "--deny", "Pirvate/", "--deny", "Private/"]) == 0
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 1
    assert "note: The pattern 'Pirvate/' (deny of this token) hides nothing" in output.err
    assert "Did you mean 'Private/'?" in output.err
    assert output.err.count("hides nothing") == 1
    assert main(["make", "tablet", "--deny", "Drafts/"]) == 0
    assert "hides nothing yet: the folder 'Drafts' is there" in capsys.readouterr().err
    assert main(["--json", "make", "other", "--deny", "Nowhere/"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "other"
