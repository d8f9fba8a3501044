"""Puts a requester into a slot of a host that others wrote."""

import random

from hdl.pcie.requester import Requester, RequesterParams
from sim.golden.pcie_requester import Cause
from sim.harness.payloads import pack
from sim.harness.records import Reports
from sim.harness.streams import Sink, Source
from sim.harness.verilator import params_in_simulator
from sim.surroundings.pcie_host import HostModel
from tests.hdl.pcie.rq_monitor import RqMonitor, beats_of

MEMORY, PLACE = 1 << 16, 1 << 13  #: bytes, in all and of which a write takes some


class Card:
    """A card with the requester in a slot of a root complex, whose memory has random bytes."""

    def __init__(self, dut, stall, *more, **options):
        self.dut, self.both = dut, params_in_simulator(RequesterParams)
        self.params = self.both.reads
        for name in ("requests_valid", "writes_valid", "data_valid", "beats_ready", "tick", "stop"):
            getattr(dut, name).value = 0
        dut.clear_writes.value = dut.share.value = 0
        dut.credits.value = 15  # the model's block does not tell
        self.model = HostModel(dut, "rq", "rc", *more, max_payload_size=1024, **options)
        self.root = self.model.root
        self.bytes = bytearray(random.randbytes(MEMORY))
        self.memory, self.base = self.model.memory(self.bytes)
        self.requests = Source(dut, "requests")
        self.beats = Sink(dut, "beats", stall=stall)
        self.writes, self.data = Source(dut, "writes"), Source(dut, "data")
        self.gone, self.reports = (  # writes, and those that nothing can pass any more
            Reports(dut, name, self.both.writes.sent) for name in ("sent", "visible")
        )
        self.rq = RqMonitor(dut, stall=None)
        self.required, self.written = [], 0
        self.limits = 0, 0  # codes of sizes of reads, of payloads

    async def begin(self, read_size, payload):
        """Let the host set the device up; sizes are codes: 128 bytes << code."""
        self.limits = read_size, payload
        limits = Requester(self.both).limits.shape()
        self.dut.limits.value = pack(limits, {"read": read_size, "payload": payload})
        return await self.model.begin(read_size, payload)

    def issue(self, address, size):
        self.requests.append({"address": address, "bytes": size, "user": len(self.required) % 256})
        self.required.append((address, size))

    def write(self, offset, payload):
        """Write bytes after those at the start of the memory."""
        user = self.written % 256
        self.written += 1
        self.writes.append({"address": self.base + offset, "bytes": len(payload), "user": user})
        self.data.extend(beats_of(payload, self.params.data_bits // 8))
        self.bytes[offset : offset + len(payload)] = payload

    @property
    def sent(self):
        """Return the number of writes that have gone."""
        return len(self.gone.result)

    @property
    def visible(self):
        return [item["user"] for item, _ in self.reports.result]

    async def finish(self):
        """Every request is answered: with its bytes, or with none of them and a cause."""
        while (missing := len(self.required) - sum(beat["last"] for beat in self.beats.beats)) > 0:
            await self.beats.wait_for(len(self.beats.beats) + missing)
        for packet in self.rq.packets:
            assert 4 * packet.result["dwords"] <= 128 << self.limits[packet.writes]
        causes, beats = [], iter(self.beats.beats)
        for k, (address, size) in enumerate(self.required):
            data, last = b"", False
            while not last:
                beat = next(beats)
                assert beat["user"] == k % 256
                data += beat["data"].to_bytes(self.params.data_bits // 8, "little")[: beat["bytes"]]
                last = beat["last"]
            assert len(data) == size
            causes.append(Cause(int(beat["cause"].value)))
            if not causes[-1]:
                assert data == self.bytes[address - self.base :][:size]
        return causes
