"""The paths of a port whose switch takes NetSparse's packets, reads and responses apart."""

import random
from itertools import islice

import cocotb

from hdl.opennic.port_paths import PortPaths, PortPathsParams
from sim.harness.axi_streams import AxiSink, beats_of
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, crossed, never
from sim.harness.verilator import simulate
from tests.hdl.opennic.packets import BEAT, box_beats, frame, possible
from tests.hdl.u280.packet_bench import random_packet

SIZES = PortPathsParams(ethertype=0, host_words=64, switch_words=64)


def test_port_paths_of_kinds():
    simulate(PortPaths(SIZES), __name__)


def octets_of(beats):
    """Return the packets of a plain stream, none of which is marked."""
    packets, octets = [], b""
    for beat in beats:
        octets += beat["tdata"].to_bytes(BEAT, "little")[: beat["tkeep"].bit_count()]
        if beat["tlast"]:
            assert not beat["tuser"]
            packets.append(octets)
            octets = b""
    return packets


async def begun(dut, stalls=(never, never)):
    source, sink = stalls
    bench = Bench(dut, (source, sink))
    bench.classes = [AxiSink(dut, f"to_switch_{k}", stall=sink) for k in range(2)]
    bench.counted = bench.tally("events")
    await bench.begin()
    await bench.wait(8)
    return bench


@crossed(stalls=STALLS, us=400)
async def packets_of_each_class_have_a_path(dut, stalls):
    bench = await begun(dut, stalls)
    sent = [random_packet() for _ in range(100)]
    spoilt = set(random.sample(range(100), 10))
    for number, (octets, _) in enumerate(sent):
        # What is wrong stands behind the first beat, which says the class.
        faults = {"stated", "empty"} & {*possible(octets)} if len(octets) > BEAT else {"stated"}
        fault = random.choice(sorted(faults)) if number in spoilt else ""
        await bench.rx.send_all(box_beats(octets, fault=fault))
        await bench.wait(12)
    answers = [[frame(random.choice([64, 200, 500])) for _ in range(30)] for _ in range(2)]
    for k, frames in enumerate(answers):
        getattr(bench, f"from_switch_{k}").extend([b for f in frames for b in beats_of(f)])
    await bench.tx.wait_for(sum(-(-len(f) // BEAT) for frames in answers for f in frames))
    await bench.settle(30)
    good = [(octets, kind) for n, (octets, kind) in enumerate(sent) if n not in spoilt]
    for k, sink in enumerate(bench.classes):
        assert octets_of(sink.beats) == [octets for octets, kind in good if kind == k]
    left = [[], []]
    for beat in bench.tx.beats:
        if beat["payload"]["last"]:
            left[beat["index"] - 1].append(beat["payload"]["size"])
    assert left == [[len(f) for f in frames] for frames in answers]
    counts, own = bench.counted.counts, [kind is not None for _, kind in sent]
    assert counts["to_switch"] == sum(own)
    assert counts["to_switch_malformed"] == sum(own[n] for n in spoilt)
    assert counts["to_host"] == sum(kind is None for _, kind in good)
    assert counts["to_host_malformed"] == sum(not own[n] for n in spoilt)
    assert counts["from_switch"] == 60
    assert not counts["to_switch_dropped"] + counts["to_host_dropped"]


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_class_that_waits_loses_whole_packets_and_holds_up_no_other(dut):
    bench = await begun(dut)
    bench.classes[0].stall = always
    sent = [random_packet() for _ in range(300)]
    # Of these, more than a path can hold.
    sent += islice((packet for packet in iter(random_packet, None) if packet[1] == 0), 60)
    for octets, _ in sent:
        await bench.rx.send_all(box_beats(octets))
    await bench.wait(20)
    assert octets_of(bench.classes[1].beats) == [octets for octets, kind in sent if kind == 1]
    bench.classes[0].stall = never
    await bench.wait(200)
    reads = [octets for octets, kind in sent if kind == 0]
    passed = octets_of(bench.classes[0].beats)
    remaining = iter(reads)
    assert all(octets in remaining for octets in passed), "they are in order, and none is new"
    assert passed
    assert bench.counted.counts["to_switch_dropped"] == len(reads) - len(passed) > 0
