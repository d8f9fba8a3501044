"""Holds captures of links against what a bench sent and took, and against the links' counters."""

import json
import random
from itertools import accumulate
from pathlib import Path

import cocotb

from hdl.netsparse.snic_counters import CLASSES
from sim.harness.axi_streams import AxiSink, AxiSource, PacketSink, beats_of
from sim.harness.bench import Bench
from sim.harness.captures import CAPTURES, capture_of, frames_of, taps_of
from sim.harness.clock import PERIOD_NS
from sim.harness.environment import changed
from sim.harness.in_simulator import FINDINGS, report
from sim.harness.payloads import pack
from sim.harness.streams import edges, start
from sim.harness.verilator import emission_of, simulate
from sim.netsparse.surroundings.link import LINK_SETTINGS, SharedLink
from sim.netsparse.surroundings.link import LinkParams as SharedLinkParams
from sim.surroundings.link import ALWAYS, Link, LinkParams
from tests.sim.harness.captured_frames import IN, OUT, read

BEAT_BYTES = 16
SMALL = LinkParams(depth=64, holds=2, beats=5, data_bits=8 * BEAT_BYTES)


def captured(component, tests, folder):
    """Simulate with probes; return the frames of the capture, and what the bench reports."""
    reported = folder / "reported.json"
    options = {"test_filter": tests, "folder": folder, "env": {FINDINGS: str(reported)}}
    with changed({CAPTURES: "1"}):
        simulate(component, __name__, **options)
    return read(capture_of(folder)), json.loads(reported.read_text())


def test_a_link_that_loses_and_breaks(tmp_path):
    frames, reported = captured(Link(SMALL), "link_with_faults", tmp_path)
    for end, direction, fate, counter in (
        ("i", OUT, "dropped by the link", "dropped"),
        ("o", IN, "corrupted by the link", "corrupted"),
    ):
        seen = [frame for frame in frames if frame[0] == end]
        assert [(octets.hex(), ns) for _, ns, octets, _, _ in seen] == [
            (octets, cycle * PERIOD_NS) for octets, cycle in reported[end]
        ]
        assert {each[3] for each in seen} == {direction}
        assert sum(each[4] == [fate] for each in seen) == reported[counter] > 3
        assert sum(not each[4] for each in seen) == len(seen) - reported[counter] > 3
    assert [frame[1] for frame in frames] == sorted(frame[1] for frame in frames)
    (file,) = (tmp_path / "frames").glob("*.o.*")
    assert [broken for _, _, broken, _ in frames_of(file)] == reported["broken"]


def test_a_shared_link(tmp_path):
    frames, reported = captured(SharedLink(SharedLinkParams()), "both_classes", tmp_path)
    for kind in CLASSES:
        sent = [(o.hex(), c) for end, _, o, _, c in frames if end == f"{kind}_i"]
        lost = ["dropped by the link"] * (kind == "reads")
        assert sent == [(o, lost * (k == 1)) for k, o in enumerate(reported[kind])]
        came = [o.hex() for end, _, o, _, _ in frames if end == f"{kind}_o"]
        assert came == [o for k, o in enumerate(reported[kind]) if not (lost and k == 1)]


def test_no_probe_is_built_unless_the_environment_says_so():
    emission = emission_of(Link(SMALL))
    assert taps_of(emission) == {}
    with changed({CAPTURES: "1"}):
        assert [*taps_of(emission)] == [emission.top.name]


def test_a_capture_that_was_cut_ends_with_a_whole_frame(tmp_path):
    """A probe's file may end anywhere."""
    captured(Link(SMALL), "link_with_faults", tmp_path)
    whole = read(capture_of(tmp_path))
    (file,) = (tmp_path / "frames").glob("*.o.*")
    content = file.read_bytes()
    for size in (0, 3, 4, 50, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:size])
        frames = [frame for frame in read(capture_of(tmp_path)) if frame[0] == "o"]
        assert frames == [frame for frame in whole if frame[0] == "o"][: len(frames)]
        assert (len(frames) > 3) == (size > 50)
    assert capture_of(Path(tmp_path, "frames")) is None


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def link_with_faults(dut):
    bench = Bench(dut, index=3)
    bench.o = PacketSink(dut, "o")
    await bench.begin()
    bench.set(settings={"latency": 7, "drop": ALWAYS // 4, "corrupt": ALWAYS // 4, "seed": 5})
    packets = [random.randbytes(random.randint(1, 5 * BEAT_BYTES)) for _ in range(60)]
    await bench.i.send_all(
        beat for octets in packets for beat in beats_of(octets, beat_bytes=BEAT_BYTES)
    )
    await edges(dut.clk, 100)
    firsts = [0, *accumulate(-(-len(octets) // BEAT_BYTES) for octets in packets)]
    came = [(packet.octets.hex(), packet.cycles[0]) for packet in bench.o.packets]
    report(
        {
            "i": [(o.hex(), int(bench.i.cycles[k])) for o, k in zip(packets, firsts, strict=False)],
            "o": came,
            "broken": [packet.corrupt for packet in bench.o.packets],
            **{name: int(getattr(dut, name).value) for name in ("dropped", "corrupted")},
        }
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def both_classes(dut):
    sources = {kind: AxiSource(dut, f"{kind}_i") for kind in CLASSES}
    _ = [AxiSink(dut, f"{kind}_o") for kind in CLASSES]
    dut.index.value = 0
    dut.settings.value = pack(LINK_SETTINGS, {"latency": 9, "reads": {"drop": 1, "drop_at": 1}})
    await start(dut)
    sent = {kind: [random.randbytes(60 + 40 * k) for k in range(6)] for kind in CLASSES}
    for kind, source in sources.items():
        source.extend([beat for octets in sent[kind] for beat in beats_of(octets)])
    await edges(dut.clk, 300)
    report({kind: [octets.hex() for octets in each] for kind, each in sent.items()})
