"""`vaultbridge token`: made, listed and revoked on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vaultbridge.app.tokens import TokenStore
from vaultbridge.cli.token import main


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTBRIDGE_CONFIG", str(tmp_path / "config.toml"))
    return tmp_path


def test_a_token_is_printed_alone_and_works(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["make", "phone", "--read-only", "--allow", "Work/", "--deny", "*.key", "--vault", "Notes"]) == 0
    )
    said = capsys.readouterr()
    secret = said.out.strip()
    token = TokenStore(config).check(secret)
    assert token is not None
    assert (token.name, token.read_only, token.allow, token.deny) == ("phone", True, ("Work/",), ("*.key",))
    assert token.vaults == ("Notes",)
    assert secret not in said.err
    assert "only now" in said.err


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
