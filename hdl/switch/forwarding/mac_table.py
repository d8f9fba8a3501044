"""Finds the port of a MAC address, for all ports at once; learns addresses and forgets them."""

from enum import IntEnum
from functools import reduce
from operator import or_, xor

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.common.round_robin import lowest
from hdl.switch.forwarding.params import (
    ENTRY,
    GROUP_BITS,
    LEARNED,
    MAC_BITS,
    PORT_BITS,
    WAYS,
    ForwardingParams,
)


class Operation(enum.Enum, shape=3):
    """Names what can be done with a row of the table."""

    FIND = 0  # the host reads the entry of an address
    WRITE = 1  # the host writes a static entry
    REMOVE = 2  # the host removes the entry of an address
    READ = 3  # the host reads an entry by its place
    LEARN = 4  # an address has sent
    SCAN = 5  # entries of addresses that have not sent since the last scan, or of ports, go


HOST_OPERATIONS = IntEnum("TableOperation", "FIND WRITE REMOVE READ", start=0)
#: events of the table: an address moved to another port; it result no place; its entry was too old
TABLE_EVENTS = ("moved", "full", "aged")
#: the answer to a command of the host, which is its entry
REPLY = data.StructLayout({"hit": 1, "refused": 1, "entry": ENTRY})


def row_of(mac: Value, params: ForwardingParams) -> Value:
    """Return the row of an address: the exclusive or of all its parts of the number's width."""
    bits = params.row_bits
    return reduce(xor, (mac[k : k + bits] for k in range(0, MAC_BITS, bits)))[:bits]


class TableRows(Component):
    """Holds a copy of the table: the row ``row`` appears in ``entries`` a cycle later."""

    latency = 1

    def __init__(self, params: ForwardingParams) -> None:
        super().__init__(
            params,
            row=In(params.row_bits),
            entries=Out(data.ArrayLayout(ENTRY, WAYS)),
            write=In(params.write),
        )

    def build(self, m: Module) -> None:
        for way in range(WAYS):
            memory = DualPortMemory.sized(
                shape=ENTRY.size, depth=self.params.rows, style="block", output_registers=0
            )
            m.submodules[f"way_{way}"] = memory
            m.d.comb += [
                memory.read_address.eq(self.row),
                Value.cast(self.entries[way]).eq(memory.read_data),
                memory.write.eq(self.write.ways[way]),
                memory.write_address.eq(self.write.row),
                memory.write_data.eq(self.write.entries[way]),
            ]


class LookUp(Component):
    """Finds the ``port`` of ``mac``, which has none without ``hit``; takes one in every cycle.

    ``group`` comes, and the answer is valid, :attr:`latency` cycles after ``mac``.
    """

    latency = TableRows.latency + 1

    def __init__(self, params: ForwardingParams) -> None:
        super().__init__(
            params,
            mac=In(MAC_BITS),
            group=In(GROUP_BITS),
            hit=Out(1),
            port=Out(PORT_BITS),
            write=In(params.write),
        )

    def build(self, m: Module) -> None:
        m.submodules.rows = rows = TableRows(self.params)
        mac = delay(m, self.mac, 1, "mac")
        m.d.comb += [rows.row.eq(row_of(self.mac, self.params)), rows.write.eq(self.write)]
        hits, ports = [], []
        for way in range(WAYS):
            entry = rows.entries[way]
            same = delay(m, entry.valid & (entry.mac == mac), 1, f"same_{way}")
            group, port = (delay(m, entry[n], 1, f"{n}_{way}") for n in ("group", "port"))
            hits.append(same & (group == self.group))
            ports.append(Mux(hits[way], port, 0))
        m.d.comb += [self.hit.eq(Cat(hits).any()), self.port.eq(reduce(or_, ports))]


