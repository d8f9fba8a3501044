"""Implements the Idx Filter: a bit per column in the SNIC's memory, with a cache for all units."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import count_ones
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.crossbar import Crossbar
from hdl.common.streams import forward
from hdl.netsparse.idx_filter.bank import FilterBank
from hdl.netsparse.idx_filter.clearing import FilterClearing
from hdl.netsparse.idx_filter.memory_port import FilterMemoryPort
from hdl.netsparse.idx_filter.params import LINE_IDX_BITS, FilterCacheParams, answer_signature
from hdl.netsparse.idx_filter.unit_cache import UnitCache


class FilterCache(Component):
    """Answers lookups of the units, and sets bits (NetSparse, section 5.2).

    Bit idx % 512 of the 64 bytes (little-endian) at base + 64 * (idx // 512) belongs to idx. Lines
    of 64 bytes are cached, and written back when they are replaced; the low bits of a line's number
    select its bank. In front of the banks each unit has a cache of its own, which answers lookups
    of bits that it knows to be 1 (:class:`UnitCache`). A unit's requests are answered in any order,
    its requests to one bank in order. ``bit`` is the value before the request. A set is answered
    when every later lookup by any unit sees it; a bit is never reset, except by clearing. ``slot``
    is returned with the answer.

    Throughput: a request a cycle for each unit while its own cache answers, and otherwise one a
    cycle for each unit and each bank while lines are present; units that need the same bank are
    granted in round-robin order, and up to 16 requests of a unit wait for their banks. Latency:
    :attr:`near_latency` from the unit's own cache, :attr:`latency` from a bank if the line is
    present and no other unit needs the bank. A miss costs :attr:`blank_cycles` in a set of which
    not all ways were filled since the last clearing: its line is all zeros. Any other miss costs
    the memory's latency and :attr:`fill_cycles`, or :attr:`write_back_cycles` if that is longer,
    for a dirty victim. A bank serves one miss at a time, and the next one only after the write-back
    is acknowledged; other banks go on. Answers have no back-pressure.

    ``control.clear`` makes all bits zero (:class:`FilterClearing`): no requests are taken while
    ``busy``. It ends max(sets, blocks of a unit, lines) + the memory's latency + 8 cycles after all
    earlier requests are answered, if the memory takes a line a cycle. The first request after a
    reset must be a clearing. A fill that fails fails its request, which may be repeated. A write
    that fails sets ``broken``, and every answer is ``failed`` until a clearing without errors; so a
    clearing has succeeded if ``broken`` is low after it. If the memory does not answer, requests to
    it fail when its ``bus`` is abandoned (:class:`FilterMemoryPort`). ``idle``, a cycle late: no
    request is inside.
    """

    latency = UnitCache.latency + 2 * Crossbar.latency + FilterBank.latency
    near_latency = UnitCache.near_latency
    fill_cycles = 11
    blank_cycles = 10
    write_back_cycles = 18

    def __init__(self, params: FilterCacheParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.request)).array(params.units),
            answers=Out(answer_signature(params.answer)).array(params.units),
            control=In(params.control),
            busy=Out(1),
            broken=Out(1),
            idle=Out(1),
            events=Out(params.events),
            watch=In(WATCH),
            bus=Out(BUS),
            axi=Out(FilterMemoryPort(params).axi.signature),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.clearing = clearing = FilterClearing(params)
        m.submodules.memory = memory = FilterMemoryPort(params)
        m.submodules.to_banks = to_banks = Crossbar.sized(
            inputs=params.units, outputs=params.banks, shape=params.bank_request
        )
        m.submodules.to_units = to_units = Crossbar.sized(
            inputs=params.banks, outputs=params.units, shape=params.block_answer
        )
        connect(m, flipped(self.axi), memory.axi)
        connect(m, clearing.zeros, memory.zeros)
        banks = [self.add_bank(m, k, to_banks, to_units) for k in range(params.banks)]
        units = [self.add_unit(m, k, to_banks, to_units) for k in range(params.units)]
        for name in ("hit", "miss", "write_back", "fill_error"):
            source = "failed" if name == "fill_error" else name
            reported = Signal(params.banks, name=f"{name}_reported")  # registered: it is late
            m.d.sync += [
                reported.eq(Cat(getattr(bank, source) for bank in banks)),
                self.events[name].eq(count_ones(list(reported))),
            ]
        m.d.sync += [
            self.events.near.eq(sum(unit.answered for unit in units)),
            self.events.write_error.eq(memory.write_error),
        ]
        m.d.comb += [
            memory.watch.eq(self.watch),
            self.bus.eq(memory.bus),
            clearing.control.eq(self.control),
            clearing.idle.eq(self.idle),
            clearing.written.eq(memory.written.any()),
            clearing.write_error.eq(memory.write_error),
            self.busy.eq(clearing.busy),
            self.broken.eq(clearing.broken),
        ]
        m.d.sync += self.idle.eq(
            Cat(
                *(bank.idle for bank in banks),
                *(unit.idle for unit in units),
                to_units.empty,
            ).all()
        )

    def add_unit(self, m: Module, k: int, to_banks: Crossbar, to_units: Crossbar) -> UnitCache:
        """Add unit ``k``: its own cache in front of the banks."""
        clearing = m.submodules.clearing
        m.submodules[f"unit_{k}"] = unit = UnitCache(self.params)
        requests, answers = self.requests[k], self.answers[k]
        far = to_banks.i[k].payload
        busy = self.busy
        m.d.comb += [
            unit.requests.valid.eq(requests.valid & ~busy),
            unit.requests.payload.eq(requests.payload),
            requests.ready.eq(unit.requests.ready & ~busy),
            far.beat.unit.eq(k),
            far.beat.request.eq(unit.far_requests.payload),
            far.to.eq(far.beat.request.idx[LINE_IDX_BITS:][: self.params.bank_bits]),
            *forward(unit.far_requests, to_banks.i[k]),
            unit.far_answers.valid.eq(to_units.o[k].valid),
            unit.far_answers.payload.eq(to_units.o[k].payload),
            to_units.o[k].ready.eq(1),
            unit.forget.eq(clearing.invalidate),
            unit.forget_at.eq(clearing.row[: self.params.unit_row_bits]),
            answers.valid.eq(unit.answers.valid),
            answers.payload.eq(unit.answers.payload),
        ]
        with m.If(self.broken):
            m.d.comb += answers.payload.failed.eq(1)
        return unit

    def add_bank(self, m: Module, k: int, to_banks: Crossbar, to_units: Crossbar) -> FilterBank:
        """Add bank ``k`` between the crossbars and the memory."""
        clearing, memory = m.submodules.clearing, m.submodules.memory
        m.submodules[f"bank_{k}"] = bank = FilterBank(self.params)
        connect(m, bank.fills, memory.fills[k])
        connect(m, bank.write_backs, memory.write_backs[k])
        answer = bank.answers.payload
        connect(m, to_banks.o[k], bank.requests)
        m.d.comb += [
            *forward(bank.answers, to_units.i[k], to=answer.unit, beat=answer.answer),
            bank.base.eq(self.control.base),
            bank.filled.eq(memory.filled[k]),
            bank.fill_error.eq(memory.fill_error),
            bank.fill_data.eq(memory.fill_data),
            bank.written.eq(memory.written[k]),
            bank.clear.eq(clearing.invalidate),
            bank.clear_at.eq(clearing.row[: self.params.set_bits]),
        ]
        return bank
