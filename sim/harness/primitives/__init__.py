"""Models the vendor's primitives of which the hardware places instances."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def models_of(verilog: str) -> tuple[Path, ...]:
    """Return the model of every primitive that ``verilog`` has an instance of."""
    return tuple(
        path
        for path in sorted(FOLDER.glob("*.v"))
        if re.search(rf"^\s*{path.stem}\b", verilog, re.MULTILINE)
    )
