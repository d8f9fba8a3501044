"""Compares a switch between a leaf and a spine with its golden model, frame by frame."""

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import cocotb
import numpy as np

from hdl.switchgnn.switch.judge.verdict import LinkVerdict, Verdict
from hdl.switchgnn.switch.registers import constants
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.verilator import simulate
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.racked_job import with_targets
from sim.switchgnn.switch_bench import begin
from sim.switchgnn.wire import Addresses, judge, to_octets
from tests.hdl.switchgnn.switch.ingress.drawn_frames import SETTLED, reported, some_frame
from tests.hdl.switchgnn.switch.sizes import ON_CHIP
from tests.sim.switchgnn.golden.cut_graphs import Cut

BELOW, ABOVE = 3, 4  #: ports
FAR = 2  #: port of the other switches
WINDOW = 32  #: more than the aggregators of a turn, so that no PARTIAL waits for its window
NEVER = (1 << 32) - 1


def test_links():
    simulate(GnnSwitch(replace(ON_CHIP, links=2, window=WINDOW)), __name__)


def test_verdicts_of_a_switch_with_links():
    """They are those of one without links, and two more."""
    more = {verdict.name: verdict.value for verdict in LinkVerdict}
    fewer = {verdict.name: verdict.value for verdict in Verdict}
    assert more == fewer | {"ACKNOWLEDGED": 19, "ADVANCED": 20}


async def set_up(dut, rng, open_turns=2, timeout=NEVER):
    """Return a job of two workers, of a leaf and of a spine, and its model."""
    bench = await begin(dut)
    await bench.host.write(ack_every=1)
    await bench.host.set_links(above=1, far_port=FAR, timeout=timeout)
    params = bench.params
    cut = cut_with_sums_for_switches(params, rng, open_turns)
    links = {BELOW: FAR, ABOVE: FAR}
    setup = with_targets(replace(cut.setup(), ack_every=1, links=links, above=1 << ABOVE))
    await bench.host.start_job(1, setup=setup, epoch=8, base=2)
    model = SwitchModel(params.ports, params.banks, params.slots, params.jobs)
    assert model.start_job(1, setup=setup, epoch=8, base=2) is None
    model.load()
    bench.frames.clear()
    return bench, model, cut


def cut_with_sums_for_switches(params, rng, open_turns):
    """Draw tables in which each block has sums for both of the other switches."""
    while True:
        cut = Cut(
            rng,
            ports=[0, 2, BELOW, ABOVE],
            banks=params.banks,
            depth=5,
            open_turns=open_turns,
            blocks=2,
            window=WINDOW,
            lanes=params.lanes,
        )
        ports = [{item.port for item in block.values()} for block in cut.setup().blocks]
        if all({BELOW, ABOVE} <= of for of in ports):
            return cut


async def verdicts_are(bench, model):
    """Every verdict is the model's; a FETCH passes before its sum is looked at."""
    for port, counts in (await bench.host.verdicts()).items():
        golden = dict.fromkeys(counts, 0)
        for (at, verdict), count in model.counters.items():
            if at == port:
                golden[verdict.name] += count
        for row in (counts, golden):
            row["FETCHED"] += row.pop("UNREADY")
        assert counts == golden, f"port {port}"


def some_frame_of_a_switch(bench, model, cut, rng):
    """Draw a frame like those of workers, or one that other switches send, from any port."""
    port, frame = some_frame(bench, model, {1: (cut, 2)}, rng)
    job = model.table.active[1]
    chance = random.random()
    over = job.state.done == job.setup.below  # the spine may say so
    if chance > (0.5 if over else 0.2):
        return port, frame
    kind = Kind.ACK if chance < 0.1 else Kind.DONE
    if random.random() < (0.5 if over else 0.03):
        kind = Kind.ADVANCE
    if kind is Kind.DONE:
        port = random.choice(cut.ports)
    else:
        port = random.choice([BELOW, ABOVE, ABOVE, ABOVE, 0])
    turn = max(0, job.state.lo + random.choice([0, 0, 1, 1, -1]))
    fields = {"seq": random.randrange(3), "bitmap": random.getrandbits(3)}
    fields = fields | {"ecn": random.random() < 0.5} if kind is Kind.ACK else {}
    named = {"bm": 1 << port, "job": 1, "epoch": job.epoch}
    return port, Frame(kind=kind, turn=turn, **fields, **named)