class MacTable(Component):
    """Keeps the ports of MAC addresses, each in a group: a hash with 4 places, in a copy a port.

    Each port looks up an address in every cycle (:class:`LookUp`); a change is seen by all of them
    in the same cycle. ``learn`` enters an address, or moves it to another port, unless its entry is
    static. An address whose row is full is not learned. ``age`` begins a scan, which
    removes the entries of addresses that have not sent since the scan before. When a port's bit of
    ``down`` rises, a scan removes its entries that are not static; ``closed`` is high until then,
    and while it is down, and no address is learned for it. ``start`` gives the
    host's ``command``, with ``key`` (FIND, REMOVE; WRITE enters it as static) or ``place``, the way
    above the row (READ); ``busy`` until ``reply`` is there. ``refused``: a WRITE result no place. A
    reset and ``clear`` empty the table, a row a cycle; ``ready`` is low meanwhile, and all look-ups
    miss. ``events`` are TABLE_EVENTS.

    Throughput: a change each 5 cycles, commands first, then addresses, then the scan.
    """

    latency = LookUp.latency

    def __init__(self, params: ForwardingParams) -> None:
        ports = params.ports
        super().__init__(
            params,
            mac=In(MAC_BITS).array(ports),
            group=In(GROUP_BITS).array(ports),
            hit=Out(1).array(ports),
            port=Out(PORT_BITS).array(ports),
            learn=In(stream.Signature(LEARNED)),
            age=In(1),
            down=In(ports),
            closed=Out(ports),
            clear=In(1),
            start=In(1),
            command=In(Operation),
            key=In(LEARNED),
            place=In(params.row_bits + (WAYS - 1).bit_length()),
            busy=Out(1),
            reply=Out(REPLY),
            ready=Out(1),
            events=Out(len(TABLE_EVENTS)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        write = Signal(params.write)
        m.submodules.own = own = TableRows(params)
        m.d.comb += own.write.eq(write)
        for k in range(params.ports):
            m.submodules[f"port_{k}"] = look_up = LookUp(params)
            m.d.comb += [
                look_up.mac.eq(self.mac[k]),
                look_up.group.eq(self.group[k]),
                look_up.write.eq(write),
                self.hit[k].eq(look_up.hit & self.ready),
                self.port[k].eq(look_up.port),
            ]
        operation, key = Signal(Operation), Signal(LEARNED)
        place = Signal.like(self.place)
        scan = Signal(range(params.rows))
        clearing, scanning = Signal(init=1), Signal()  # a scan for old entries has to begin
        passing, ages = Signal(), Signal()  # a scan is under way, and removes old entries
        down = self.down
        was_down, gone, leaving = Signal.like(down), Signal.like(down), Signal.like(down)
        falls = self.down & ~was_down
        m.d.sync += [was_down.eq(self.down), gone.eq(gone | falls)]
        m.d.comb += self.closed.eq(self.down | was_down | gone | leaving)
        m.d.comb += [self.ready.eq(~clearing), own.row.eq(place[: params.row_bits])]
        m.d.sync += [write.ways.eq(0), self.events.eq(0)]
        with m.If(self.start):
            m.d.sync += self.busy.eq(1)
        with m.If(self.age):
            m.d.sync += scanning.eq(1)
        entries = own.entries
        same, free, from_closed = Signal(WAYS), Signal(WAYS), Signal()
        m.d.sync += [
            same.eq(Cat(e.valid & (e.mac == key.mac) & (e.group == key.group) for e in entries)),
            free.eq(Cat(~e.valid for e in entries)),
            from_closed.eq(self.closed.bit_select(key.port, 1)),
        ]
        with m.FSM(name="step"):
            with m.State("IDLE"):
                with m.If(clearing):
                    m.d.sync += [
                        write.eq(0),
                        write.ways.eq(~0),
                        write.row.eq(scan),
                        scan.eq(scan + 1),
                        clearing.eq(self.clear | (scan != params.rows - 1)),
                    ]
                with m.Elif(self.busy):
                    named = self.command != Operation.READ
                    m.d.sync += [
                        operation.eq(self.command),
                        key.eq(self.key),
                        place.eq(Mux(named, row_of(self.key.mac, params), self.place)),
                    ]
                    m.next = "READ"
                with m.Elif(self.learn.valid):
                    m.d.comb += self.learn.ready.eq(1)
                    m.d.sync += [
                        operation.eq(Operation.LEARN),
                        key.eq(self.learn.payload),
                        place.eq(row_of(self.learn.payload.mac, params)),
                    ]
                    m.next = "READ"
                with m.Elif(passing):
                    m.d.sync += [operation.eq(Operation.SCAN), place.eq(scan), scan.eq(scan + 1)]
                    with m.If(scan == params.rows - 1):
                        m.d.sync += passing.eq(0)
                    m.next = "READ"
                with m.Else():
                    m.d.sync += [passing.eq(scanning | gone.any()), scanning.eq(self.age)]
                    m.d.sync += [ages.eq(scanning), leaving.eq(gone), gone.eq(falls)]
            with m.State("READ"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.next = "CHANGE"
            with m.State("CHANGE"):
                m.next = "IDLE"
                of_scan = ages, leaving, from_closed
                self.change(m, operation, key, place, entries, same, free, write, of_scan)
        with m.If(self.clear):
            m.d.sync += [clearing.eq(1), scan.eq(0)]

    def change(self, m: Module, operation, key, place, entries, same, free, write, of_scan) -> None:
        """Write the row that was read, and answer: ``same`` and ``free`` are of its entries."""
        ages, leaving, from_closed = of_scan
        hit, way, old_ways = Signal(), Signal(WAYS), Signal(WAYS)
        old = ENTRY(reduce(or_, (Mux(same[k], Value.cast(e), 0) for k, e in enumerate(entries))))
        chosen = Array(entries[k].as_value() for k in range(WAYS))[place[self.params.row_bits :]]
        comes, writes = operation == Operation.LEARN, operation == Operation.WRITE
        removes, scans = operation == Operation.REMOVE, operation == Operation.SCAN
        learns = comes & ~from_closed
        m.d.comb += [
            hit.eq(same.any()),
            way.eq(Mux(hit, same, lowest(free))),
            old_ways.eq(Cat(e.valid & ~e.static for e in entries)),
        ]
        may = Mux(learns, ~(hit & old.static), writes | removes & hit)
        m.d.sync += [
            write.row.eq(place[: self.params.row_bits]),
            write.ways.eq(Mux(scans, old_ways, way & may.replicate(WAYS))),
            self.events.eq(
                Cat(
                    learns & hit & ~old.static & (old.port != key.port),
                    learns & ~way.any(),
                    scans & ages & (old_ways & ~Cat(e.fresh for e in entries)).any(),
                )
            ),
        ]
        for k, entry in enumerate(entries):
            new = write.entries[k]
            stays = (entry.fresh | ~ages) & ~leaving.bit_select(entry.port, 1)
            m.d.sync += [
                new.mac.eq(Mux(scans, entry.mac, key.mac)),
                new.group.eq(Mux(scans, entry.group, key.group)),
                new.port.eq(Mux(scans, entry.port, key.port)),
                new.static.eq(writes),
                new.fresh.eq(Mux(scans, entry.fresh & ~ages, learns)),
                new.valid.eq(Mux(scans, stays, ~removes)),
            ]
        with m.If(~comes & ~scans):
            result = Mux(operation == Operation.READ, chosen, old.as_value())
            m.d.sync += [
                self.busy.eq(0),
                self.reply.hit.eq(ENTRY(result).valid),
                self.reply.refused.eq(writes & ~way.any()),
                self.reply.entry.eq(result),
            ]
