"""The certificate that a server shows, and how its own commands know it."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

import pytest

from support.web_app import make_certificate
from vaultbridge.errors import InvalidArgument
from vaultbridge.server.config.model import ServerConfig
from vaultbridge.server.serve import load_tls


def compute_fingerprint(file: Path) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read_text())).hexdigest()


def test_without_a_certificate_there_is_no_tls() -> None:
    assert load_tls(ServerConfig()) is None


def test_the_fingerprint_is_that_of_the_first_certificate_in_the_file(
    tmp_path: Path,
) -> None:
    own, key = make_certificate(tmp_path, "own")
    signer, _ = make_certificate(tmp_path, "signer")
    wanted = compute_fingerprint(own)
    found = load_tls(ServerConfig(tls_certificate=str(own), tls_key=str(key)))
    assert found is not None and found.fingerprint == wanted
    chain = tmp_path / "chain.pem"
    chain.write_text("Käse, a comment\n" + key.read_text() + own.read_text() + signer.read_text(), "utf-8")
    found = load_tls(ServerConfig(tls_certificate=str(chain), tls_key=str(chain)))
    assert found is not None and found.fingerprint == wanted


def test_an_unusable_file_is_reported_without_its_path(tmp_path: Path) -> None:
    own, key = make_certificate(tmp_path, "own")
    _, other = make_certificate(tmp_path, "other")
    (tmp_path / "empty").write_text("")
    for files in ((own, other), (own, tmp_path / "empty"), (tmp_path / "none", key), (key, key)):
        with pytest.raises(InvalidArgument, match="cannot be used") as caught:
            load_tls(ServerConfig(tls_certificate=str(files[0]), tls_key=str(files[1])))
        assert str(tmp_path) not in str(caught.value)
