"""Asks a requester for random reads and writes, resets its function, and logs all that happens."""

from dataclasses import field

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.pcie.descriptors import COMPLETION
from sim.surroundings.chance import random_bits
from sim.surroundings.event_log import EventLog
from tests.hdl.pcie.requester_on_host import RequesterOnHost, RequesterOnHostParams

TABLE = 1 << 17  #: bytes that are read, from address 0 on
WRITES = 1 << 18  #: address of the first slot for writes
SLOT, SLOTS = 64, 4096  #: bytes of a slot for a write, and number of slots
MEMORY = WRITES + SLOT * SLOTS
USER_BITS = 24  #: width of a request's number
CALM = 100  #: cycles without anything under way after which a run is done
AWAY = 800  #: cycles after a reset in which the function is no master of the bus

#: Counts events from the beginning of the run on.
COUNTERS = data.StructLayout(
    dict.fromkeys(("sent", "stranger", "failed", "abandoned", "resets", "writes_lost"), 32)
)


class FaultsOnHostParams(Params, suffix="{on_host.suffix}"):
    """Sets the sizes of the requester and of its host."""

    on_host: RequesterOnHostParams = field(default_factory=RequesterOnHostParams)

    def __post_init__(self) -> None:
        super().__post_init__()
        both = self.on_host.requester
        if {both.reads.user_bits, both.writes.user_bits} != {USER_BITS}:
            raise ValueError(f"user_bits must be {USER_BITS}, for a number of each request")

    @property
    def settings(self) -> data.StructLayout:
        """Describe the settings of a run."""
        return data.StructLayout(
            {
                "host": self.on_host.host.settings,
                "seed": 32,
                "requests": USER_BITS,  # reads in all; the run goes on if this is raised
                "writes": USER_BITS,
                "tick": 16,  # cycles from one tick to the next
                "stall": 8,  # chance in 256 that a beat is not taken in a cycle
                "resets": 16,  # chance in 65,536 that a reset begins in a cycle
            }
        )

    @property
    def logs(self) -> dict[str, EventLog]:
        """Return the logs of a run, by name."""
        reads, user = self.on_host.requester.reads, ("user", USER_BITS)
        place = () if reads.in_order else (("place", 12),)
        fields = {
            "requests": (user, ("address", 32), ("bytes", 13)),
            "reads": (("tag", 8), ("address", 32), ("bytes", 13)),
            "completions": (("descriptor", COMPLETION.size), ("discontinued", 1)),
            "beats": (
                user,
                ("bytes", len(Signal(reads.beat).bytes)),
                ("last", 1),
                ("cause", 4),
                *place,
                ("data", reads.data_bits),
            ),
            "resets": (("step", 2),),  # 0: it begins, 1: it is done, 2: the host lets it go on
            "writes": (user, ("address", 32), ("bytes", 6), ("data", 64)),
            "sent": (user,),
        }
        return {name: EventLog(k, reported) for k, (name, reported) in enumerate(fields.items())}


