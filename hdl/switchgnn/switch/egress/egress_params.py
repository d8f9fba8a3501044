"""Describes the frames that leave the switch: sums and features, control frames, and beats."""

from amaranth.lib import data

from hdl.common.fifo import FifoParams
from hdl.switchgnn.protocol import ACK_BITS, Kind
from hdl.switchgnn.switch.results.read_schedule_params import ReadScheduleParams
from hdl.switchgnn.switch.sizes import SEQ_BITS, TURN_BITS, GnnSwitchSizes


class EgressParams(GnnSwitchSizes):
    """Adds the bundles of the output path to the sizes of the switch."""

    @property
    def answer(self) -> data.StructLayout:
        """Describe an answer, the common name of :attr:`delivery` in all switches."""
        return self.delivery

    @property
    def delivery(self) -> data.StructLayout:
        """Describe a RESULT or RAW that ports send."""
        return data.StructLayout(
            {
                "raw": 1,  # it is a RAW, whose features are in the lower half of sums
                "job": self.job_bits,
                "epoch": 16,
                "turn": TURN_BITS,
                "list": 32,  # RESULT: number of the aggregator
                "source": 32,  # RAW
                "sums": self.sums,
                **({"partial": 1, "seq": SEQ_BITS} if self.links else {}),  # for another switch
            }
        )

    @property
    def ack_state(self) -> data.StructLayout:
        """Describe what has come of an open turn at a port, and whether an ACK is wanted."""
        return data.StructLayout(
            {"required": 1, "turn": TURN_BITS, "base": SEQ_BITS, "arrived": self.window}
        )

    @property
    def raw_request(self) -> data.StructLayout:
        """Describe a RAWFETCH on its way to the feature's owner."""
        return data.StructLayout({"turn": TURN_BITS, "source": 32, "requesting": self.ports})

    @property
    def control_frame(self) -> data.StructLayout:
        """Describe a frame without a payload: ACK, ADVANCE or RAWFETCH."""
        return data.StructLayout(
            {
                "kind": Kind,
                "job": self.job_bits,
                "epoch": 16,
                "turn": TURN_BITS,
                "seq": SEQ_BITS,  # ACK
                "ecn": 1,  # ACK
                "bitmap": ACK_BITS,  # ACK
                "source": 32,  # RAWFETCH
                "raw": self.ports,  # RAWFETCH: port of the requester
            }
        )

    @property
    def read_schedule(self) -> ReadScheduleParams:
        """Return the sizes of the schedule of READs."""
        return ReadScheduleParams(ports=self.ports, banks=self.banks, settling=1, hole_cycles=1)

    @property
    def egress_beat(self) -> data.StructLayout:
        """Describe a beat to be sent; its valid bytes follow from the kind of frame."""
        return data.StructLayout({"data": self.frames.axis.data_bits, "last": 1})

    @property
    def egress_fifo(self) -> FifoParams:
        """Return the sizes of the queue of beats that wait at a port; room for each is claimed."""
        return FifoParams(shape=self.egress_beat, depth=self.egress_depth, refuses=False)
