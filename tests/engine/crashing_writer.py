"""A process that changes a vault and kills itself at a given point.

    crashing_writer.py VAULT CACHE HOME POINT OPERATIONS

OPERATIONS is the JSON of `vaultbridge edit`. With the point "tell", the points that are passed are printed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations.vocabulary import parse_operations
from vaultbridge.vault.write.trash import Trash


def main(vault: str, cache: str, home: str, point: str, operations: str) -> None:
    def checkpoint(name: str) -> None:
        if point == "tell":
            print(name, flush=True)
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    trash = Trash({"HOME": home})
    with DirectEngine(vault, cache=Path(cache), trash=trash, actor="test", checkpoint=checkpoint) as engine:
        engine.index_sync.refresh()
        engine.apply(parse_operations(json.loads(operations)))


if __name__ == "__main__":
    main(*sys.argv[1:])
