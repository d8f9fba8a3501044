"""Adds up the exact sums of a group of engines, in levels of sum stages."""

from typing import Any, NamedTuple

from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from hdl.p4sgd.core.group_params import GroupParams
from hdl.p4sgd.core.sum_stage import MAX_TERMS, SumStage
from hdl.p4sgd.worker_params import WorkerParams


class Term(NamedTuple):
    """Describes a stream of sums, one of the terms to be added."""

    sums: Any  #: the stream, a beat of which has the sum of each sample of a micro-batch
    engines: int  #: number of engines of a class whose partial activations it adds up


def sum_levels(params: GroupParams) -> tuple[int, int]:
    """Return the number of levels of adders from the group's own sets, and from ``far``."""
    terms, levels = params.own_sets, 0
    far = len(params.beyond) > 0
    while terms + far > MAX_TERMS:
        terms, levels = -(-terms // MAX_TERMS), levels + 1
    last = int(terms + far > 1)
    return levels + last, last


def add_sum_tree(m: Module, params: WorkerParams, own: list[Term], far: list[Term]) -> Any:
    """Add up all terms in levels, with ``far`` in the last one; return the stream of sums."""
    level = 0
    while len(own) + len(far) > MAX_TERMS:
        own = add_level(m, params, level, own)
        level += 1
    (total,) = add_level(m, params, level, [*own, *far])
    return total.sums


def add_level(m: Module, params: WorkerParams, level: int, terms: list[Term]) -> list[Term]:
    """Add up the terms, as many at a time as a stage can add; return the streams of their sums."""
    groups = [terms[k : k + MAX_TERMS] for k in range(0, len(terms), MAX_TERMS)]
    return [add_stage(m, params, f"sum_{level}_{k}", group) for k, group in enumerate(groups)]


def add_stage(m: Module, params: WorkerParams, name: str, terms: list[Term]) -> Term:
    """Add up the terms, a beat of each at a time; a single term is its own sum."""
    if len(terms) == 1:
        return terms[0]
    engines = sum(term.engines for term in terms)
    sums = params.sums(engines)
    widths = [term.sums.payload.shape().elem_shape.width for term in terms]
    m.submodules[name] = stage = SumStage.sized(
        values=sums.length, terms=tuple(widths), bits=sums.elem_shape.width
    )
    for k, term in enumerate(terms):
        connect(m, term.sums, getattr(stage, f"i_{k}"))
    return Term(stage.o, engines)
