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
from itertools import product
from typing import Any

import cocotb

from sim.harness.bench import Bench
from sim.harness.in_simulator import component_in_simulator
from sim.harness.streams import STALLS, Stalls, always, never, often

Beats = Any  #: a list of beats, or lists by the streams' names where there are several streams
Pace = Callable[[list[int], list[int], int], None]


def stated(name: str) -> int:
    """Return a number that the component under test, or else its parameters, states."""
    component = component_in_simulator()
    return getattr(component if hasattr(component, name) else component.params, name)


def one_by_one(sent: list[int], left: list[int], latency: int) -> None:
    """Check that a beat came in every cycle, and that each left ``latency`` cycles later."""
    assert sent == list(range(sent[0], sent[0] + len(sent)))
    assert left == [at + latency for at in sent]


def contracts(
    module: str,
    draw: Callable[[int], tuple[Beats, Beats]],
    *,
    pace: Pace = one_by_one,
    bench: Callable[[Any], Bench] = Bench,
    count: int = 300,
    joined: bool = False,
) -> Sequence[Any]:
    """Return the cocotb tests of a component's contracts, as tests of ``module``.

    ``draw(count)`` draws so many beats, or groups of beats of which something leaves, and returns
    what goes in and what leaves; ``count`` is how many ``keeps_order`` draws. ``pace`` checks the
    cycles in which they moved, at each pair of an input and an output, if nobody pauses.
    ``bench(dut)`` returns the bench, with what is to be at inputs of no stream. Inputs that are
    ``joined`` move together.
    """

    def check_pace(around: Bench) -> None:
        for source, sink in product(around.sources, around.sinks):
            pace(source.cycles, sink.cycles, stated("latency"))

    async def keeps_order(dut: Any, stalls: Stalls) -> None:
        around = await bench(dut).begin(after_anything=True)
        await around.exchange(*draw(count), stalls)
        assert not joined or len({tuple(source.cycles) for source in around.sources}) == 1
        if stalls.absent:
            check_pace(around)

    async def takes_its_latency(dut: Any) -> None:
        around = await bench(dut).begin(after_anything=True)
        for _ in range(20):
            await around.exchange(*draw(1))
            check_pace(around)

    async def a_reset_empties_it(dut: Any) -> None:
        around = await bench(dut).begin(after_anything=True)
        shortest = component_in_simulator().reset_cycles
        for cycles in [*range(12), *random.sample(range(12, 60), 8)]:
            around.offer(draw(60)[0], (random.choice((never, often)), random.choice(SINKS)))
            await around.wait(cycles)
            await around.reset(shortest, moves=random.random() < 0.5)
            await around.exchange(*draw(20), random.choice(STALLS))

    return [as_test(module, body) for body in (keeps_order, takes_its_latency, a_reset_empties_it)]


def filling(
    module: str,
    draw: Callable[[int], tuple[Beats, Beats]],
    *,
    bench: Callable[[Any], Bench] = Bench,
) -> Any:
    """Return ``fills_and_empties``, for a component that has, or whose parameters have, a capacity.

    It takes and gives one stream each. The arguments are those of :func:`contracts`.
    """

    async def fills_and_empties(dut: Any) -> None:
        around, most = await bench(dut).begin(after_anything=True), stated("capacity")
        (source,), (sink,) = around.sources, around.sinks
        for _ in range(2):
            provided, expected = draw(3 * most + 20)
            sink.stall = always
            await around.wait(1)  # a sink pauses from the next cycle on
            around.offer(provided, (never, always))
            await around.wait(2 * most + 10)
            assert len(source.cycles) == most
            assert not source.bus.ready.value
            sink.stall = never
            await around.drain(expected)
            assert sink.cycles == list(range(sink.cycles[0], sink.cycles[0] + len(sink.cycles)))

    return as_test(module, fills_and_empties)


SINKS = (always, never, often)  #: pauses ahead of a reset: it is full, empty or something between


def as_test(module: str, body: Any) -> Any:
    """Return ``body`` as a cocotb test of ``module``, under every stall if it takes one."""
    body.__module__, body.__qualname__ = module, body.__name__
    test = cocotb.test(timeout_time=1, timeout_unit="ms")(body)
    return cocotb.parametrize(stalls=STALLS)(test) if "stalls" in body.__annotations__ else test
