"""A fault in the configuration is reported with its key and its line."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidArgument
from vaultbridge.server.config.check import check_config, find_key_lines, find_line, list_keys


def catch_fault(text: str) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        check_config(text.encode(), "config.toml")
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        ("[embeddings]\nurl = 'http://m.example/v1'", 2, "embeddings.url", "use https, or set allow_http"),
        ("[embeddings]\nurl = 'http://u:p@localhost/v1'", 2, "embeddings.url", "name it in key_env"),
        ("[embeddings]\nurl = 'http://localhost/v1'", 1, "embeddings.model", "is missing."),
        (
            "[embeddings]\nurl = 'http://localhost/v1'\nmodel = 'm'\nprivate = ['../x']",
            4,
            "embeddings.private",
            "contains '..'",
        ),
        ("[embeddings]\nwait_ms = 10001", 2, "embeddings.wait_ms", "should be at most 10000."),
        ("[server]\nprot = 3", 2, "server.prot", "Did you mean port?"),
        ("\n\n[sever]\nport = 3", 3, "sever", "Did you mean server?"),
        ('[server]\n# a comment\nport = "x"', 3, "server.port", "a whole number"),
        ("[server]\nport = 70000", 2, "server.port", "should be at most 65535."),
        ("[server]\nport = -1", 2, "server.port", "should be at least 0."),
        ("# \u2028 \x85\n[server]\nprot = 3", 3, "server.prot", "port"),
        ("[scope]\nread_only = 1", 2, "scope.read_only", "should be true or false, not a whole number"),
        ("scope = 3", 1, "scope", "should be a table"),
        ("[[vaults]]\npath = 'a'\n[[vaults]]\nread_only = true", 3, "vaults[1].path", "is missing"),
        ("[[vaults]]\npath = 'a'\nred = 1", 3, "vaults[0].red", "read_only"),
        ("[[vaults]]\npath = ''", 2, "vaults[0].path", "should not be empty."),
        (
            "[[vaults]]\npath = 'a/b'\n[[vaults]]\npath = 'a/./b/'",
            4,
            "vaults[1].path",
            "the same vault as in line 2",
        ),
        ("".join(f"[[vaults]]\npath = '{n}'\n" for n in range(33)), 65, "vaults[32]", "there may be 32"),
        ("[vaults]\npath = 'a'", 1, "vaults", "Write [[vaults]]"),
        ("[tools]\nprofile = 'half'", 2, "tools.profile", 'should be "core" or "full" or "read-only".'),
        ("[tools]\ndisable = [\n'a',\n3,\n]", 2, "tools.disable[1]", "text in quotes"),
        ("[scope]\ndeny = ['../x']", 2, "scope.deny", "contains '..'"),
        ("[scope]\ndeny = ['C:\\Notes\\Private']", 2, "scope.deny", "Write it from the vault's top"),
        ("[[vaults]]\npath = 'a'\nallow = ['']", 3, "vaults[0].allow", ""),
        ("[server]\ntls_key = 'k'", 2, "server.tls_key", "belong together"),
        ("[server]\nhosts = ['a.b', 'http://a']", 2, "server.hosts[1]", "Write it like vault.home.arpa"),
        ("[server]\nhosts = ['a.b:3000']", 2, "server.hosts[0]", "Write it like vault.home.arpa"),
        ("[server]\nhost = 'localhost:3000'", 2, "server.host", "Such as 0.0.0.0"),
        ("[server]\norigins = ['a.b']", 2, "server.origins[0]", "Write it like https://notes.example"),
        ("[server]\n\norigins = ['*']", 3, "server.origins[0]", 'cors = "any"'),
        ("port = 3000", 1, "port", "Did you mean port in [server]?"),
        ("[limits]\nnote_bytes = 3", 2, "limits.note_bytes", "should be at least 1024."),
        ("[limits]\ncall_seconds = 601", 2, "limits.call_seconds", "should be at most 600."),
        ("x", 1, "", "not TOML"),
        ("[a]\nb = 1\n[a]\n", 3, "", "not TOML"),
        ("[server]\nhost = 'a", 2, "", "not TOML"),
    ],
)
def test_a_fault_names_its_key_and_line(text: str, line: int, key: str, says: str) -> None:
    error = catch_fault(text)
    assert str(error).startswith(f"config.toml, line {line}: ")
    assert says in str(error)
    assert error.details["line"] == line
    assert key.split("[")[0] in str(error)


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "9" * 5_000])
def test_a_file_that_the_toml_parser_fails_on_is_reported(text: str) -> None:
    assert str(catch_fault(text)).startswith("config.toml cannot be read: ")


def test_bytes_that_are_no_text_have_a_line_too() -> None:
    with pytest.raises(InvalidArgument, match="line 3: this line is not UTF-8"):
        check_config(b"\n\nx = '\xff'", "config.toml")


def test_the_lines_of_keys_are_found_past_values_of_many_lines() -> None:
    text = '''a = """
[no]
b = 1
"""
c = [
  "[[x]]", # ]
  "d = 1",
]
"quoted key" = 1
[t.u]
e.f = { g = 1 }
[[v]]
h = 'x'
[[v]]
i = 2
'''
    tomllib.loads(text)
    assert find_key_lines(text) == {
        "a": 1, "c": 5, "quoted key": 9, "t.u": 10, "t.u.e.f": 11, "v[0]": 12, "v[0].h": 13, "v[1]": 14,
        "v[1].i": 15,
    }  # fmt: skip


def test_a_key_without_a_line_gets_the_line_of_its_container() -> None:
    lines = {"a": 3, "v[1]": 7}
    assert find_line("a.b.c", lines) == 3
    assert find_line("v[1].x", lines) == 7
    assert find_line("nothing", lines) == 1


def test_the_keys_of_a_table_are_known() -> None:
    assert list_keys("tokens") == ["required"]
    assert list_keys("vaults[3]")[0] == "path"
    assert "server" in list_keys("")
    assert list_keys("nothing") == []


@given(st.text() | st.from_regex(r'(\[{1,2}[a-z.]{1,4}\]{1,2}|[a-z]{1,3} = (1|"x"|\[|\{)|\n){1,12}'))
def test_any_text_gives_a_configuration_or_a_fault_with_a_line(text: str) -> None:
    try:
        check_config(text.encode("utf-8", "surrogatepass"), "config.toml")
    except InvalidArgument as error:
        assert "config.toml, line " in str(error)