def unnumbered(sent):
    """Return the frames with all seqs of PARTIALs 0, and a count of these by port and turn."""
    partials = [(port, frame) for port, frame in sent if frame.kind is Kind.PARTIAL]
    plain = [(p, replace(f, seq=0) if f.kind is Kind.PARTIAL else f) for p, f in sent]
    return reported(plain), Counter((port, frame.turn, frame.seq) for port, frame in partials)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def equals_the_golden_switch(dut):
    """One frame at a time, all that leaves and all verdicts are equal, PARTIALs included."""
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    bench, model, cut = await set_up(dut, rng)
    known = constants(bench.params)
    assert {name: await bench.host.read(name) for name in known} == known
    kinds, turns = Counter(), 0
    for k in range(1000):
        port, frame = some_frame_of_a_switch(bench, model, cut, rng)
        octets = to_octets(frame, bench.params.lanes, Addresses(bench.own, bench.group))
        bench.throw(port, octets)
        arrival = judge(octets, bench.params.lanes, bench.own)
        golden = model.take(port, arrival)
        model.load()
        await bench.idle(SETTLED)
        left = [(port, frame) for _, port, frame in bench.frames]
        assert unnumbered(left) == unnumbered(golden), f"frame {k}: {port} {arrival}"
        kinds.update((port, frame.kind) for port, frame in left)
        kinds.update((port, "mark") for port, frame in left if frame.ecn)
        bench.frames.clear()
        turns = model.table.active[1].state.lo
    assert turns > 2
    seen = {verdict.name for (_, verdict), count in model.counters.items() if count}
    assert {"ADVANCED", "ACKNOWLEDGED", "CLOSED", "MISPLACED", "OVER", "EARLY"} <= seen
    assert kinds[ABOVE, Kind.PARTIAL] + kinds[BELOW, Kind.PARTIAL]
    assert kinds[ABOVE, Kind.DONE]
    assert all(kinds[port, "mark"] for port in (0, 2, BELOW))  # from the switch above as well
    assert not kinds[ABOVE, "mark"]
    assert not kinds[ABOVE, Kind.ADVANCE]
    assert not kinds[BELOW, Kind.RAW]
    await verdicts_are(bench, model)
    await counters_are(bench, kinds)


async def counters_are(bench, kinds):
    """Check that counters of a link say what its frames were."""
    for port in (BELOW, ABOVE):
        result = (await bench.host.port_counters())[port]
        assert result["partials"] == kinds[port, Kind.PARTIAL]
        assert result["partials_again"] == 0
        assert result["results"] == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_next_turn_begins_with_empty_windows(dut):
    """Frames of the next turn come all the time while a turn ends; each is new exactly once."""
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    count, turns, rounds = 3, 8, 25  # frames of a turn, turns, repetitions of its frames
    for open_turns in (1, 2):
        bench, _, cut = await set_up(dut, rng, open_turns=open_turns)
        payload = np.zeros(bench.params.lanes, int)

        def send(kind, turn, port, bench=bench, **fields):
            named = {"bm": 1 << port, "job": 1, "epoch": 8}
            bench.send(port, Frame(kind=kind, turn=turn, **fields, **named))

        for turn in range(turns):
            for port in cut.ports[:-1]:
                send(Kind.DONE, turn, port)
            await bench.idle(random.randrange(60, 120))
            send(Kind.ADVANCE, turn + 1, ABOVE)
            for _ in range(rounds):
                for port, seq in product(cut.ports, range(count)):
                    send(
                        Kind.PARTIAL if port == ABOVE else Kind.FEATURE,
                        turn + open_turns,
                        port,
                        seq=seq,
                        list=0,
                        rows=1,
                        payload=payload,
                    )
            await bench.idle(rounds * count * len(cut.ports) * 2 + 200)
            for port, verdicts in (await bench.host.verdicts()).items():
                assert verdicts["ADDED"] == count * (turn + 1) * (port in cut.ports), turn
                assert not verdicts["AHEAD"]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_job_without_the_link_above_ends_its_turns_itself(dut):
    """If all workers are of one leaf, the leaf decides, though there is a spine."""
    bench = await begin(dut)
    await bench.host.set_links(above=1, far_port=FAR, timeout=500)
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    sizes = {"banks": bench.params.banks, "depth": 5, "lanes": bench.params.lanes}
    cut = Cut(rng, ports=[0, 1, 2], open_turns=1, blocks=2, window=WINDOW, **sizes)
    await bench.host.start_job(0, setup=cut.setup(), epoch=3, base=0)
    bench.workers = {port: cut.worker(port, 0, 3) for port in cut.ports}
    await bench.run()
    cut.check(bench.workers)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_link_that_is_silent_is_repeated_to_and_harms_nobody(dut):
    """PARTIALs leave again, each the same, until their job is stopped; then nothing does.

    Behind the links are workers, too, who send features and acknowledge nothing.
    """
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    bench, model, cut = await set_up(dut, rng, timeout=300)
    job = model.table.active[1]
    bench.workers = {port: cut.worker(port, 1, 8) for port in cut.ports}
    with bench.running(timeout=300):
        await bench.idle(6000)
    sent = [(port, frame) for _, port, frame in bench.frames if frame.kind is Kind.PARTIAL]
    first = {}
    for port, frame in sent:
        reported_first = first.setdefault((port, frame.turn, frame.seq), frame)
        assert reported_first.list == frame.list
        assert np.array_equal(reported_first.payload, frame.payload)
    assert len(sent) > 3 * len(first) > 0
    assert job.setup.above == 1 << ABOVE
    result = await bench.host.port_counters()
    assert sum(result[port]["partials_again"] for port in (BELOW, ABOVE)) > 0
    await bench.host.stop_job(1)
    await bench.idle(100)
    bench.frames.clear()
    await bench.idle(2000)
    assert not bench.frames
