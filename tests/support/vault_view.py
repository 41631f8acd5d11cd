"""The real engine on a real folder, as the editor side sees it."""

from __future__ import annotations

from pathlib import Path

from vaultbridge.editor.vault_view import EngineView
from vaultbridge.engine import DirectEngine
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash


class VaultView(EngineView):
    """Close it when done. The cache (unless another place is given) and the trash lie beside the vault."""

    def __init__(self, folder: Path, scope: Scope | None = None, *, cache: Path | None = None) -> None:
        beside = folder.resolve().parent
        trash = Trash({"HOME": str(beside / "home")})
        self.engine = DirectEngine(
            folder, cache=cache or beside / "cache", trash=trash, scope=scope or Scope()
        )
        super().__init__(self.engine)

    def close(self) -> None:
        self.engine.close()
