"""Ingather: the command, and ``import ingather`` for Python; see :mod:`gen.api`.

This is a file beside the packages, and not inside one, because the packages are called ``gen``,
``hdl`` and ``sim``: somebody else's of such a name, in the working directory of ``python -m`` or on
PYTHONPATH, would be imported in the place of ours. Here that is noticed before it does harm, and
so is a Python that leaves out assertions.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gen.api import ChosenDesign, Done, UserError, design, designs, load_estimator

__all__ = ["ChosenDesign", "Done", "UserError", "design", "designs", "load_estimator"]

OWN = ("gen", "hdl", "sim")


def blocking() -> str:
    """A line that names what keeps ingather from running as it should; empty if nothing does."""
    if sys.flags.optimize:
        return "Python leaves assertions out, which check results: unset PYTHONOPTIMIZE, omit -O"
    for name in OWN:
        spec = find_spec(name)
        places = list(spec.submodule_search_locations or [spec.origin]) if spec else []
        result = Path(places[0] or "").resolve() if places else None
        if result != Path(__file__).resolve().parent / name:
            return (
                f"{result} hides ingather's own package {name}: rename it, or take its folder off"
                " PYTHONPATH and call ingather from another folder"
            )
    return ""


def __getattr__(name: str) -> Any:
    """A name of :mod:`gen.api`, or the module torch_loader, imported when it is first asked for."""
    if name not in (*__all__, "torch_loader"):
        raise AttributeError(f"module 'ingather' has no attribute {name!r}")
    if line := blocking():
        raise ImportError(line)
    if name == "torch_loader":
        from gen import torch_loader

        return torch_loader
    from gen import api

    return getattr(api, name)


def main() -> None:
    """Run the command line, unless something is in its way: that is one line and status 2."""
    if line := blocking():
        print(f"ingather: {line}", file=sys.stderr)
        sys.exit(2)
    try:
        from sim.harness.environment import forget

        forget()
        from gen.cli import main as run
    except KeyboardInterrupt:  # later ones are heard by the command
        print("ingather: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
