"""A process that edits a vault: `busy_writer.py VAULT CACHE NAME COUNT [keep]`; prints its work as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Move
from vaultbridge.engine.operations.base import Operation
from vaultbridge.errors import VaultbridgeError
from vaultbridge.vault.write.trash import Trash

NOTES = 3


def main() -> None:
    vault, cache, name, count, *options = sys.argv[1:]
    done: list[str] = []
    refused: list[str] = []
    with DirectEngine(Path(vault), cache=Path(cache), trash=Trash({"HOME": cache}), actor=name) as engine:
        if "keep" in options:
            engine.index_sync.start()
        for number in range(int(count)):
            mark = f"{name}-{number}."
            operations: list[Operation] = [Append(note=f"n{number % NOTES}", content=mark)]
            if number % 5 == 0:
                # Each process moves a note of its own, and with it the links in everybody's notes.
                operations.append(Move(note=f"{name} hub", to=("there/", "/")[number // 5 % 2]))
                operations.append(Append(note=f"n{(number + 1) % NOTES}", content=mark))
            try:
                engine.apply(operations)
                done.append(mark)
            except VaultbridgeError as error:
                refused.append(str(error))
    sys.stdout.write(json.dumps({"done": done, "refused": refused}))


if __name__ == "__main__":
    main()
