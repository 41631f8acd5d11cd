"""Opens the user's own embedding model when it is first needed, and gives ranking its view of a question."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vaultbridge.vault.paths import Visible

if TYPE_CHECKING:
    from vaultbridge.embeddings.embeddings import Embeddings
    from vaultbridge.embeddings.settings import EmbeddingSettings
    from vaultbridge.index.ranking.views import ExtraView
    from vaultbridge.index.store.database import Index


class UserModel:
    """The user's model. If `settings` is None there is none, and every method does nothing."""

    def __init__(
        self,
        settings: EmbeddingSettings | None,
        folder: Path,
        *,
        index: Callable[[], Index],
        shown: Callable[[], Visible | None],
        unknown: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._index = index
        self._shown = shown
        self._unknown = unknown
        self._opening = threading.Lock()
        self._opened: Embeddings | None = None

    @property
    def embeddings(self) -> Embeddings | None:
        if self._settings is None:
            return None
        with self._opening:
            if self._opened is None:
                from vaultbridge.embeddings.embeddings import Embeddings

                self._opened = Embeddings(
                    self._settings, self._folder, index=self._index, shown=self._shown, unknown=self._unknown
                )
            return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def view(self, question: str) -> tuple[ExtraView, ...]:
        """Return the model's view of a question; empty without a model, or if it does not answer in time."""
        embeddings = self.embeddings
        return () if embeddings is None else embeddings.view(question, visible=self._shown())
