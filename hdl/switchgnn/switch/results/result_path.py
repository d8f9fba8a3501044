"""Implements the path from all banks to all ports: adds turn and number to sums, passes copies."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.arithmetic import delay, index_of
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.round_robin import lowest
from hdl.switchgnn.switch.banks.sum_choice import chosen_sums
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import DELIVERY_CYCLES, OPEN_TURNS, READ_CYCLES, TAG_BITS, TURN_BITS


class ResultPath(Component):
    """Turns each sum that leaves a bank, and each ``copy`` of a feature, into a ``delivery``.

    ``read`` has the bank with a READ. READ_CYCLES later its bit of ``valids`` says whether it has a
    sum, which is then in ``results``; so the select of the wide multiplexer is known early. In a
    cycle without a sum, ``copies`` may have the ports that get the ``copy``. :attr:`latency` cycles
    later ``deliver`` has the bits of the ports that get the ``delivery``:

    - A sum is a RESULT if its ``tag`` is that of an open turn of the port's job, and its aggregator
      is one of that turn; its list is the index x banks + bank. Any other sum is dropped: its turn
      has ended, or the port has a new job.
    - A copy goes to those of its ports that have its job, and to none unless the lowest one has it:
      a job has all of its ports or none.

    ``jobs`` and ``regions`` are the state of each port's job in the cycle in which a sum or a copy
    comes. Throughput: a sum or a copy a cycle. Never stalls: the ports' room was claimed before.

    With ``params.slr_stages`` banks have only the lower lanes, which are the whole of a copy; the
    upper lanes of a sum are then missing (:class:`FarLanes`).
    """

    latency = DELIVERY_CYCLES - READ_CYCLES

    def __init__(self, params: GnnSwitchParams) -> None:
        #: for each port and possible open turn: the fields that identify its sums
        place = data.StructLayout(
            {"open": 1, "turn": TURN_BITS, "first": params.slot_bits, "end": params.count_bits}
        )
        self.known = data.StructLayout(
            {
                "active": 1,
                "job": params.job_bits,
                "epoch": 16,
                "places": data.ArrayLayout(place, OPEN_TURNS),
            }
        )
        fields = params.bank_result.members
        #: fields from which the turn of a sum that leaves is found
        self.result = data.StructLayout({name: fields[name] for name in ("port", "slot", "tag")})
        super().__init__(
            params,
            read=In(params.banks),
            valids=In(params.banks),
            results=In(params.bank_result).array(params.banks),
            copies=In(params.ports),
            copy=In(params.copy),
            jobs=In(params.port_job).array(params.ports),
            regions=In(params.port_region).array(params.ports),
            deliver=Out(params.ports),
            delivery=Out(params.delivery),
        )

    def build(self, m: Module) -> None:
        params = self.params
        known = [self.knowledge(m, k) for k in range(params.ports)]
        came = Signal()  # a sum came
        copies = Signal(params.ports)
        bank = Signal(params.bank_bits, reset_less=True)
        result = Signal(self.result, reset_less=True)
        copy = delay(m, self.copy, 1, "copy")
        sums = self.take(m, bank, result)
        m.d.sync += [came.eq(self.valids.any()), copies.eq(self.copies)]
        own = data.View(self.known, Array(port.as_value() for port in known)[result.port])
        hit, index, turn = self.find(m, own, result)
        for k, port in enumerate(known):
            fits = port.active & (port.job == copy.job) & (own.job == copy.job)
            of_sum = came & hit & (result.port == k)
            m.d.sync += self.deliver[k].eq(of_sum | (copies[k] & fits & own.active))
        delivery, features = self.delivery, copy.features.as_value()
        m.d.sync += [
            delivery.raw.eq(~came),
            delivery.job.eq(own.job),
            delivery.epoch.eq(own.epoch),
            delivery.turn.eq(Mux(came, turn, copy.turn)),
            delivery.list.eq(Cat(bank[: exact_log2(params.banks)], index)),
            delivery.source.eq(copy.source),
            delivery.sums.as_value()[: len(features)].eq(
                Mux(came, sums[: len(features)], features)
            ),
            delivery.sums.as_value()[len(features) : len(sums)].eq(sums[len(features) :]),
        ]

    def knowledge(self, m: Module, k: int) -> Any:
        """Return the state of port ``k``'s job, registered in advance, since it seldom changes."""
        job, region = self.jobs[k], self.regions[k]
        known = Signal(self.known, name=f"known_{k}")
        m.d.sync += [known.active.eq(job.active), known.job.eq(job.job), known.epoch.eq(job.epoch)]
        for number, place in enumerate(known.places):
            turn = (job.lo + number)[:TURN_BITS]
            upper = region.two & (job.lo[0] ^ number)  # odd turns have the second half
            m.d.sync += [
                place.open.eq(job.active & (region.two if number else 1)),
                place.turn.eq(turn),
                place.first.eq((region.base + Mux(upper, region.count, 0))[: len(place.first)]),
                place.end.eq(
                    (region.base + Mux(upper, region.count << 1, region.count))[: len(place.end)]
                ),
            ]
        return known

    def take(self, m: Module, bank: Signal, result: Any) -> Value:
        """Register the result of the bank that was read, and the port of a copy.

        Return the sums, selected from the registered ones of each group of banks.
        """
        copies = self.copies
        # These have a reset, so that they are no LUT shift registers: each has a load in every bit
        # of a sum.
        read = index_of(self.read, len(bank))
        number = delay(m, read, READ_CYCLES, "read", reset_less=False)
        m.d.sync += [
            bank.eq(number),
            *(
                result[name].eq(Array(each[name] for each in self.results)[number])
                for name in self.result.members
            ),
        ]
        with m.If(copies.any()):  # any of its ports, since all ports of a job have the same state
            m.d.sync += result.port.eq(index_of(lowest(copies), self.params.port_bits))
        valids = self.valids
        came = Cat(valids, copies.any())
        expect(
            m,
            self,
            one_comes_at_a_time=lambda: ~(came & (came - 1)[: len(came)]).any(),
            comes_from_the_bank_that_was_read=lambda: ~valids.any() | Array(valids)[number],
        )
        return chosen_sums(m, [each.sums for each in self.results], number, bank)

    def find(self, m: Module, own: Any, result: Any) -> tuple[Value, Value, Value]:
        """Return whether a sum is of an open turn of ``own``, its index there, and the turn."""
        hits, indices, turns = [], [], []
        for number in range(OPEN_TURNS):
            place = own.places[number]
            same = place.open & (place.turn[:TAG_BITS] == result.tag)
            inside = (result.slot >= place.first) & (result.slot < place.end)
            hits.append(same & inside)
            indices.append(Mux(same, (result.slot - place.first)[: len(result.slot)], 0))
            turns.append(Mux(same, place.turn, 0))
        return Cat(hits).any(), reduce(or_, indices), reduce(or_, turns)
