"""Runs the Yosys script that SymbiYosys wants by the native library instead of WebAssembly.

SymbiYosys calls this file as it would call ``yosys``: with ``-ql LOG SCRIPT``.
"""

import sys


def main() -> None:
    """Run the script."""
    from pyosys import libyosys as ys  # pyright: ignore[reportAttributeAccessIssue]

    _, log, script = sys.argv[1:]
    design = ys.Design()
    ys.run_pass(f"tee -q -o {log} script {script}", design)


if __name__ == "__main__":
    main()
