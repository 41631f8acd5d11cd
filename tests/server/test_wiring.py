"""An engine is built from what the environment says."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.obsidian_files import register_in_obsidian
from vaultbridge.errors import NoteNotFound, VaultNotFound
from vaultbridge.server.config.model import EmbeddingsConfig
from vaultbridge.server.wiring import make_embedding_settings, open_engine
from vaultbridge.vault.scope import Scope


def test_a_vault_is_found_by_folder_and_by_the_name_that_obsidian_knows(tmp_path: Path) -> None:
    environ = register_in_obsidian(tmp_path / "home", (tmp_path / "Notes", 1, True))
    environ["VAULTBRIDGE_CACHE"] = str(tmp_path / "cache")
    for named in ("Notes", str(tmp_path / "Notes"), tmp_path / "Notes"):
        with open_engine(named, environ=environ) as engine:
            assert engine.root.folder == tmp_path / "Notes"
            assert engine.cache.is_relative_to(tmp_path / "cache")
    with pytest.raises(VaultNotFound):
        open_engine("Others", environ=environ)


def test_the_scope_and_the_outside_links_are_the_callers(tmp_path: Path) -> None:
    vault = tmp_path / "Notes"
    vault.mkdir()
    (vault / "Secret.md").write_text("x")
    (tmp_path / "Elsewhere.md").write_text("beyond")
    (vault / "Link.md").symlink_to(tmp_path / "Elsewhere.md")
    environ = {"HOME": str(tmp_path), "VAULTBRIDGE_CACHE": str(tmp_path / "cache")}
    with (
        open_engine(vault, scope=Scope(deny=("Secret.md",)), environ=environ) as engine,
        pytest.raises(NoteNotFound),
    ):
        engine.view("Secret")
    with open_engine(vault, allow_outside_links=True, environ=environ) as engine:
        assert "beyond" in engine.view("Link").text


def test_the_key_of_a_model_comes_from_the_environment_and_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "Notes").mkdir()
    environ = {"HOME": str(tmp_path), "VAULTBRIDGE_CACHE": str(tmp_path / "cache"), "MODEL_KEY": " sk-1234\n"}
    config = EmbeddingsConfig(url="https://models.example/v1", model="m", key_env="MODEL_KEY", batch=7)
    settings = make_embedding_settings(config, environ)
    assert settings is not None
    assert (settings.key, settings.batch, settings.problem) == ("sk-1234", 7, "")
    assert "sk-1234" not in f"{settings!r} {settings}"
    with open_engine(tmp_path / "Notes", embeddings=config, environ=environ) as engine:
        assert engine.embeddings is not None
        assert engine.embeddings.settings == settings
    with open_engine(tmp_path / "Notes", embeddings=EmbeddingsConfig(), environ=environ) as engine:
        assert engine.embeddings is None
