"""Breaks RTL for tests of proofs: one text of a module is replaced, and the proof must find it."""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hdl.common.component import Component
from tests.formal.sby import claims_of, prove
from tests.long import short_and_long
from tests.tables import rows


@dataclass(frozen=True)
class Mutant:
    """A module that is broken, and the claim of a proof that finds it when asked alone."""

    module: str
    old: str  #: a text of the module, which stands there once
    new: str  #: what it is replaced by
    places: tuple[str, ...]  #: where the broken class is used: "module.Class"
    kind: type[Component]  #: the proof
    claim: str
    depth: int = 12  #: cycles within which it shows


def mutants_of(proofs: Sequence[type[Component]], text: str) -> dict[str, Mutant]:
    """Return mutants, by name, of a text with a line for each: ``name; old => new; claim``.

    They follow a line ``@module; proof; places``; places that are a class alone are in the
    proof's module. A number at the end of a line is a depth, ``\\n`` the end of a source's line.
    """
    mutants, kinds = {}, {proof.__name__: proof for proof in proofs}
    module, kind, places, usual = "", Component, (), Mutant.depth
    for first, *others in rows(text, ";"):
        depth = int(others.pop()) if others[-1].isdecimal() else None
        if first.startswith("@"):
            module, kind, usual = first[1:], kinds[others[0]], depth or Mutant.depth
            own = f"{kind.__module__}."
            places = tuple(f"{'' if '.' in place else own}{place}" for place in others[1:])
        else:
            change, claim = others
            old, new = (part.strip() for part in change.replace("\\n", "\n").split("=>"))
            mutants[first] = Mutant(module, old, new, places, kind, claim, depth or usual)
    return mutants


def broken(module: str, old: str, new: str) -> types.ModuleType:
    """Return the module of that name with ``old``, which occurs once, replaced by ``new``."""
    file = import_module(module).__file__
    assert file is not None
    source = Path(file).read_text()
    assert source.count(old) == 1, f"{module} has changed: {old!r}"
    mutant = types.ModuleType(module)
    exec(compile(source.replace(old, new), module, "exec"), mutant.__dict__)
    return mutant


def find(mutant: Mutant, params: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert that the mutant's claim, alone, does not hold for the proof with ``params``."""
    module = broken(mutant.module, mutant.old, mutant.new)
    for place in mutant.places:
        monkeypatch.setattr(place, getattr(module, place.rpartition(".")[2]))
    proof = prove(mutant.kind(params), mode="bmc", depth=mutant.depth, only=mutant.claim)
    assert proof.failed == (mutant.claim,), proof.log


def every_claim_has_one(
    mutants: Mapping[str, Mutant], proofs: Sequence[Component], but: Sequence[Component] = ()
) -> None:
    """Assert that every claim of every proof is one that some mutant violates.

    Claims of proofs in ``but`` are tested with those.
    """
    for mutant in mutants.values():
        broken(mutant.module, mutant.old, mutant.new)  # which must still be possible
    others = frozenset().union(*map(claims_of, but))
    claims = {(type(proof), claim) for proof in proofs for claim in claims_of(proof) - others}
    assert claims == {(mutant.kind, mutant.claim) for mutant in mutants.values()}


def mutants_are_detected(
    mutants: Mapping[str, Mutant],
    proofs: Sequence[Component],
    samples: Sequence[str],
    but: Sequence[Component] = (),
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the tests that every claim has a mutant, and that each mutant is found.

    Each commit runs the second for ``samples``. Claims of ``but`` are tested with those proofs.
    """
    params = {type(proof): proof.params for proof in proofs}

    def every_claim() -> None:
        every_claim_has_one(mutants, proofs, but)

    @pytest.mark.parametrize("name", short_and_long(mutants, samples))
    def each_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        find(mutants[name], params[mutants[name].kind], monkeypatch)

    return every_claim, each_mutant
