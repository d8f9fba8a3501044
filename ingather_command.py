"""The command ``ingather``, from a module that no package of a user's stands in the way of.

Ingather's packages are called ``gen``, ``hdl`` and ``sim``. Somebody else's package of such a name,
in the working directory of ``python -m`` or on PYTHONPATH, would be imported in its place.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

OURS = ("gen", "hdl", "sim")


def in_the_way() -> str:
    """A line that names a package which hides one of ours; empty if there is none."""
    for name in OURS:
        spec = find_spec(name)
        places = list(spec.submodule_search_locations or [spec.origin]) if spec else []
        found = Path(places[0] or "").resolve() if places else None
        if found != Path(__file__).resolve().parent / name:
            return (
                f"{found} hides ingather's own package {name}: rename it, or take its folder off"
                " PYTHONPATH and call ingather from another folder"
            )
    return ""


def main() -> None:
    """Run the command line, unless a package is in its way: that is one line and status 2."""
    if line := in_the_way():
        print(f"ingather: {line}", file=sys.stderr)
        sys.exit(2)
    from gen.cli import main as run

    run()


if __name__ == "__main__":
    main()
