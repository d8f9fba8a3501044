"""Puts the datapath of a gather in front of a requester of its own."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.gather.datapath import GatherDatapath
from hdl.gather.params import GatherParams
from hdl.pcie.axis import PcieStreamSignature, rc_user, rq_user
from hdl.pcie.read_requester import ReadRequester

#: names the ports that are the datapath's
OF_DATAPATH = ("table", "joined", "first", "limit", "idxs", "rows", "read")


class RowReader(Component):
    """Connects datapath and requester, and has all other ports of both.

    Latency: :attr:`request_latency` from an idx to RQ, :attr:`latency` from a row's last completion
    on ``rc`` to its first beat if it has but one.
    """

    groups_of = GatherDatapath  #: of functional coverage

    def __init__(self, params: GatherParams) -> None:
        bits = params.reads.data_bits
        datapath = GatherDatapath(params)
        self.request_latency = datapath.request_latency + ReadRequester.request_latency
        self.latency = ReadRequester(params.reads).latency + datapath.latency
        super().__init__(
            params,
            **{name: datapath.signature.members[name] for name in OF_DATAPATH},
            idle=Out(1),
            rq=Out(PcieStreamSignature(data_bits=bits, user=rq_user(bits))),
            rc=In(PcieStreamSignature(data_bits=bits, user=rc_user(bits))),
        )

    def build(self, m: Module) -> None:
        m.submodules.datapath = datapath = GatherDatapath(self.params)
        m.submodules.reader = reader = ReadRequester(self.params.reads)
        connect(m, flipped(self.idxs), datapath.idxs)
        connect(m, datapath.rows, flipped(self.rows))
        connect(m, datapath.requests, reader.requests)
        connect(m, reader.beats, datapath.parts)
        connect(m, reader.rq, flipped(self.rq))
        connect(m, flipped(self.rc), reader.rc)
        m.d.comb += [
            datapath.table.eq(self.table),
            datapath.joined.eq(self.joined),
            datapath.first.eq(self.first),
            datapath.limit.eq(self.limit),
            self.read.eq(datapath.read),
            reader.limit.eq(datapath.read_limit),
            self.idle.eq(reader.idle),
        ]
