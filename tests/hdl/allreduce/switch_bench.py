"""Surrounds a switch of AllReduces of many numbers with its golden model and traffic."""

import random
from collections import defaultdict, deque
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from hdl.allreduce.switch_params import AllReduceSwitchParams
from sim.allreduce.switch_side import switch_side
from sim.golden.reduction.frames import ACKED, IS_AGG, Quality
from sim.golden.reduction.wide_frames import MOST, Operation, WideFrame, judge, wire_bytes
from sim.golden.reduction.wide_rule import WideSlot
from sim.golden.reduction.wide_switch import EMPTY, WideSwitchModel
from sim.harness.axi_streams import AxiSource, PacketSink, beats_of
from sim.harness.host_program import HostProgram
from sim.harness.records import Recorder
from sim.harness.streams import Stalls, start
from sim.harness.verilator import component_in_simulator
from sim.host.switch.traffic import bits_of, choose_packet, choose_payload

ORDER = ["verdict", "sender"]  #: registers that show in which order packets enter a bank


class SwitchBench:
    """Drives the ports of a switch, and keeps what leaves and in which order banks took packets."""

    def __init__(self, dut, stalls=Stalls.NONE):
        self.dut, self.component = dut, component_in_simulator()
        self.params: AllReduceSwitchParams = self.component.params
        ports, slots, jobs = self.params.ports, self.params.slots, self.params.jobs
        self.most = self.params.most_numbers
        addresses = random.randbytes(6), random.randbytes(6)
        self.model = WideSwitchModel(ports, slots, jobs, *addresses, most=self.most)
        source, sink = stalls
        self.sources = [AxiSource(dut, f"s_axis_{k}", stall=source) for k in range(ports)]
        self.sinks = [PacketSink(dut, f"m_axis_{k}", stall=sink) for k in range(ports)]
        self.shapes = {}  #: operation and count of the sums of a slot, by slot and parity

    async def begin(self):
        dut = self.dut
        await start(dut)
        self.taken = []
        for k in range(self.params.banks):
            bank = getattr(dut, f"bank_{k}").bank
            ports = {"verdict": bank.verdict, "sender": bank.sender}
            where = SimpleNamespace(clk=dut.clk, rst=dut.rst, **ports)
            self.taken.append(Recorder(where, "verdict", dict.fromkeys(ports)))
        self.host = HostProgram(dut, "s_axil", switch_side(self.params))
        await self.host.set_addresses(self.model.address, self.model.group)
        await self.host.clear_counters()
        return self

    async def start_job(self, job, *, ports, epoch, base, slots):
        refused = self.model.start_job(job, ports=ports, epoch=epoch, base=base, count=slots)
        assert refused is None
        await self.host.start_job(job, ports=bits_of(ports), epoch=epoch, base=base, slots=slots)

    async def stop_job(self, job):
        self.model.stop_job(job)
        await self.host.stop_job(job)

    def frame(self, port, job, seq, use, **changes):
        """Return a legal frame of the worker at ``port``, apart from ``changes``."""
        fields = {"destination": self.model.address, "source": bytes([2, 0, 0, 0, 0, port])}
        fields |= {"bm": 1 << port, "job": job, "seq": seq, "use": use}
        fields["epoch"] = self.model.active[job].epoch if job in self.model.active else 0
        return WideFrame(**(fields | changes))

    def drawn(self, longest=None, model=None):
        """Draw a frame of an active job that its slot may wait for: port and frame."""
        longest = longest or self.most
        number, job = random.choice(list((model or self.model).active.items()))
        seq = random.choice([*job.places][:4])
        slot = job.slots.get(seq) or WideSlot.at_start(job.ports, EMPTY)
        is_agg, worker, use = choose_packet(random, slot, job.ports)
        if slot.agg_bm == job.ports and random.random() < 0.6:  # without acknowledgements
            is_agg, use = True, (slot.use + 1) % 256
        if not is_agg:
            return worker, self.frame(worker, number, seq, use)
        lengths = (1, 6, 7, 8, 9, 24, 25, longest, random.randint(1, longest))
        shape = random.randrange(len(Operation)), min(longest, random.choice(lengths))
        key = number, seq, use
        shape = self.shapes.setdefault(key, shape) if random.random() < 0.95 else shape
        payload = np.array(choose_payload(random, shape[1]))
        fields = {"flags": IS_AGG, "operation": shape[0], "numbers": payload}
        return worker, self.frame(worker, number, seq, use, **fields)

    def send(self, port, data, corrupt=False):
        self.sources[port].extend([*beats_of(data, corrupt=corrupt)])

    def judge(self, data, corrupt):
        """Return what a port has to say of a frame."""
        return judge(data, corrupt, self.model.address, self.most)

    def bank_of(self, data, corrupt):
        """Return the bank that a frame comes to; None if its port drops it."""
        if self.judge(data, corrupt) is not Quality.GOOD:
            return None
        frame = WideFrame.from_bytes(data)
        return None if frame.flags & ACKED else frame.seq % self.params.banks

    def in_order(self, frames):
        """Yield ports and frames in the order in which banks took them."""
        waiting = defaultdict(deque)
        for port, some in enumerate(frames):
            for item in some:
                if (bank := self.bank_of(*item)) is None:
                    yield port, item
                else:
                    waiting[bank, port].append(item)
        for bank, recorder in enumerate(self.taken):
            for beat in recorder.beats:
                port = int(beat["sender"]).bit_length() - 1
                yield port, waiting[bank, port].popleft()
        assert not any(waiting.values())

    def forget(self):
        """Forget what has left, and in which order packets were taken."""
        for recorder in self.taken:
            recorder.beats.clear()
        self.before = [len(sink.packets) for sink in self.sinks]

    def compare(self, frames):
        """Compare what has left with the model's answers, in order for each port and bank."""
        expected, result = defaultdict(list), defaultdict(list)
        for port, (data, corrupt) in frames:
            for to, answer in self.model.take(port, data, corrupt=corrupt):
                expected[to, WideFrame.from_bytes(answer).seq % self.params.banks].append(answer)
        for to, sink in enumerate(self.sinks):
            for packet in sink.packets[self.before[to] :]:
                data = packet.octets
                result[to, WideFrame.from_bytes(data).seq % self.params.banks].append(data)
        assert result == expected

    async def check_counters(self, dropped=0):
        """Compare all counters with those of the model."""
        result = await self.host.verdicts()
        golden = {port: dict.fromkeys(counts, 0) for port, counts in result.items()}
        for (port, verdict), count in self.model.counters.items():
            golden[port][verdict.name] = count
        assert result == golden
        assert await self.host.read("saturations") == self.model.saturations
        counts = await self.host.port_counters()
        assert sum(row["overflows"] for row in counts.values()) == 0
        assert sum(row["answers_dropped"] for row in counts.values()) == dropped
        sent = {port: row["answers_sent"] for port, row in counts.items()}
        assert sent == {port: len(sink.packets) for port, sink in enumerate(self.sinks)}


