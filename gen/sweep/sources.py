"""Which version of the sources a metric comes from."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

#: What any hardware is made of, besides its own folders.
HARDWARE = ("hdl/common", "gen/emission/emit.py", "gen/emission/lean_rtlil.py")
SYNTHESIS = ("gen/synth",)


@lru_cache
def version(sources: Sequence[str]) -> str:
    """A hash of all files in ``sources``, folders or files of this distribution."""
    total = sha256()
    for source in sorted(set(sources)):
        place = ROOT / source
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in files:
            if path.is_file() and "__pycache__" not in path.parts:
                total.update(f"{path.relative_to(ROOT)}\0".encode())
                total.update(sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]
