import random
from itertools import pairwise

import cocotb

from hdl.common.rings import Fault
from hdl.netsparse.queue.completion_ring import CompletionRing
from hdl.netsparse.queue.params import ENTRY_BYTES, NO_UNIT
from hdl.netsparse.rig.params import Cause
from sim.harness.bench import Bench
from sim.harness.streams import start
from sim.netsparse.golden.rings import ENTRY
from tests.hdl.common.ring_host import CLOSED, INDICES, RingHost
from tests.hdl.netsparse.rig.bench import THREE_UNITS
from tests.hdl.stateful import follow
from tests.hdl.wrapped import Wrapped
from tests.simulated import simulated


class WrappedRing(Wrapped):
    kind = CompletionRing


REGISTERS = ["sent", "written", "under_way"]
test_completion_ring = simulated(WrappedRing, [THREE_UNITS], __name__, registers=REGISTERS)


def completion():
    return {
        "unit": random.randrange(NO_UNIT + 1),
        "completion": {"tag": random.getrandbits(16), "cause": random.choice(list(Cause))},
    }


class Model:
    """Is a completion ring, with its host and the host's memory.

    An entry waits to be written, then is on its way until the memory says that it is done. More
    seem to be ``beside`` these, by a preset.
    """

    def __init__(self, params):
        self.host = RingHost(ENTRY_BYTES, params.rig.address_bits)
        self.faults, self.times_full = set(), 0
        self.reset()

    def reset(self):
        self.is_open = self.settled = False
        self.sent = self.written = self.unread = self.index = self.on_path = self.irq = 0
        self.beside, self.waiting, self.fault = 0, None, Fault.NONE
        self.host.ring = dict(CLOSED)

    def preset(self):
        """Draw who is slow; let an open ring have come to where its indices carry, or wrap."""
        self.provided, self.taken, self.done = (random.choice((0.1, 0.5, 1)) for _ in range(3))
        self.reads, self.fails = random.choice((0.05, 0.3)), random.choice((0, 0, 0.05))
        self.beside = random.choice((0, 0, 0, 1 << random.randrange(16)))
        if self.is_open and random.random() < 0.7:
            step = self.host.jump(self.sent)
            self.sent = (self.sent + step) % INDICES
            self.written = (self.written + step) % INDICES
        under_way = self.under_way % INDICES
        presets = {"sent": self.sent, "written": self.written, "under_way": under_way}
        return {f"part.{name}": value for name, value in presets.items()}

    @property
    def under_way(self):
        return self.on_path + (self.waiting is not None) + self.beside

    @property
    def busy(self):
        return self.is_open or self.under_way > 0

    @property
    def full(self):
        return self.is_open and self.settled and self.unread == self.host.places

    @property
    def takes(self):
        is_right = self.fault is Fault.NONE and not self.host.is_misplaced
        has_room = self.settled and self.waiting is None and self.unread < self.host.places
        return self.is_open and is_right and has_room

    def draw(self):
        if self.is_open and self.host.ring["enable"]:
            self.read()
        elif not self.busy:
            self.host.draw()
        elif not self.is_open and random.random() < 0.05:
            self.host.ring |= {"enable": 1, "index": 0}  # it opens when all has come to its end
        done = self.on_path > 0 and random.random() < self.done
        return {
            "ring": dict(self.host.ring),
            "completions_valid": int(random.random() < self.provided),
            "completions_payload": completion(),
            "consumer": random.randrange(INDICES),
            "writes_ready": int(random.random() < self.taken),
            "done": int(done),
            "write_failed": int(random.random() < self.fails if done else random.getrandbits(1)),
            "rst": int(random.random() < 0.001),
        }

    def read(self):
        """Close the ring, or read entries that are written, or more than there are."""
        chance, read = random.random(), self.host.ring["index"]
        unread = (self.written - read) % INDICES
        if chance < (0.01 if self.fault is Fault.NONE else 0.1):
            self.host.close()
        elif chance < 0.02:
            over = random.choice((1, 2, random.randrange(1, INDICES)))
            self.host.set_index(self.sent - self.host.places - over)
        elif chance < self.reads:
            self.host.set_index(read + random.choice((0, random.randint(0, unread), unread)))

    def outputs(self, inputs):
        shown = {"completions_ready": int(self.takes), "full": int(self.full)}
        shown |= {"writes_valid": int(self.waiting is not None), "busy": int(self.busy)}
        shown |= {"written": self.written, "irq": self.irq, "fault": self.fault}
        return shown if self.waiting is None else shown | {"writes_payload": self.waiting}

    def step(self, inputs):
        if inputs["rst"]:
            self.reset()
            return
        index, was_open, fault, busy = inputs["ring"]["index"], self.is_open, self.fault, self.busy
        takes = self.takes and inputs["completions_valid"]
        is_old = self.written != index or fault is not Fault.NONE
        self.irq = int(was_open and self.index == index and is_old)
        self.times_full += self.full
        self.judge(inputs)
        self.index, self.unread = index, (self.sent - index) % INDICES
        self.settled = was_open and not takes
        if inputs["done"]:
            self.on_path -= 1
            good = not inputs["write_failed"] and fault is Fault.NONE
            self.written = (self.written + good) % INDICES
        if self.waiting is not None and inputs["writes_ready"]:
            self.waiting, self.on_path = None, self.on_path + 1
        if takes:
            self.waiting = self.write_of(inputs)
            self.sent = (self.sent + 1) % INDICES
        if was_open or busy:
            self.is_open = was_open and inputs["ring"]["enable"]
        elif inputs["ring"]["enable"]:
            self.is_open, self.sent, self.written = True, 0, 0

    def judge(self, inputs):
        """Keep the first fault of an open ring, or that a write has failed."""
        if not self.is_open:
            self.fault = Fault.NONE
        elif inputs["done"] and inputs["write_failed"]:
            self.fault = Fault.WRITE
        elif self.fault is Fault.NONE and self.host.is_misplaced:
            self.fault = Fault.ADDRESS
        elif self.fault is Fault.NONE and self.settled and self.unread > self.host.places:
            self.fault = Fault.OVERRUN
        self.faults.add(self.fault)

    def write_of(self, inputs):
        """Return the write of the entry of what is taken; its phase is 1 in each other round."""
        provided = inputs["completions_payload"]
        tag, cause = provided["completion"].values()
        phase = 1 - self.sent // self.host.places % 2
        entry = ENTRY.pack(tag, provided["unit"], cause.value, inputs["consumer"], phase << 7)
        return {
            "address": self.host.place(self.sent),
            "bytes": ENTRY_BYTES,
            "last": 1,
            "data": int.from_bytes(entry, "little"),
        }


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def writes_entries_as_the_model_does(dut):
    model = Model(Bench(dut).params)
    await start(dut)
    await follow(dut, model, runs=600, cycles=60)
    assert model.faults == set(Fault)
    assert model.times_full > 500


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_entry_every_three_cycles(dut):
    bench = Bench(dut, ring={"enable": 1, "size": 6})
    await bench.begin()
    bench.completions.extend([completion() for _ in range(30)])
    await bench.writes.wait_for(30)
    taken, sent = bench.completions.cycles, bench.writes.cycles
    assert {after - before for before, after in pairwise(taken)} <= {2, 3}
    assert [at - CompletionRing.latency for at in sent] == taken
