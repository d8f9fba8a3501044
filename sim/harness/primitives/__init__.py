"""Models of the vendor's primitives, of which the hardware places instances."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def models_of(verilog: str) -> tuple[Path, ...]:
    """The models that ``verilog`` needs: of every primitive that it has an instance of."""
    return tuple(
        path
        for path in sorted(FOLDER.glob("*.v"))
        if re.search(rf"^\s*{path.stem}\b", verilog, re.MULTILINE)
    )