def mutated(frame, most=MOST):
    """Return the bytes of a frame with a change, and whether its checksum is wrong.

    A frame has at most ``most`` numbers.
    """
    kind, data = random.randrange(6), frame.to_bytes()
    if kind == 0:
        return data, True
    if kind == 1:  # cut, or longer
        longest = wire_bytes(most)
        some = longest, longest + 1, random.randint(1, longest + 150)
        length = random.choice((1, 14, 15, 31, 59, 61, 64, 65, *some))
        return (data + random.randbytes(length))[:length], False
    if kind == 2:
        at = random.randrange(min(len(data), 32))
        return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :], False
    changes = {
        "bm": random.choice((0, 3, frame.bm << 1, 0xFFFFFFFF)),
        "job": random.choice((frame.job ^ 1, random.getrandbits(8))),
        "epoch": random.getrandbits(16),
        "seq": random.choice((0, random.getrandbits(16), frame.seq ^ 8)),
        "operation": random.randrange(6),
        "saturated": random.getrandbits(16),
        "flags": random.choice((0, ACKED, ACKED | IS_AGG, 4, 0x80 | IS_AGG)),
        "source": random.randbytes(6),
    }
    name = random.choice([*changes])
    return replace(frame, **{name: changes[name]}).to_bytes(), False
