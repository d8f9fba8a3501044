"""Contracts of a component that turns streams into streams: a test module adds them by one line.

    keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw)
    fills_and_empties = filling(__name__, draw)

They hold for every such component, whatever it computes:

- ``keeps_order``: under every stall, what leaves is what was drawn, and nothing more comes behind
  it. A beat that waits neither changes nor goes away. If nobody pauses, the pace is as stated.
- ``takes_its_latency``: what comes alone leaves as many cycles later as stated.
- ``a_reset_empties_it``: a reset in any moment, as short as is allowed, leaves nothing behind, and
  the component works on from the next cycle.
- ``fills_and_empties``, of a component that states how many beats it holds: as many go in while
  none leaves, and not one more; then one leaves in every cycle.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from sim.harness.in_simulator import component_in_simulator
from sim.harness.streams import STALLS, Stalls, always, never, often
from tests.hdl.common.upset import start_upset
from tests.hdl.stream_ends import Ends, stated

Beats = Any  #: a list of beats, or lists by the streams' names where there are several streams
Pace = Callable[[list[int], list[int], int], None]


def one_by_one(sent: list[int], left: list[int], latency: int) -> None:
    """Check that a beat came in every cycle, and that each left ``latency`` cycles later."""
    assert sent == list(range(sent[0], sent[0] + len(sent)))
    assert left == [at + latency for at in sent]


def contracts(
    module: str,
    draw: Callable[[int], tuple[Beats, Beats]],
    *,
    pace: Pace = one_by_one,
    begin: Callable[[Any], Any] = start_upset,
    count: int = 300,
    joined: bool = False,
) -> Sequence[Any]:
    """Return the cocotb tests of a component's contracts, as tests of ``module``.

    ``draw(count)`` draws so many beats, or groups of beats of which something leaves, and returns
    what goes in and what leaves; ``count`` is how many ``keeps_order`` draws. ``pace`` checks the
    cycles in which they moved, at each pair of an input and an output, if nobody pauses. ``begin``
    starts the clock and drives what is no stream. Inputs that are ``joined`` move together.
    """

    async def keeps_order(dut: Any, stalls: Stalls) -> None:
        await begin(dut)
        moved = await Ends(dut).exchange(*draw(count), stalls)
        assert not joined or len({tuple(cycles) for cycles in moved.sent.values()}) == 1
        if stalls.none:
            moved.check(pace)

    async def takes_its_latency(dut: Any) -> None:
        await begin(dut)
        ends = Ends(dut)
        for _ in range(20):
            (await ends.exchange(*draw(1))).check(pace)

    async def a_reset_empties_it(dut: Any) -> None:
        await begin(dut)
        ends = Ends(dut)
        shortest = getattr(component_in_simulator(), "reset_cycles", 1)
        for cycles in [*range(12), *random.sample(range(12, 60), 8)]:
            ends.offer(draw(60)[0], (random.choice((never, often)), random.choice(SINKS)))
            await ClockCycles(dut.clk, cycles)
            await ends.reset(shortest, moves=random.random() < 0.5)
            await ends.exchange(*draw(20), random.choice(STALLS))

    return [as_test(module, body) for body in (keeps_order, takes_its_latency, a_reset_empties_it)]


def filling(
    module: str,
    draw: Callable[[int], tuple[Beats, Beats]],
    *,
    begin: Callable[[Any], Any] = start_upset,
) -> Any:
    """Return ``fills_and_empties``, for a component that has, or whose parameters have, a capacity.

    It takes and gives one stream each. The arguments are those of :func:`contracts`.
    """

    async def fills_and_empties(dut: Any) -> None:
        await begin(dut)
        ends, most = Ends(dut), stated("capacity")
        ((source,), (sink,)) = ends.sources.values(), ends.sinks.values()
        for _ in range(2):
            given, expected = draw(3 * most + 20)
            sink.stall, before = always, len(source.cycles)
            await ClockCycles(dut.clk, 1)  # a sink pauses from the next cycle on
            ends.offer(given, (never, always))
            await ClockCycles(dut.clk, 2 * most + 10)
            assert len(source.cycles) - before == most
            assert not source.bus.ready.value
            left = (await ends.drain(expected)).left[sink.name]
            assert left == list(range(left[0], left[0] + len(left)))

    return as_test(module, fills_and_empties)


SINKS = (always, never, often)  #: pauses ahead of a reset: it is full, empty or something between


def as_test(module: str, body: Any) -> Any:
    """Return ``body`` as a cocotb test of ``module``, under every stall if it takes one."""
    body.__module__, body.__qualname__ = module, body.__name__
    test = cocotb.test(timeout_time=1, timeout_unit="ms")(body)
    return cocotb.parametrize(stalls=STALLS)(test) if "stalls" in body.__annotations__ else test
