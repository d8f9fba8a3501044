import random
from collections import Counter
from functools import partial

import cocotb
import pytest

from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.concat.concatenator_params import SPARE_QUEUES, ConcatenatorParams
from sim.harness.streams import STALLS, always, benched, crossed, cycle, never, often, rarely
from sim.harness.verilator import simulate
from sim.netsparse.golden.concatenation import Kind, Reason
from tests.hdl.netsparse.concat.concatenator_bench import (
    ConcatenatorBench,
    ideal,
    ones,
    request,
    rotate,
    zeros,
)
from tests.long import short_and_long

FULL = ConcatenatorParams(payload=True, nodes=12, credits=True, groups=True, label_bits=3)
# Times of few bits, which wrap around often; 30 reads are exactly an MTU.
READS = ConcatenatorParams(payload=False, nodes=128, mtu=64 + 30 * 18, most_delay=30, credits=True)
VIRTUAL = ConcatenatorParams(payload=True, nodes=40, most_delay=100, pool=64, destinations=12)
VIRTUAL_READS = ConcatenatorParams(
    payload=False, nodes=128, pool=64, destinations=32, groups=True, label_bits=1
)
JUMBO = ConcatenatorParams(
    payload=True, nodes=2, mtu=9216, most_property_bytes=4096, most_delay=600, credits=True
)

EVERY = ("every", "delay", "errors", "separate", "stalled", "backlog", "order", "flush")
FORMS = {
    "full": (FULL, (*EVERY, "full", "responses", "groups", "labels")),
    "reads": (READS, (*EVERY, "wrap", "reads")),
    "virtual": (VIRTUAL, (*EVERY, "exhausted")),
    "virtual_reads": (VIRTUAL_READS, (*EVERY, "virtual", "groups", "labels")),
    "jumbo": (JUMBO, ("jumbo", "full_backlog", "errors_wait")),
}


@pytest.mark.parametrize("form", short_and_long(FORMS, ["full", "virtual_reads", "jumbo"]))
def test_concatenator(form):
    params, tests = FORMS[form]
    simulate(Concatenator(params), __name__, test_filter=rf"\.({'|'.join(tests)})_\w+(/.*)?$")


def some_lengths(params, count):
    return random.sample(range(4, params.most_property_bytes + 1, 4), count)


def mixed(params, count, *, lengths=(4,), nodes=None, errors=0.0):
    """Return PRs for some destinations in random order."""
    dests = random.sample(range(params.nodes), min(nodes or params.nodes, params.nodes))
    return [
        request(
            params,
            random.choice(dests),
            random.choice(lengths),
            error=params.payload and random.random() < errors,
        )
        for _ in range(count)
    ]


@benched(ConcatenatorBench, stalls=STALLS)
async def every_pr_leaves_once(bench):
    params = bench.params
    lengths = some_lengths(params, 2)
    await bench.send(mixed(params, 250, lengths=lengths, nodes=9, errors=0.05))
    await bench.send(mixed(params, 150, lengths=lengths[:1]))
    await bench.send([request(params, 0, 4, bits=bits) for bits in (zeros, ones)])
    ledger = await bench.finish()
    assert Reason.LENGTH in ledger.reasons


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
@cocotb.parametrize(delay=[0, 1, 7])
async def delay_of_any_length(dut, stalls, delay):
    bench = await ConcatenatorBench(dut, stalls.value, delay=delay).begin()
    for _ in range(6):
        await bench.send(mixed(bench.params, 20, lengths=(16,), nodes=6))
        await bench.wait(random.choice([0, 3, delay, 2 * delay]))
    await bench.finish()


@crossed(delay=[0, 3, 25])
async def delay_of_one_pr(dut, delay):
    bench = await ConcatenatorBench(dut, delay=delay).begin()
    for _ in range(12):
        await bench.send(mixed(bench.params, 1))
        await bench.wait(delay + 30)
    ledger = await bench.finish()
    assert set(ledger.reasons) == {Reason.EXPIRED}
    waited = [mark - at for mark, at in zip(bench.marked, bench.entered, strict=True)]
    assert waited == [max(delay + 1, bench.component.lateness - 1)] * 12
    moved = [at + bench.component.entry_latency for at in bench.prs.cycles]
    assert bench.entered == moved


