"""Models a port of the switch, cycle by cycle, as it takes frames that are good or broken."""

import random
from dataclasses import replace

from hdl.p4sgd.switch.params import SwitchParams
from sim.golden.reduction.frames import ACKED, BYTES, HEADER_BYTES, IS_AGG, LAYOUT, WireFrame, judge
from sim.host.switch.traffic import choose_payload
from tests.hdl.p4sgd.switch.bench import BEAT_BYTES, Arrival

AXIS = ("tvalid", "tdata", "tkeep", "tlast", "tuser")


def some_frame(address, bit, params):
    """Draw bytes that are legal or nearly so; return them, and whether they are corrupt."""
    frame = WireFrame(
        destination=address,
        source=random.randbytes(6),
        is_agg=random.random() < 0.5,
        acked=random.random() < 0.1,
        bm=bit,
        job=random.randrange(params.jobs + 1),
        epoch=random.choice((0, *[random.getrandbits(16)] * 9)),
        seq=random.choice((0, *[random.getrandbits(16)] * 9)),
        use=random.getrandbits(8),
        payload=choose_payload(random, 8, random.choice((params.value_bits, 32))),
    )
    kind = random.randrange(10)
    if kind == 0:
        frame = replace(frame, job=random.getrandbits(16))
    elif kind == 1:
        frame = replace(frame, bm=bit ^ 1 << random.randrange(32))
    elif kind == 2:
        frame = replace(frame, bm=random.getrandbits(32), saturated=random.getrandbits(8))
    data = frame.to_bytes()
    if kind == 3:
        data = random.randbytes(60)
    elif kind == 4:
        data = (data + random.randbytes(140))[: random.choice((14, 15, 59, 61, 64, 65, 128, 190))]
    elif kind == 5:
        at = random.randrange(16)
        data = data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
    return data, random.random() < 0.1


def entry(data, corrupt, address, bit, params: SwitchParams):
    """Return a packet as it is queued."""
    quality = judge(data, corrupt, address).name
    fields = LAYOUT.unpack((data + bytes(BYTES))[:BYTES])
    _, _, _, _, flags, bm, job, epoch, seq, use, saturated, *payload = fields
    if quality == "GOOD" and (flags & ACKED or saturated):  # only a switch says so
        quality = "MALFORMED"
    half = 1 << params.value_bits - 1
    return {
        "quality": quality,
        "own": int(bm == bit),
        "known": int(job < params.jobs),
        "header": {
            "job": job % (1 << params.job_bits),
            "epoch": epoch,
            "seq": seq,
            "use": use,
            "is_agg": flags & IS_AGG,
        },
        "payload": [(value + half) % (2 * half) - half for value in payload[: params.lanes]],
    }


def agrees(result, golden):
    """Whether a packet is the expected one; if it is not good, only its quality counts."""
    result = {**result, "quality": result["quality"].name}
    return result["quality"] == golden["quality"] and (
        result["quality"] != "GOOD" or result == golden
    )


class PortModel:
    """A queue after a filter. ``beat`` is driven in a cycle, and :meth:`step` ends the cycle."""

    def __init__(self, dut, bus, params, port=0):
        self.handles = [getattr(dut, f"{bus}_{name}") for name in AXIS]
        self.ready = getattr(dut, f"{bus}_tready")
        self.params, self.port = params, port
        self.beats = []  # of the packet that is coming
        self.coming = None
        self.judged = None  # what the filter reports in this cycle
        self.queue = []
        self.load = 0.5  # how often a packet begins
        self.last = False  # the beat of this cycle

    @property
    def still(self):
        """Whether nothing is on its way to the queue."""
        return not self.beats and not self.last and self.judged is None

    def drive(self, address, bit):
        """Drive a beat, or garbage that is not valid."""
        if not self.beats and random.random() < self.load:
            data, corrupt = some_frame(address, bit, self.params)
            self.beats = Arrival(self.port, data, corrupt).beats()
            if len(data) == BYTES and random.random() < 0.3:
                data = self.with_another_keep(data)
            self.coming = data, corrupt, address, bit
        self.last = False
        if self.beats and random.random() < 0.9:
            tdata, tkeep, self.last, tuser = self.beats.pop(0)
            values = 1, tdata, tkeep, self.last, tuser
        else:
            garbage = random.getrandbits(8 * BEAT_BYTES), random.getrandbits(BEAT_BYTES)
            values = 0, *garbage, random.getrandbits(1), random.getrandbits(1)
        for handle, value in zip(self.handles, values, strict=True):
            handle.value = value

    def with_another_keep(self, data):
        """Return bytes judged like the frame with a flipped bit of its keep: not 60 of them."""
        at = random.randrange(BEAT_BYTES)
        tdata, tkeep, *flags = self.beats[0]
        self.beats[0] = tdata, tkeep ^ 1 << at, *flags
        return data[:at] if at == HEADER_BYTES - 1 else data + b"."

    @property
    def overflow(self):
        """Whether a packet is lost in this cycle."""
        return self.judged is not None and len(self.queue) == self.params.ingress_fifo.capacity

    def step(self, taken):
        """End a cycle in which the queue's first packet may have been ``taken``."""
        assert self.ready.value
        queued = self.judged is not None and not self.overflow
        if taken:
            self.queue.pop(0)
        if queued:
            self.queue.append(self.judged)
        self.judged = entry(*self.coming, self.params) if self.last else None
