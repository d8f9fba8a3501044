"""Runs SwitchGNN endpoints' host software on the RTL: the guide's known answer, and counters."""

from collections import Counter
from functools import partial

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from gen.guides.switchgnn_endpoint import values
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import Kind
from sim.host.device import write_wide
from sim.switchgnn.host.gnn_frames import KIND_AT
from sim.switchgnn.host.turns import Send, Turn
from sim.switchgnn.network.wires import Faults
from tests.gen.guides.bench import octets_of
from tests.hdl.switchgnn.endpoint.bench import EPOCH, JOB, Bench, run_cluster

BAD = {"lose": 0.2, "double": 0.2, "late": 0.3}
#: verdicts that no frame of an endpoint meets at the switch
WRONG = {"AHEAD", "EARLY", "MISPLACED", "WRONG_RUN", "WRONG_WORKER", "WRONG_JOB"}
WRONG |= {"MALFORMED", "FOREIGN"}


def test_the_host_software_drives_endpoints(tmp_path):
    run_cluster(__name__, tmp_path, PRESETS["tiny"])


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(two=[0, 1], faults=[{}, BAD])
async def counters_say_what_was_sent_and_taken(dut, two, faults):
    bench = Bench(dut, Faults(**faults))
    await bench.begin()
    cut = bench.cut(open_turns=1 + two)
    await bench.launch(cut)
    switch = bench.switch
    await bench.finish(cut)
    assert not WRONG & {verdict.name for _, verdict in switch.counters}
    for worker, wire in zip(bench.workers, bench.wires, strict=True):
        counts, setup = await worker.counters(), cut.worker(worker.port, JOB, EPOCH).setup
        sent = Counter(Kind(octets[KIND_AT]).name.lower() for _, _, octets in wire.sent)
        assert {k: counts[f"sent_{k}"] for k in sent} == sent
        shares = [setup.share(turn) for turn in range(cut.turns)]
        assert counts["taken_sum"] == sum(len(share.sums) for share in shares)
        assert counts["taken_feature"] == sum(len(share.copies) for share in shares)
        assert counts["turns"] == cut.turns


def bytes_of(lines):
    """Return bytes that the guide shows in lines."""
    return bytes.fromhex("".join(line.partition(":")[2] for line in lines))


def start_by_package(endpoint, known):
    """Start the known answer's job; its tables are those of the guide, but for addresses."""
    turn = Turn(sends=[Send(list=0, rows=1, source=known["vertex"])], sums=[known["aggregator"]])
    endpoint.load([turn])
    feature = np.zeros((1, endpoint.build.fixed["lanes"]), int)
    reported = np.frombuffer(bytes.fromhex(known["feature"]), "<i2")
    feature[0, : len(reported)] = reported
    endpoint.write_payloads(0, feature)
    sends, expected, sources, _ = (octets for _, octets in endpoint.layout.tables)
    source = bytes_of(known["memory"]["source"])
    assert sends == bytes_of(known["memory"]["send"])
    assert sources[8 * known["vertex"] :][:8] == source
    assert int.from_bytes(expected, "little") == int(known["required"], 16)
    endpoint.start(known["job"], epoch=known["epoch"], port=known["bm"].bit_length() - 1)
    return endpoint.layout.placed[0].sums + known["aggregator"] * 4 * feature.size


def start_by_guide(endpoint, known):
    """Start the job from memory that holds what the guide shows, where it shows it."""
    at = {name: int(address, 16) for name, address in known["addresses"].items()}
    at |= {"turn": 0, "send": at["list"], "source": int(known["source_at"], 16)}
    assert at["source"] == at["sources"] + 8 * known["vertex"]
    tables = bytearray(at["sources"] + 1024)
    for name, lines in known["memory"].items():
        octets = bytes_of(lines)
        tables[at[name] : at[name] + len(octets)] = octets
    tables[at["required"] : at["required"] + 4] = int(known["required"], 16).to_bytes(4, "little")
    endpoint.device.write_memory(0, bytes(tables))
    features = endpoint.build.region("features").dma + at["features"]
    endpoint.device.write_memory(features, bytes.fromhex(known["feature"]).ljust(64, b"\0"))
    write_wide(endpoint.registers, program=0)
    endpoint.registers.write(job=known["job"], epoch=known["epoch"])
    endpoint.registers.write(worker=known["bm"], turns=1, two_open=0, ready_turns=1)
    endpoint.registers.write(start=1)
    return int(known["sum_at"], 16)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(start_job=[start_by_package, start_by_guide])
async def the_known_answer_of_the_guide_is_right(dut, start_job):
    known, heard = values(PRESETS["tiny"])["known"], []
    bench = Bench(dut)
    await bench.begin()
    bench.wires[0].taken = lambda port, octets: heard.append(octets)
    endpoint = bench.workers[0]
    await endpoint.set_up()
    await endpoint.set_addresses(*(bytes.fromhex(known[k]) for k in ("own", "switch")))
    place = await endpoint.do(partial(start_job, known=known))
    for step in known["steps"]:
        if step["way"] == "comes":
            bench.wires[0].send(octets_of(step))
            continue
        while not heard:
            await ClockCycles(dut.clk, 10)
        assert heard.pop(0) == octets_of(step), step["kind"]
    await ClockCycles(dut.clk, 200)

    assert (await endpoint.read("state")).name == "FINISHED"
    total, sums = bytes.fromhex(known["sum"]), endpoint.side.description.region("sums")
    present = sums.dma - sums.address + place
    assert await endpoint.memory.read_memory(present, len(total)) == total