@crossed(stalls=STALLS)
async def separate_packets(dut, stalls):
    bench = await ConcatenatorBench(dut, stalls.value, concatenate=0).begin()
    await bench.send(mixed(bench.params, 200, lengths=(4, 8, 64)))
    ledger = await bench.finish()
    assert bench.pr_counts == [1] * 200
    assert set(ledger.reasons) == {Reason.WHOLE}
    if stalls.absent:
        assert bench.axis.packets[0].begun == bench.prs.cycles[0] + bench.component.latency
        taken = bench.axis.packets[-1].ended - bench.axis.packets[0].begun + 1
        assert taken == len(bench.axis.beats)  # no pause between packets


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
@cocotb.parametrize(concatenate=[1, 0])
async def labels_keep_prs_apart(dut, stalls, concatenate):
    """PRs for one destination leave in a packet as long as their label stays the same."""
    bench = await ConcatenatorBench(dut, stalls.value, concatenate=concatenate, delay=90).begin()
    params = bench.params
    for _ in range(5):
        requests, labels, edges = [], [], []
        for _ in range(12):
            dest, count = random.randrange(3), random.choice([1, 2, 5])
            label = random.randrange(1 << params.label_bits)
            requests += [request(params, dest, 4) for _ in range(count)]
            labels += [label] * count
            edges += [(k == 0, k == count - 1) for k in range(count)]
            if not random.randrange(4):  # in the middle of a group, too
                labels[-1] ^= 1
        await bench.send(requests, edges, labels)
    ledger = await bench.finish()
    assert Reason.LABEL in ledger.reasons
    assert max(bench.pr_counts) > 2


def some_group(params, dest):
    """Draw PRs that belong together: as many as fill a packet, some more, or few."""
    if params.payload and random.random() < 0.2:
        return [request(params, dest, 4, error=True)]
    length = random.choice([4, 16, 64, 512])
    most = (params.mtu - 64) // (18 + params.payload * length)
    count = random.choice([1, 2, most, most + 14 * (length <= 16)])
    return [request(params, dest, length) for _ in range(count)]


