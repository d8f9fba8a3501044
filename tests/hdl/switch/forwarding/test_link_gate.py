"""Packets pass whole, or are dropped while the link is down: one that has begun is cut."""

import random

from hdl.switch.forwarding.link_gate import LinkGate
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, edges
from sim.harness.verilator import simulate


def test_link_gate():
    simulate(LinkGate(), __name__)


def packet(length):
    """Draw the beats of a packet."""
    fields = (
        {"data": random.getrandbits(512), "keep": random.randint(1, 64)} for _ in range(length)
    )
    return [
        beat | {"keep": (1 << beat["keep"]) - 1, "last": k == length - 1}
        for k, beat in enumerate(fields)
    ]


@crossed(stalls=STALLS, longest=[1, 3, 9], ms=2)
async def equals_the_rule_in_every_cycle(dut, stalls, longest):
    """The rule: a packet leaves if none of its cycles, from first to last beat, was down."""
    bench = await Bench(dut, stalls.value).begin(after_anything=True)
    sent = []
    for _ in range(150):
        sent += packet(random.randint(1, longest))
    bench.i.extend(sent)
    shown = bench.record("", "down", "i_valid", "i_ready", "discarded")
    while bench.i.missing:
        bench.set(down=int(random.random() < 0.4))
        await edges(dut.clk, random.choice((1, 1, 2, 3, 10, 30)))
    bench.set(down=0)
    await edges(dut.clk, 60)
    assert all(beat["i_ready"] for beat in shown.beats if beat["down"])
    # Beats that leave are those that were taken while the packet had not been down.
    rest, expected, discards, bad, some = iter(sent), [], [0], False, False
    for beat in shown.beats:
        bad |= bool(beat["down"]) and (some or bool(beat["i_valid"]))
        ends = False
        if beat["i_valid"] and beat["i_ready"]:
            item = next(rest)
            ends, some = item["last"], not item["last"]
            if not bad:
                expected.append(item)
        if bad and expected and not expected[-1]["last"]:
            expected.append({"keep": 0, "last": 1})
        discards.append(int(ends and bad))
        bad &= not ends
    assert [beat["discarded"] for beat in shown.beats] == discards[:-1]
    left = zip(bench.o.beats, expected, strict=True)
    assert all({name: beat[name] for name in due} == due for beat, due in left)
    assert sum(discards) + sum(beat["last"] and beat["keep"] > 0 for beat in bench.o.beats) == 150


@crossed(stalls=STALLS)
async def a_reset_forgets_what_was_cut(dut, stalls):
    """Nothing is counted or ended behind it, and the next packet leaves whole."""
    bench = await Bench(dut, stalls.value).begin(after_anything=True)
    for _ in range(40):
        for _ in range(9):
            bench.i.extend(packet(random.randint(1, 3)))
        for _ in range(random.randrange(3, 12)):
            bench.set(down=random.getrandbits(1))
            await edges(dut.clk, 1)
        await bench.reset(random.choice((1, 2)), moves=True)
        await edges(dut.clk, 1)
        assert not dut.discarded.value
        bench.set(down=0)
        before, sent = len(bench.o.beats), packet(3)
        bench.i.extend(sent)
        await edges(dut.clk, 60)
        left = bench.o.beats[before:]
        assert [{name: beat[name] for name in sent[0]} for beat in left] == sent
