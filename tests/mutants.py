"""Broken RTL for tests of proofs: a module with one text replaced, and what is tried of many."""

import os
import types
from importlib import import_module
from pathlib import Path


def chosen(mutants, samples):
    """``samples``, or with ``MUTANTS=all`` in the environment every one of ``mutants``."""
    return list(mutants) if os.environ.get("MUTANTS") == "all" else samples


def broken(module, old, new):
    """The module of that name with ``old``, which stands there once, replaced by ``new``."""
    source = Path(import_module(module).__file__).read_text()
    assert source.count(old) == 1, f"{module} has changed: {old!r}"
    mutant = types.ModuleType(module)
    exec(compile(source.replace(old, new), module, "exec"), mutant.__dict__)
    return mutant


def is_found(name, proof):
    """Assert that ``proof`` fails, by claims with names."""
    print(name, proof.failed)
    assert not proof.holds
    assert proof.failed
