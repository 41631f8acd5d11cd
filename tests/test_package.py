"""What `pip install` puts on a machine: every file that the program reads, and its command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from vaultbridge import __version__

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


def test_the_wheel_holds_every_file_of_the_package_and_the_command(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        check=True,
    )
    name = built.stdout.splitlines()[-1]
    assert name == f"vaultbridge-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        packed = {path for path in wheel.namelist() if path.startswith("vaultbridge/")}
        commands = wheel.read(f"vaultbridge-{__version__}.dist-info/entry_points.txt").decode()
        metadata = wheel.read(f"vaultbridge-{__version__}.dist-info/METADATA").decode()
    package = ROOT / "src" / "vaultbridge"
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert packed == {path.relative_to(package.parent).as_posix() for path in files}
    assert "vaultbridge = vaultbridge.__main__:main" in commands
    check_description(metadata)


def check_description(metadata: str) -> None:
    """On PyPI there is no repository around the README: each link and picture must lead there by itself."""
    fields, _, description = metadata.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in fields
    readme = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", description)
    assert len(links) == len(re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", readme)) > 20
    here = f"https://github.com/vaultbridge/vaultbridge/(blob|tree|raw)/v{re.escape(__version__)}/(.+)"
    for link in links:
        found = re.fullmatch(here, link)
        if found is None:
            assert link.startswith("https://") and "/vaultbridge/" not in link, link
            continue
        kind, target = found.groups()
        place = ROOT / target.partition("#")[0]
        assert place.is_dir() if kind == "tree" else place.is_file(), link
        assert (kind == "raw") == (place.suffix == ".png"), link
    # Nothing else differs from the README.
    assert re.sub(here.replace("(.+)", ""), "", description).strip() == readme.strip()
