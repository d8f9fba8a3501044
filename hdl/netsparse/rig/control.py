"""Controls several RIG commands at a time, from their start to their end."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import enum, memory, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.rig.params import COMPLETION, WATCHDOG_BITS, Cause, RigParams


class State(enum.Enum, shape=2):
    """Names the states of the oldest command."""

    RUN = 0  #: it is under way, or there is none
    DRAIN = 1  #: it failed: everything under way comes to its end
    FORGET = 2  #: everything has ended: the pending table is emptied
    REPORT = 3  #: the completion must be taken


class RigControl(Component):
    """Starts ``commands`` one after another; each ends with one of ``completions``, in order.

    A command has a slot from when it is taken until its completion. It begins with ``start``, when
    the reader of ``idxs`` is ``ready``, even if earlier commands are still under way, provided that
    it is for the same ``array`` of properties; otherwise it waits until they have ended. Commands
    with a ``cause`` or without idxs wait as well, and end then. ``provided`` says that the last idx
    of a command was taken. A command is done when it is the oldest, its last idx was given and none
    is ``open``. Idxs that were coalesced with an earlier command's PR have their properties then,
    because that command has ended. ``quiet``: there is no idx to be given.

    When a command is the oldest, a failure (``failed``) ends it with its first ``cause``, and so do
    ``watchdog`` cycles in which nothing of it ``moves``. Then ``cancel`` is high until the parts
    have ``drained`` and a cycle more, with ``forget``, which empties the pending table. The later
    commands start again, so the failure of one does not fail another. ``generations`` has another
    number for every start, so that late responses are detected (NetSparse, section 7, 1).

    Latency: :attr:`start_latency` from a command taken at rest to ``start``.
    """

    start_latency = 3

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            commands=In(stream.Signature(params.command)),
            completions=Out(stream.Signature(COMPLETION)),
            start=Out(1),
            idxs=Out(params.idx_array),
            ready=In(1),
            array=Out(params.property_array),
            provided=In(1),
            open=In(params.commands),
            failed=In(params.commands),
            cause=In(Cause).array(params.commands),
            oldest=Out(params.slot_bits),
            cancel=Out(1),
            forget=Out(1),
            running=Out(1),
            generations=Out(params.generation_bits).array(params.commands),
            moves=In(1),
            drained=In(1),
            quiet=Out(1),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.stored = stored = memory.Memory(
            shape=params.command,
            depth=params.commands,
            init=[],
            attrs={"ram_style": "distributed"},
        )
        state = Signal(State)
        # Numbers of slots with a bit above: of commands taken, started, with all idxs given, ended.
        taken, started, provided, ended = (
            Signal(params.slot_bits + 1, name=name)
            for name in ("taken", "started", "gave", "ended")
        )
        write, oldest = stored.write_port(), stored.read_port(domain="comb")
        slot = ended[: params.slot_bits]
        m.d.comb += [
            self.commands.ready.eq((taken ^ ended) != params.commands),
            write.addr.eq(taken[: params.slot_bits]),
            write.data.eq(self.commands.payload),
            write.en.eq(self.commands.valid & self.commands.ready),
            oldest.addr.eq(slot),
            self.oldest.eq(slot),
            self.running.eq(started != ended),
            # This is a state of its own, because the signal that all have drained comes late.
            self.forget.eq(state == State.FORGET),
            self.quiet.eq(taken == provided),
            self.busy.eq((taken != ended) | (state != State.RUN)),
            self.completions.payload.tag.eq(oldest.data.tag),
            self.completions.valid.eq(state == State.REPORT),
        ]
        m.d.sync += [taken.eq(taken + write.en), provided.eq(provided + self.provided)]
        over, why = self.begin(m, stored, state, taken, started, ended)
        expired = self.watch(m, state, oldest.data.watchdog)
        done = Signal()
        cause = Signal(Cause)
        m.d.comb += self.completions.payload.cause.eq(cause)
        m.d.sync += done.eq(
            (state == State.RUN) & (provided != ended) & ~Array(self.open)[slot] & ~done
        )
        with m.Switch(state):
            with m.Case(State.RUN):
                with m.If(self.running & (Array(self.failed)[slot] | expired)):
                    m.d.sync += [state.eq(State.DRAIN), cause.eq(Cause.WATCHDOG)]
                    m.d.sync += self.cancel.eq(1)
                    with m.If(Array(self.failed)[slot]):
                        m.d.sync += cause.eq(Array(self.cause)[slot])
                with m.Elif(done):
                    m.d.sync += [state.eq(State.REPORT), cause.eq(Cause.DONE)]
                with m.Elif(over):
                    m.d.sync += [
                        state.eq(State.REPORT),
                        cause.eq(why),
                        started.eq(started + 1),
                        provided.eq(provided + 1),
                    ]
            with m.Case(State.DRAIN), m.If(self.drained):
                m.d.sync += state.eq(State.FORGET)
            with m.Case(State.FORGET):
                m.d.sync += [
                    self.cancel.eq(0),
                    state.eq(State.REPORT),
                    started.eq((ended + 1)[: len(ended)]),
                    provided.eq((ended + 1)[: len(ended)]),
                ]
            with m.Case(State.REPORT), m.If(self.completions.ready):
                m.d.sync += [state.eq(State.RUN), ended.eq(ended + 1)]

    def begin(self, m: Module, stored, state, taken, started, ended) -> tuple[Signal, Signal]:
        """Start the next command, or mark it as ``over`` as soon as it is the oldest."""
        params = self.params
        read = stored.read_port(domain="comb")
        command = Signal(params.command, reset_less=True)
        present = Signal()
        judged = Signal()
        same = Signal(reset_less=True)  # its array is the one in use
        nothing = Signal(reset_less=True)  # it has a cause, or no idxs
        alone = Signal()
        over = Signal()
        goes = Signal()
        slot = started[: params.slot_bits]
        m.d.comb += [
            read.addr.eq(slot),
            alone.eq((started == ended) & (state == State.RUN)),
            over.eq(judged & nothing & alone),
            self.start.eq(judged & ~nothing & (same | alone) & ~self.cancel & self.ready),
            goes.eq(self.start | over | self.cancel),
            self.idxs.address.eq(command.idx_address),
            self.idxs.count.eq(command.count),
            self.idxs.wide.eq(command.wide),
            self.idxs.slot.eq(slot),
        ]
        m.d.sync += [
            present.eq((taken != started) & ~goes),
            judged.eq(present & ~goes),
            command.eq(read.data),
            same.eq(
                (command.property_address == self.array.address)
                & (command.property_bytes == self.array.bytes)
            ),
            nothing.eq((command.cause != Cause.DONE) | (command.count == 0)),
        ]
        generation = Signal(params.generation_bits)
        with m.If(self.start):
            m.d.sync += [
                started.eq(started + 1),
                generation.eq(generation + 1),
                self.array.address.eq(command.property_address),
                self.array.bytes.eq(command.property_bytes),
            ]
            for k, own in enumerate(self.generations):
                with m.If(slot == k):
                    m.d.sync += own.eq(generation)
        return over, command.cause

    def watch(self, m: Module, state, limit) -> Signal:
        """Count cycles in which nothing of the oldest command moves.

        Returns a signal that is high when the limit is reached.
        """
        idle = Signal(WATCHDOG_BITS)
        expired = Signal()
        m.d.sync += [idle.eq(idle + 1), expired.eq((idle == limit) & limit.any())]
        with m.If(self.moves | (state != State.RUN) | ~self.running):
            m.d.sync += [idle.eq(0), expired.eq(0)]
        return expired
