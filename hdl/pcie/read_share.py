"""Lets several users share one requester of reads."""

from dataclasses import replace

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.params import Params, whole
from hdl.common.stream_arbiter import StreamArbiter
from hdl.pcie.params import ReadRequesterParams

COUNT_BITS = 10  #: width of a number of requests under way


class ReadShareParams(Params, suffix="{users}_{user.suffix}"):
    """Sets how many users there are, and what each of them sees of the requester."""

    user: ReadRequesterParams  #: sizes of the requester that each user sees
    users: int = whole(2, 8, default=2)  #: number of users

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.user.in_order:
            raise ValueError("in_order must be true for a requester that several users share")
        _ = self.shared  # raises ValueError for sizes that do not fit

    @property
    def shared(self) -> ReadRequesterParams:
        """Return the sizes of the shared requester; its ``user`` bits include the user's number."""
        return replace(self.user, user_bits=self.user.user_bits + ceil_log2(self.users))


class ReadShare(Component):
    """Merges ``requests[k]`` of users k into ``requested``, and routes ``answers`` to ``beats[k]``.

    ``requested`` and ``answers`` are the ``requests`` and ``beats`` of a
    :class:`hdl.pcie.read_requester.ReadRequester`. Requests are arbitrated in round-robin order.
    All answers come in the order of ``requested``, so a user that does not take its beats blocks
    the others (head-of-line blocking): a user may request only what it has room for.

    At most ``most`` requests are under way, each from ``requested`` to the cycle after its last
    beat; 0 is no limit. A new value of ``most`` takes effect when no request is under way.
    ``under_way`` is the number of those that are.

    Throughput: a request and a beat a cycle. Latency: :attr:`latency` from a request to
    ``requested``, none from ``answers`` to ``beats``.
    """

    latency = StreamArbiter.latency

    def __init__(self, params: ReadShareParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.user.cutter.request)).array(params.users),
            beats=Out(stream.Signature(params.user.beat)).array(params.users),
            requested=Out(stream.Signature(params.shared.cutter.request)),
            answers=In(stream.Signature(params.shared.beat)),
            most=In(COUNT_BITS),
            under_way=Out(COUNT_BITS),
        )

    def build(self, m: Module) -> None:
        room = Signal(COUNT_BITS)  # requests that may still be sent, if there is a limit
        self.issue(m, ~room.any() & self.most.any())
        provided, bits = self.answers.payload, self.params.user.user_bits
        owner = provided.user[bits:]
        taken = 0
        for k, beats in enumerate(self.beats):
            own = owner == k
            m.d.comb += [
                beats.valid.eq(self.answers.valid & own),
                *(
                    beats.payload[name].eq(low_bits(provided[name], field.width))
                    for name, field in self.params.user.beat
                ),
            ]
            taken = taken | (own & beats.ready)
        m.d.comb += self.answers.ready.eq(taken)
        goes = self.requested.valid & self.requested.ready
        ended = Signal()
        m.d.sync += [
            ended.eq(self.answers.valid & self.answers.ready & provided.last),
            self.under_way.eq((self.under_way + goes - ended)[:COUNT_BITS]),
            room.eq((room - goes + ended)[:COUNT_BITS]),
        ]
        with m.If(~self.under_way.any() & ~goes):
            m.d.sync += room.eq(self.most)

    def issue(self, m: Module, full: Value) -> None:
        """Arbitrate the users' requests, and add the user's number to each."""
        layout = self.params.user.cutter.request
        m.submodules.arbiter = arbiter = StreamArbiter.sized(shape=layout, count=self.params.users)
        for requests, turn in zip(self.requests, arbiter.i, strict=True):
            connect(m, flipped(requests), turn)
        request, requested = arbiter.o.payload.payload, self.requested.payload
        m.d.comb += [
            requested.address.eq(request.address),
            requested.bytes.eq(request.bytes),
            requested.user.eq(Cat(request.user, arbiter.o.payload.index)),
            self.requested.valid.eq(arbiter.o.valid & ~full),
            arbiter.o.ready.eq(self.requested.ready & ~full),
        ]
