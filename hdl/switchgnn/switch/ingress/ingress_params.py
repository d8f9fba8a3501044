"""Describes received frames: beats, heads, and payloads."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from hdl.common.fifo import DISTRIBUTED_WORDS, FifoParams
from hdl.switch.packet_port import PacketPortParams
from hdl.switchgnn.switch.sizes import GnnSwitchSizes


class IngressParams(GnnSwitchSizes):
    """Adds the bundles of the input path to the sizes of the switch."""

    @property
    def port_params(self) -> PacketPortParams:
        """Return the sizes of an input port."""
        return PacketPortParams(frames=self.frames, words=self.ingress_depth, ahead=True)

    @property
    def stored_head(self) -> data.StructLayout:
        """Describe the fields of a head that are stored while its payload comes."""
        return data.StructLayout(
            {
                "header": self.header,
                "own": 1,  # bm is the bit of the port
                "known": 1,  # the job's number is not too large
                "features": 1,  # its payload is one of features
                "sums": 1,  # its payload is one of sums
                "broken": 1,  # its kind does not exist, or bits are set that must be zero
            }
        )

    @property
    def payload_words(self) -> data.ArrayLayout:
        """Describe a payload in beats; its last beat is always in the last word.

        The others are in the words from 0 on; a shorter payload leaves words in between unused.
        """
        return data.ArrayLayout(self.frames.axis.data_bits, self.payload_beats)

    def features_of(self, words: data.View) -> Value:
        """Return the bits of the features in a payload of them."""
        before = -(-self.features.size // self.frames.axis.data_bits) - 1
        return Cat(*(words[k] for k in range(before)), words[self.payload_beats - 1])[
            : self.features.size
        ]

    @property
    def judged(self) -> data.StructLayout:
        """Describe the fields of a frame that are judged."""
        return data.StructLayout({"packet": self.packet, "brings": 1})

    @property
    def arrival(self) -> data.StructLayout:
        """Describe a frame from a port: the fields to be judged, and its payload."""
        return data.StructLayout({**self.judged.members, "payload": self.payload_words})

    @property
    def payload_fifo(self) -> FifoParams:
        """Return the sizes of the queue of payloads; the sender must ensure that there is room."""
        style = "distributed" if self.tasks <= DISTRIBUTED_WORDS else "block"
        width = self.payload_words.size
        return FifoParams(shape=width, depth=self.tasks, style=style, refuses=False)
