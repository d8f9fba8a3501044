"""Draws jobs of a switch and frames for them, and compares the RTL with the golden model."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np

from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.switch_rule import Verdict
from sim.switchgnn.golden.window import Window
from sim.switchgnn.wire import Addresses, judge, to_octets
from tests.sim.switchgnn.golden.cut_graphs import Cut

SETTLED = 80  #: cycles in which all that a frame leads to has left, with tables on chip
MEMORY = 60  #: cycles more with tables in memory


def cuts_of(bench, rng, open_turns, blocks):
    """Draw tables for two jobs, or one at two ports; yield number, cut, first aggregator."""
    params, base = bench.params, 0
    jobs = ((0, [0, 2, 3], 5), (1, [1, 4], 3)) if params.ports > 2 else ((0, [0, 1], 5),)
    for number, ports, depth in jobs:
        cut = Cut(
            rng,
            ports=ports,
            banks=params.banks,
            depth=depth,
            open_turns=open_turns,
            blocks=blocks,
            window=params.window,
            lanes=params.lanes,
            maximum=params.maxima and bool(rng.integers(2)),
        )
        yield number, cut, base
        base += open_turns * depth


async def start_jobs(bench, rng, open_turns, blocks, epoch=7):
    """Start the jobs, one behind the other in all tables; return their cuts."""
    cuts, lists, descriptors = {}, 0, 0
    for number, cut, base in cuts_of(bench, rng, open_turns, blocks):
        setup = replace(cut.setup(), window=bench.params.window)
        await bench.host.start_job(
            number,
            setup=setup,
            epoch=epoch + number,
            base=base,
            list_base=lists,
            descriptor_base=descriptors,
        )
        lists += len(setup.rows)
        descriptors += sum(1 + max(b, default=-1) // setup.banks for b in setup.blocks)
        cuts[number] = cut, base
    return cuts


def some_frame(bench, model, cuts, rng):
    """Draw a port and a frame: of a job there, mostly legal, or nearly."""
    number = random.choice(list(cuts))
    cut, _ = cuts[number]
    job = model.table.active[number]
    setup, state = job.setup, job.state
    port = random.choice(cut.ports)
    kind = random.choice(
        [Kind.FEATURE] * 8 + [Kind.PARTIAL] * 3 + [Kind.FETCH] * 4 + [Kind.DONE] * 3 + list(Kind)
    )
    turn = max(0, state.lo + random.choice([0] * 6 + [1, 1, -1, 2]))
    share = cut.shares[port, setup.block(turn)]
    fields = {"kind": kind, "turn": turn, "bm": 1 << port, "job": number, "epoch": job.epoch}
    lanes = bench.params.lanes
    if kind in (Kind.FEATURE, Kind.PARTIAL):
        sends = [sent for sent in share.sends if sent.kind is kind]
        base = state.open[setup.slot(turn)].arrivals[port].window.base
        fields["seq"] = max(0, base + random.choice([0, 0, 0, 1, 1, 2, 3, -1, 4, 9]))
        if sends:
            fields |= random.choice(sends)._asdict()
        if random.random() < 0.1:
            fields["list"] = random.choice([rng.integers(40), (1 << 32) - 1, 1 << 20])
    elif kind in (Kind.RESULT, Kind.FETCH):
        fields["list"] = int(rng.integers(setup.size + 2))
    if kind in (Kind.RAW, Kind.RAWFETCH):
        fields |= {"source": int(rng.integers(1 << 32)), "raw": random.getrandbits(5)}
    if kind in (Kind.FEATURE, Kind.RAW):
        fields["payload"] = rng.integers(-(1 << 15), 1 << 15, lanes)
    elif kind in (Kind.PARTIAL, Kind.RESULT):
        fields["payload"] = rng.integers(-(1 << 28), 1 << 28, lanes)
    if random.random() < 0.1:
        name = random.choice(["bm", "job", "epoch", "turn"])
        fields[name] ^= 1 << random.randrange(4)
    fields = {k: int(v) if isinstance(v, np.integer) else v for k, v in fields.items()}
    return port, Frame(**fields)


def reported(sent):
    """Return frames by port in an order of their own; of an ACK what has arrived."""
    return sorted((port, repr(whole(frame))) for port, frame in sent)


def whole(frame):
    """Return an ACK as one whose base moves on at once would have it."""
    if frame.kind is not Kind.ACK:
        return frame
    arrived = Window().acknowledged(frame.seq, frame.bitmap)
    return replace(frame, seq=arrived.base, bitmap=arrived.ahead)


def spoilt(octets):
    """Return a frame with a bit or a length that no frame has."""
    changed = bytearray(octets)
    if random.random() < 0.5:
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    else:
        changed = changed[: random.randrange(20, len(changed))] + random.randbytes(
            random.choice((0, 0, 1, 4, 64))
        )
    return bytes(changed)


async def compare(bench, open_turns, frames):
    """Send frames one at a time, for new jobs; what leaves is what leaves the model.

    Return the model, and its verdicts by port and name. Hardware counts a FETCH as FETCHED wherever
    it has the aggregator: it looks at the sum later.
    """
    params, rng, counts = bench.params, np.random.default_rng(random.getrandbits(64)), Counter()
    model = SwitchModel(params.ports, params.banks, params.slots, params.jobs)
    cuts = await start_jobs(bench, rng, open_turns, 2)
    for number, (cut, base) in cuts.items():
        setup = replace(cut.setup(), ack_every=1, window=params.window)
        assert model.start_job(number, setup=setup, epoch=7 + number, base=base) is None
    model.load()
    bench.frames.clear()
    for k in range(frames):
        port, frame = some_frame(bench, model, cuts, rng)
        octets = to_octets(frame, params.lanes, Addresses(bench.own, bench.group))
        corrupt = random.random() < 0.02
        if random.random() < 0.05:
            octets = spoilt(octets)
        bench.throw(port, octets, corrupt)
        arrival = judge(octets, params.lanes, bench.own, corrupt=corrupt)
        before = model.counters[port, Verdict.UNREADY]
        golden = model.take(port, arrival)
        if model.counters[port, Verdict.UNREADY] != before:
            exists = arrival.list < model.table.active[arrival.job].setup.size
            counts[port, "FETCHED" if exists else "UNREADY"] += 1
        model.load()
        rows = arrival.rows if isinstance(arrival, Frame) else 0  # each takes a cycle, there or not
        await bench.idle(SETTLED + MEMORY * params.in_memory + rows)
        left = [(port, frame) for _, port, frame in bench.frames]
        assert reported(left) == reported(golden), f"frame {k}: {port} {arrival}"
        bench.frames.clear()
    for (port, verdict), count in model.counters.items():
        if verdict is not Verdict.UNREADY:
            counts[port, verdict.name] += count
    return model, counts


def counted(verdicts):
    """Return verdicts that were met, by port and name."""
    return {(p, name): n for p, counts in verdicts.items() for name, n in counts.items() if n}