@crossed(stalls=STALLS)
async def groups_stay_whole(dut, stalls):
    """A group leaves with its last PR; others may go in between, and displace it if they must."""
    bench = await ConcatenatorBench(dut, stalls.value, concatenate=0).begin()
    params = bench.params
    sent, parts = [], []  # PRs with their edges; those of a group that are not displaced
    for _ in range(60):
        dest = random.randrange(params.nodes)
        group = some_group(params, dest)
        edges = [(k == 0, k == len(group) - 1) for k in range(len(group))]
        at = random.randrange(len(group))
        present = random.random() < 0.5
        other = some_group(params, dest if present else (dest + 1) % params.nodes)
        other_edges = [(k == 0, k == len(other) - 1) for k in range(len(other))]
        sent += [*zip(group[:at], edges, strict=False), *zip(other, other_edges, strict=True)]
        sent += zip(group[at:], edges[at:], strict=True)
        errors = Kind.ERROR in (group[0].kind, other[0].kind)
        displaces = present and at > 0 and not errors
        parts += [other, group[:at], group[at:]] if displaces else [other, group]
    await bench.send([pr for pr, _ in sent], [edge for _, edge in sent])
    ledger = await bench.finish()
    if stalls.absent:  # and so no group takes longer than DelayCycles
        needed = [-(-len(part) // max_prs(params, part[0])) for part in parts]
        assert len(ledger.packets) == sum(needed)
        assert Reason.DISPLACED in ledger.reasons
        assert Reason.EXPIRED not in ledger.reasons


def max_prs(params, pr):
    """Return how many PRs like this one fit a packet."""
    return 1 if pr.kind is Kind.ERROR else (params.mtu - 64) // pr.wire_bytes


@benched(ConcatenatorBench)
async def errors_wait_for_nobody(bench):
    params = bench.params
    if params.payload:
        await bench.send([request(params, 1, 8) for _ in range(3)])
        await bench.send([request(params, 1, 8, error=True) for _ in range(5)])
        await bench.send([request(params, 1, 8) for _ in range(3)])
        ledger = await bench.finish()
        assert ledger.reasons == [Reason.ALONE] * 5 + [Reason.EXPIRED]
        assert bench.pr_counts == [1] * 5 + [6]


@benched(partial(ConcatenatorBench, delay=30))
async def errors_beside_expirations(bench):
    """There are two marks in every cycle, one of which waits."""
    params = bench.params
    for _ in range(3 * params.payload):
        await bench.send([request(params, dest) for dest in range(6)])
        await bench.wait(15)
        await bench.send([request(params, 0, error=True) for _ in range(40)])
        await bench.empty()
    ledger = await bench.finish()
    assert ledger.reasons.count(Reason.EXPIRED) == 18 * params.payload
    assert (bench.stall_cycles > 0) == params.payload


@benched(ConcatenatorBench)
async def flush_lets_the_oldest_leave(bench):
    """One open packet leaves per cycle, from the oldest on, long before its time."""
    dests = [1, 0, 3, 2][: bench.params.nodes]
    await bench.send([request(bench.params, dest) for _ in range(3) for dest in dests])
    while len(bench.entered) < len(bench.requests):
        await bench.edge
    assert not bench.marked
    flushed = cycle() + 1
    bench.dut.flush.value = 1
    ledger = await bench.finish(flushed)
    assert set(ledger.reasons) == {Reason.FLUSHED}
    assert [packet.prs[0].request.dest for packet in ledger.packets] == dests
    assert bench.marked == list(range(flushed, flushed + len(dests)))
    bench.dut.flush.value = 0
    await bench.send([request(bench.params, dests[0])])
    ledger = await bench.finish(flushed)
    assert ledger.reasons[-1] == Reason.EXPIRED


@benched(partial(ConcatenatorBench, stalls=(rarely, always)))
async def stalled_output_delays_no_mark(bench):
    """Packets are marked in time while none can leave."""
    params = bench.params
    nodes = min(params.nodes, params.queues - 4, 30)
    await bench.send(mixed(params, 3 * nodes, lengths=(4,), nodes=nodes))
    await bench.wait(4 * params.most_delay)
    assert len(bench.marked) >= 1
    assert not bench.axis.packets
    assert not bench.dut.empty.value
    bench.axis.stall = never
    await bench.finish()
    assert bench.stall_cycles == 0


@benched(partial(ConcatenatorBench, stalls=(never, always)))
async def backlog_stops_the_input(bench):
    """The output stops until the input does; then everything leaves without a pause."""
    params = bench.params
    sending = cocotb.start_soon(bench.send(mixed(params, 2500, lengths=(64,), nodes=3)))
    while bench.stall_cycles < 2 * params.most_delay + 100:
        await bench.wait(10)
        assert not sending.done()
    bench.axis.stall = often if random.random() < 0.5 else never
    await sending
    await bench.finish()


@benched(partial(ConcatenatorBench, stalls=(never, always)))
async def full_backlog_of_single_prs(bench):
    """Packets of a PR each fill what there is for packets, long before all lines are taken."""
    # None is as long as that before it; in a large EQ the last entry has a number of all bits.
    prs = [request(bench.params, 0, (4, 8)[k % 2]) for k in range(400)]
    sending = cocotb.start_soon(bench.send(prs))
    while bench.stall_cycles < 100:
        await bench.wait(10)
    assert len(bench.entered) == bench.params.packets
    bench.axis.stall = never
    await sending
    await bench.finish()
    assert set(bench.pr_counts) == {1}


@benched(partial(ConcatenatorBench, stalls=(never, often)))
async def every_pr_is_forgotten_by_a_reset(bench):
    for _ in range(2):
        await bench.send(mixed(bench.params, random.randrange(30, 60), lengths=(64,), nodes=3))
        await bench.reset()
        bench = await ConcatenatorBench(bench.dut, (never, often)).begin(first=False)
        assert bench.dut.empty.value
    await bench.send(mixed(bench.params, 100, lengths=(64,), nodes=5))
    await bench.finish()


@benched(partial(ConcatenatorBench, delay=20))
async def order_of_a_full_and_an_expired_packet(bench):
    """A queue fills when it expires, at every distance of the two."""
    params = bench.params
    for distance in range(10, 30):
        await bench.send([request(params, 0)])
        await bench.wait(distance)
        await bench.send([request(params, 0, random.choice([4, 8, 512])) for _ in range(8)])
        await bench.wait(60)
    await bench.finish()


@benched(ConcatenatorBench, stalls=STALLS)
async def full_range_of_lengths(bench):
    params = bench.params
    lengths = list(range(4, params.most_property_bytes + 1, 4))
    random.shuffle(lengths)
    for length in lengths:
        count = random.randrange(1, 8)
        await bench.send([request(params, random.randrange(2), length) for _ in range(count)])
    await bench.finish()


@benched(ConcatenatorBench, length=[4, 16, 64, 512], nodes=[1, 2])
async def responses_in_full_packets(bench, length, nodes):
    per_packet = {4: 65, 16: 42, 64: 17, 512: 2}[length]
    packets = 8 * nodes
    dests = [k % nodes for k in range(packets * per_packet)]
    await bench.send([request(bench.params, dest, length) for dest in dests])
    ledger = await bench.finish()
    assert bench.pr_counts == [per_packet] * packets
    assert set(ledger.reasons) == {Reason.FULL}
    least = ideal(bench, bench.pr_counts)
    taken = bench.axis.packets[-1].ended - bench.prs.cycles[0] + 1
    # The first packet's collection and the last one's emission are not beside each other.
    beats = len(bench.axis.beats) // packets
    fill = bench.beats // packets * nodes
    assert taken <= least + min(fill, beats * nodes) + bench.component.latency
    if length == 4:
        assert bench.stall_cycles == 0


@crossed(count=[1, 4, 16, 64])
async def responses_in_packets_of(dut, count):
    await rotate(dut, count, 6, 4)


@crossed(count=[1, 4, 8])
async def reads_in_packets_of(dut, count):
    await rotate(dut, count, 4, 512)


@benched(partial(ConcatenatorBench, delay=30))
async def reads_in_full_packets(bench):
    await bench.send([request(bench.params, 5, 512) for _ in range(30 * 8)])
    ledger = await bench.finish()
    assert bench.pr_counts == [30] * 8
    assert set(ledger.reasons) == {Reason.FULL}
    assert bench.stall_cycles == 0


@crossed(stalls=STALLS)
async def reads_for_random_destinations(dut, stalls):
    """A PR comes per cycle for 128 nodes, and no cycle is lost."""
    bench = await ConcatenatorBench(dut, stalls.value, delay=30).begin()
    await bench.send(mixed(bench.params, 1500, nodes=9))
    if stalls.absent:
        assert bench.stall_cycles == 0
    await bench.send(mixed(bench.params, 500))
    await bench.send([request(bench.params, dest) for dest in range(128)])
    await bench.finish()


@benched(ConcatenatorBench)
async def wrap_around_of_time(bench):
    for _ in range(40):
        await bench.send(mixed(bench.params, random.randrange(1, 30), nodes=4))
        await bench.wait(random.randrange(100))
    await bench.wait(1000)
    await bench.send(mixed(bench.params, 20))
    await bench.finish()


@benched(ConcatenatorBench, stalls=STALLS)
async def exhausted_pool_marks_the_oldest(bench):
    # Few destinations run out of lines, many run out of queues.
    await bench.send(mixed(bench.params, 150, lengths=(512,), nodes=4))
    await bench.send(mixed(bench.params, 300, lengths=(64,)))
    ledger = await bench.finish()
    assert ledger.reasons.count(Reason.EXHAUSTED) > 20


@benched(ConcatenatorBench)
async def exhausted_lines_mark_the_oldest(bench):
    params = bench.params
    dests = [0, 1, 2, 3, 4, 5] * 20  # as many packets of an MTU are more than the pool
    await bench.send([request(params, dest, 128) for dest in dests])
    ledger = await bench.finish()
    assert Reason.EXHAUSTED in ledger.reasons


@benched(ConcatenatorBench)
async def virtual_queues_at_full_rate(bench):
    """Two PRs come for each destination: an old packet is marked for every new one."""
    dests = [dest for dest in range(128) for _ in range(2)] * 4
    await bench.send([request(bench.params, dest) for dest in dests])
    ledger = await bench.finish()
    assert Counter(bench.pr_counts) == {2: 512}
    assert ledger.reasons.count(Reason.EXHAUSTED) > 400
    taken = bench.axis.packets[-1].ended - bench.prs.cycles[0] + 1
    assert taken <= ideal(bench, bench.pr_counts) + bench.params.most_delay + 100


@benched(partial(ConcatenatorBench, delay=40))
async def virtual_queues_of_a_pr_alone(bench):
    """It gets the queue after those of earlier packets, and is seen in each of them."""
    params = bench.params
    for before in range(1, params.queues - SPARE_QUEUES):
        await bench.send([request(params, dest) for dest in range(before)])
        await bench.empty()
        await bench.send([request(params, params.nodes - 1)])
        await bench.empty()
    await bench.finish()


@benched(partial(ConcatenatorBench, stalls=(rarely, rarely)))
async def jumbo_packets(bench):
    await bench.send(mixed(bench.params, 12, lengths=(4096,)))
    await bench.send([request(bench.params, 0, 4) for _ in range(900)])
    await bench.send(mixed(bench.params, 40, lengths=some_lengths(bench.params, 2)))
    await bench.finish()
    # 64 + 2 x 4,114, and 64 + 416 x 22 of 9,216 bytes
    assert {2, 416} <= set(bench.pr_counts)


@benched(partial(ConcatenatorBench, stalls=(never, always), concatenate=0))
async def jumbo_packets_take_every_line(bench):
    """PRs are large, then small; the last wait for a line, not for packets."""
    params = bench.params
    large = params.lines // params.pr_lines
    lengths = [params.most_property_bytes] * large + [4] * (params.packets - large)
    prs = [request(params, k % 2, length) for k, length in enumerate(lengths)]
    sending = cocotb.start_soon(bench.send(prs))
    while bench.stall_cycles < 300:
        await bench.wait(10)
    left = params.lines - large * params.pr_lines
    assert large + left <= len(bench.entered) < len(prs) - 2
    bench.axis.stall = never
    await sending
    await bench.finish()
