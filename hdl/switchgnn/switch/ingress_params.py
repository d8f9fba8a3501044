"""Describes what comes into the switch: beats, heads, and payloads behind their ports."""

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from hdl.common.fifo import DISTRIBUTED_WORDS, FifoParams
from hdl.switch.packet_port import PacketPortParams
from hdl.switchgnn.switch.sizes import GnnSwitchSizes


class IngressParams(GnnSwitchSizes):
    """Adds the bundles of the way in to the sizes of the switch."""

    @property
    def port_params(self) -> PacketPortParams:
        """Return the sizes of a port on the way in."""
        return PacketPortParams(frames=self.frames, words=self.ingress_depth, ahead=True)

    @property
    def stored_head(self) -> data.StructLayout:
        """Describe what is kept of a head while its payload comes."""
        return data.StructLayout(
            {
                "header": self.header,
                "own": 1,  # bm is the bit of the port
                "known": 1,  # the job's number is not too large
                "features": 1,  # its payload is one of features
                "sums": 1,  # or of sums
                "broken": 1,  # no such kind, or bits set that are zero
            }
        )

    @property
    def payload_words(self) -> data.ArrayLayout:
        """Describe a payload in beats: its last one is the last word, wherever that was.

        The others are the words from 0 on, so what a shorter payload leaves over is in between.
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
        """Describe what is judged of a frame behind its port."""
        return data.StructLayout({"packet": self.packet, "brings": 1})

    @property
    def arrival(self) -> data.StructLayout:
        """Describe a frame behind its port: what is judged of it, and its payload."""
        return data.StructLayout({**self.judged.members, "payload": self.payload_words})

    @property
    def payload_fifo(self) -> FifoParams:
        """Return the sizes of the queue of payloads; whoever sends sees to it that one fits."""
        style = "distributed" if self.tasks <= DISTRIBUTED_WORDS else "block"
        width = self.payload_words.size
        return FifoParams(width=width, depth=self.tasks, style=style, refuses=False)