class FaultsOnHost(Component):
    """Runs reads and writes until there are as many as ``settings`` say; then ``done`` is high.

    Each read is of up to 1,024 bytes anywhere in the table, each write of up to 32 bytes in a slot
    of its own. Resets of the function begin at random; AWAY cycles after a reset is done the
    function is a master of the bus again. All events are logged (:attr:`FaultsOnHostParams.logs`);
    the logs are complete when ``ends`` is high. ``longest`` is the largest number of cycles from
    the beginning of a reset until it was done.
    """

    def __init__(self, params: FaultsOnHostParams) -> None:
        super().__init__(
            params,
            settings=In(params.settings),
            ends=In(1),
            done=Out(1),
            longest=Out(16),
            counters=Out(COUNTERS),
        )

    def build(self, m: Module) -> None:
        m.submodules.card = card = RequesterOnHost(self.params.on_host)
        now, tick = Signal(32), Signal(16)
        chance = random_bits(m, self.settings.seed | (1 << 40), bits=64)
        ticks = tick >= self.settings.tick
        m.d.sync += [now.eq(now + 1), tick.eq(Mux(ticks, 0, tick + 1))]
        m.d.comb += [
            card.settings.eq(self.settings.host),
            card.limits.read.eq(2),
            card.tick.eq(ticks),
            card.dump.eq(self.ends),
            card.beats.ready.eq(chance[56:] >= self.settings.stall),
        ]
        events = {name: card.events[name] for name in card.events.shape().members}
        m.d.sync += [
            self.counters[name].eq(self.counters[name] + happens)
            for name, happens in {**events, "writes_lost": card.writes_lost}.items()
        ]
        busy = self.read(m, card, chance) | self.write(m, card, chance)
        busy |= self.reset(m, card, chance, now) | ~card.idle | card.owes | card.writes_owe
        calm = Signal(range(CALM + 1))
        m.d.comb += self.done.eq(calm == CALM)
        m.d.sync += calm.eq(Mux(busy, 0, Mux(self.done, calm, calm + 1)))
        self.log(m, card, now)

    def read(self, m: Module, card: RequesterOnHost, chance: Value) -> Value:
        """Ask for random reads; return whether more of them will come."""
        requests, requested = card.requests, Signal(USER_BITS)
        request = requests.payload
        some = Signal(10)
        with m.Switch(chance[26:28]):
            for k, mask in enumerate((0x7, 0x3F, 0x1FF, 0x3FF)):
                with m.Case(k):
                    m.d.comb += some.eq(chance[16:26] & mask)
        more = requested != self.settings.requests
        with m.If(~requests.valid | requests.ready):
            m.d.sync += requests.valid.eq(more)
            with m.If(more):
                m.d.sync += [
                    requested.eq(requested + 1),
                    request.user.eq(requested),
                    request.address.eq(Cat(Const(0, 2), chance[: TABLE.bit_length() - 3])),
                    request.bytes.eq(some + 1),
                ]
        return more | requests.valid

    def write(self, m: Module, card: RequesterOnHost, chance: Value) -> Value:
        """Ask for writes of a beat, now and then; return whether more of them will come."""
        writes, beat, requested = card.writes, card.data, Signal(USER_BITS)
        stored = Signal(64)
        more = requested != self.settings.writes
        m.d.comb += beat.payload.eq(Cat(*[stored] * (len(beat.payload) // 64)))
        with m.If(writes.ready):
            m.d.sync += writes.valid.eq(0)
        with m.If(beat.ready):
            m.d.sync += beat.valid.eq(0)
        with m.If(more & ~writes.valid & ~beat.valid & (chance[40:44] == 0)):
            m.d.sync += [
                requested.eq(requested + 1),
                writes.valid.eq(1),
                beat.valid.eq(1),
                stored.eq(chance),
                writes.payload.user.eq(requested),
                writes.payload.bytes.eq(chance[:5] + 1),
                writes.payload.address.eq(Cat(chance[5:10], Const(0, 1), requested[:12]) + WRITES),
            ]
        return more | writes.valid | beat.valid

    def reset(self, m: Module, card: RequesterOnHost, chance: Value, now: Signal) -> Value:
        """Reset the function at random, as a host does; return whether a reset goes on."""
        function, since = card.function, Signal(16)
        runs, begins, done, ends, lives = (Signal() for _ in range(5))
        m.d.sync += [since.eq(since + 1), lives.eq(1)]
        expected = lives & ~self.done & (chance[32:48] < self.settings.resets)
        m.d.comb += [card.resets.eq(~runs), begins.eq(runs & expected)]
        with m.FSM():
            with m.State("RUN"):
                m.d.comb += [runs.eq(1), function.master.eq(1)]
                m.d.sync += since.eq(0)
                with m.If(begins):
                    m.d.sync += self.counters.resets.eq(self.counters.resets + 1)
                    m.next = "RESET"
            with m.State("RESET"):
                m.d.comb += [function.in_process.eq(1), function.master.eq(1)]
                with m.If(function.done):
                    m.d.comb += done.eq(1)
                    m.d.sync += since.eq(0)
                    with m.If(since > self.longest):
                        m.d.sync += self.longest.eq(since)
                    m.next = "AWAY"
            with m.State("AWAY"), m.If(since == AWAY):
                m.d.comb += ends.eq(1)
                m.next = "RUN"
        happens = begins | done | ends
        self.params.logs["resets"].add(m, now, self.ends, happens, {"step": Cat(done, ends)})
        return ~runs

    def log(self, m: Module, card: RequesterOnHost, now: Signal) -> None:
        """Log all that is asked for, sent and answered."""
        request, beat, write = card.requests, card.beats, card.writes
        read, completion = card.traffic.read, card.traffic.completion
        happens = {
            "requests": request.valid & request.ready,
            "reads": read.valid,
            "completions": completion.valid,
            "beats": beat.valid & beat.ready,
            "writes": write.valid & write.ready,
            "sent": card.sent.valid,
        }
        reported = {
            "requests": {
                "user": request.payload.user,
                "address": request.payload.address[:32],
                "bytes": request.payload.bytes,
            },
            "reads": {"tag": read.tag, "address": read.address[:32], "bytes": read.bytes},
            "completions": {
                "descriptor": completion.descriptor,
                "discontinued": completion.discontinued,
            },
            "beats": {name: beat.payload[name] for name, _ in self.params.logs["beats"].fields},
            "writes": {
                "user": write.payload.user,
                "address": write.payload.address[:32],
                "bytes": write.payload.bytes[:6],
                "data": card.data.payload[:64],
            },
            "sent": {"user": card.sent.user},
        }
        for name, valid in happens.items():
            self.params.logs[name].add(m, now, self.ends, valid, reported[name])
