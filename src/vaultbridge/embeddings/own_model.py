"""Opens the user's own embedding model when it is first needed, and gives ranking its view of a question."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge.vault.paths import Visible

if TYPE_CHECKING:
    from vaultbridge.embeddings.embeddings import Embeddings
    from vaultbridge.embeddings.settings import EmbeddingSettings
    from vaultbridge.index.ranking.views import ExtraView
    from vaultbridge.index.store.database import Index

NEAR_PASSAGES: Final = 60
"""How many passages are in a model's view of a question: from about as many notes as are read for it."""


class OwnModel:
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
        if embeddings is None:
            return ()
        from vaultbridge.index.ranking.views import ExtraView

        near = embeddings.rank(question, limit=NEAR_PASSAGES, visible=self._shown()).passages
        if not near:
            return ()
        # Models differ in how similar they rate everything, so a passage is scored relative to the last one.
        low, high = near[-1].score, near[0].score
        places = (
            (passage.path, passage.line, (passage.score - low + 0.01) / (high - low + 0.01))
            for passage in near
        )
        return (ExtraView("meaning", tuple(places)),)
