"""Answers the host's reads and writes of registers, and every other request that it sends."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import half, looked_up
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.pcie.axis import PcieStreamSignature, cc_user, cq_user
from hdl.pcie.completer_params import CompleterParams
from hdl.pcie.descriptors import ANSWER, COMPLETION_DWORDS, REQUEST_DWORDS, RequestType, Status
from hdl.pcie.register_master import RegisterMaster
from hdl.pcie.request_intake import RequestIntake

#: Lists the events of requests to be counted; each is a pulse of one cycle. ``taken``: a request
#: was dealt with; ``unsupported``: it was not a read or write of one or two dwords behind the BAR;
#: ``malformed``: some of its data was missing; ``refused``: a register refused it or did not
#: answer.
EVENTS = data.StructLayout({"taken": 1, "unsupported": 1, "malformed": 1, "refused": 1})

ERROR_DWORDS = 5  #: dwords behind the descriptor of a completion with an error

#: Describes what was found out about a request; ``bytes`` and ``address`` go into its answer.
VERDICT = data.StructLayout(
    {"posted": 1, "unsupported": 1, "malformed": 1, "good": 1, "bytes": 13, "address": 7}
)


class Completer(Component):
    """Turns reads and writes of one or two dwords behind a BAR into accesses to ``axil``, in order.

    Bytes that are not enabled are not written. A dword without an enabled byte is not accessed, so
    a read of no byte, which a host sends to flush its writes, disturbs no register. A read that a
    register refuses is answered with status CA (completer abort); a write that is refused is lost
    and counted. Every other request is answered with UR (unsupported request) if it is non-posted,
    and dropped if it is posted. The answer to an error carries the request's header, for the
    block's log (PG213, "Completions with Error Status (UR and CA)").

    A request is finished before the next one begins. Throughput: that of ``axil``. Stalls: ``cq``
    waits, for ``cc`` and at most two ``tick`` for each register.
    """

    def __init__(self, params: CompleterParams) -> None:
        bits = params.data_bits
        super().__init__(
            params,
            cq=In(PcieStreamSignature(data_bits=bits, user=cq_user(bits))),
            cc=Out(PcieStreamSignature(data_bits=bits, user=cc_user(bits))),
            axil=Out(AxiLiteSignature(address_bits=params.address_bits)),
            tick=In(1),
            broken=Out(1),
            events=Out(EVENTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.intake = intake = RequestIntake(self.params)
        m.submodules.master = master = RegisterMaster(self.params)
        connect(m, flipped(self.cq), intake.cq)
        connect(m, master.axil, flipped(self.axil))
        m.d.comb += [master.tick.eq(self.tick), self.broken.eq(master.broken)]
        packet = intake.packets.payload
        verdict = self.judge(m, packet)
        at = Signal()  # dword of the request that is accessed now
        failed = Signal()
        result = Signal(data.ArrayLayout(32, 2), reset_less=True)
        enables = half(packet.enables, at)
        m.d.comb += self.accessed(master.accesses.payload, packet, at)

        def go_on() -> None:
            with m.If(at | (packet.request.dwords == 1)):
                m.next = "ANSWER"
            with m.Else():
                m.d.sync += at.eq(1)
                m.next = "ACCESS"

        with m.FSM():
            with m.State("WAIT"):
                m.d.sync += [at.eq(0), failed.eq(0), result.eq(0)]
                with m.If(intake.packets.valid):
                    m.next = "JUDGE"
            with m.State("JUDGE"):
                m.next = "ANSWER"
                with m.If(verdict.good):
                    m.next = "ACCESS"
            with m.State("ACCESS"):
                m.d.comb += master.accesses.valid.eq(enables.any())
                with m.If(~enables.any()):
                    go_on()
                with m.Elif(master.accesses.ready):
                    m.next = "DONE"
            with m.State("DONE"), m.If(master.answer.valid):
                m.d.sync += [
                    result[at].eq(master.answer.data),
                    failed.eq(failed | master.answer.failed),
                ]
                go_on()
            with m.State("ANSWER"):
                m.d.comb += [
                    self.cc.tvalid.eq(~verdict.posted),
                    intake.packets.ready.eq(verdict.posted | self.cc.tready),
                ]
                with m.If(intake.packets.ready):
                    m.next = "WAIT"
        done = intake.packets.ready
        m.d.sync += [
            self.events.taken.eq(done),
            self.events.unsupported.eq(done & verdict.unsupported),
            self.events.malformed.eq(done & verdict.malformed),
            self.events.refused.eq(done & verdict.good & failed),
        ]
        self.answer(m, packet, verdict, failed, result)

    def accessed(self, access: Any, packet: Any, at: Value) -> list[Any]:
        """Return the assignments to ``access`` for dword ``at`` of a request."""
        address = Cat(Const(0, 2), packet.request.address + at)
        return [
            access.writes.eq(packet.request.kind == RequestType.MEMORY_WRITE),
            access.address.eq(address[: self.params.address_bits]),
            access.data.eq(half(packet.data, at)),
            access.strobes.eq(half(packet.enables, at)),
        ]

    def judge(self, m: Module, packet: Any) -> Any:
        """Return what is found out about the request in ``packet``, a cycle later."""
        verdict = Signal(VERDICT, reset_less=True)
        request, first = packet.request, packet.enables[0]
        item = request.dwords == 1
        reads, writes = (
            request.kind == kind for kind in (RequestType.MEMORY_READ, RequestType.MEMORY_WRITE)
        )
        known = reads | (request.kind == RequestType.LOCKED_READ)
        supported = (
            (reads | writes) & (request.bar == self.params.bar) & (item | (request.dwords == 2))
        )
        keep = Cat(Const(-1, REQUEST_DWORDS), writes, writes & ~item)
        complete = ~packet.discontinued & (packet.keep == keep)
        # Bytes of the first and last dword that are outside the bytes asked for.
        before = looked_up(lowest, first, bits=2)
        behind = looked_up(above, Mux(item, first, packet.enables[1]), bits=2)
        gaps = looked_up(lambda before, behind: before + behind, before, behind, bits=3)
        m.d.sync += [
            verdict.posted.eq(writes | request.kind[2:].all()),  # or a message
            verdict.unsupported.eq(~supported),
            verdict.malformed.eq(supported & ~complete),
            verdict.good.eq(supported & complete),
            verdict.bytes.eq(Mux(known, ((request.dwords << 2) - gaps)[:13], 4)),
            verdict.address.eq(Mux(known, Cat(before, request.address[:5]), 0)),
        ]
        return verdict

    def answer(self, m: Module, packet: Any, verdict: Any, failed: Value, result: Any) -> None:
        """Drive ``cc`` with the completion: dwords read, or the request's header after an error."""
        request, cc, said = packet.request, self.cc, Signal(ANSWER)
        good = verdict.good & ~failed
        count = Mux(good, request.dwords[:2], ERROR_DWORDS)
        last = (count + (COMPLETION_DWORDS - 1))[:4]
        m.d.comb += [
            said.address.eq(verdict.address),
            said.address_type.eq(request.address_type),
            said.bytes.eq(verdict.bytes),
            said.locked.eq(request.kind == RequestType.LOCKED_READ),
            said.dwords.eq(Mux(good, request.dwords, 0)),
            said.status.eq(
                Mux(
                    good,
                    Status.SUCCESS,
                    Mux(verdict.good, Status.ABORTED, Status.UNSUPPORTED),
                )
            ),
            said.requester.eq(request.requester),
            said.tag.eq(request.tag),
            said.function.eq(request.function),
            said.traffic_class.eq(request.traffic_class),
            said.attributes.eq(request.attributes),
            cc.tdata.eq(Cat(said, Mux(good, result, Cat(packet.enables, Const(0, 24), request)))),
            cc.tkeep.eq(Cat(Const(7, 3), *(last >= k for k in range(3, 8)))),
            cc.tlast.eq(1),
        ]
        if self.params.data_bits == 512:
            user = cc_user(512)(cc.tuser)
            m.d.comb += [user.starts.eq(1), user.ends.eq(1), user.end_dword[0].eq(last)]


def lowest(enables: int) -> int:
    """Return the number of the first byte that is enabled, 0 if none is."""
    return (enables & -enables).bit_length() - 1 if enables else 0


def above(enables: int) -> int:
    """Return how many bytes are above the last enabled one; byte 0 is taken if none is."""
    return 4 - enables.bit_length() if enables else 3
