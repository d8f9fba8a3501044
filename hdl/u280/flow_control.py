"""Computes priority flow control (PFC) of a card's link: how much room a pause needs.

Ethernet drops packets that find no room. With PFC (IEEE 802.1Q clause 36, once 802.1Qbb; IEEE 802.3
annex 31D) the receiver pauses one priority of the far end in time. A pause takes effect late, and
:attr:`FlowControlParams.headroom` is all that may come until then.
"""

from collections.abc import Collection

from amaranth.hdl import Const

from hdl.common.packet_buffer import PacketBufferParams
from hdl.common.packets import MAX_MTU, PRIORITY_COUNT
from hdl.common.params import Params, same_as, whole

WORD_BYTES = 64  #: bytes of a beat, and of a word of a buffer
LINE_BITS_PER_NS = 100
#: bytes around a frame: preamble and start of frame 8, checksum 4, least gap 12
AROUND_BYTES = 24
#: bits on the wire of the packet that fills a buffer the fastest: 65 bytes, in two words
DENSEST_BITS = 8 * (WORD_BYTES + 1 + AROUND_BYTES)
DENSEST_WORDS = 2
#: bits on the wire from the end of that packet's first word to the next packet
REST_BITS = DENSEST_BITS - 8 * (8 + WORD_BYTES)
PAUSE_BITS = 8 * (60 + AROUND_BYTES)
#: IEEE 802.3, 31B.3.7 and 31D: a station at 100 Gb/s begins no packet later than so many quanta
#: after the last bit of a pause has come, both measured at the medium
REACTION_QUANTA = 394
QUANTUM_BITS = 512
#: IEEE 802.3's sum of delays, there and back, of a 100GBASE-R MAC, PCS, RS-FEC, PMA and PMD; this
#: and REACTION_QUANTA as in "How to Compute Headroom for Lossless Ethernet Links", besthub.dev
INTERFACE_BITS = 122_880
FIBRE_NS_PER_METRE = 5
HOLD_CYCLES = 16  #: cycles that the MAC wants each level of a request (PG203, TX Pause Generation)
MAC_CYCLE_BITS = 311  #: bits of the line in a cycle of the MAC's clock, rounded up
#: cycles from a word at the MAC to the request: MacReceive, ``used``, comparison, request, and a
#: register of the MAC's, once the last level has been held
LOGIC_CYCLES = HOLD_CYCLES + 6

#: words in the registers and FIFOs from a buffer to the core, and those that come while a request
#: of the core is on its way to the MAC, by a register and a synchroniser
BETWEEN_WORDS = 64

#: length of a pause that is sent: it ends by itself after 21 us if nobody refreshes it, and is
#: refreshed four times until then, so that one that is damaged is made up for
PAUSE_QUANTA = 4096
REFRESH_QUANTA = PAUSE_QUANTA // 4


class FlowControlParams(Params):
    """Sets the sizes of a link, and of a class's buffer at its end."""

    beats: int = same_as(PacketBufferParams, "words", default=4096)  #: beats of a class's buffer
    #: kind of memory from which Vivado builds the buffer
    style: str = same_as(PacketBufferParams, "style", default="ultra")
    #: bytes of the longest frame of either end, checksum included
    frame_bytes: int = whole(64, 16383, default=MAX_MTU + 4)
    fibre_metres: int = whole(0, 40_000, default=100)  #: metres of fibre between the ends

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop_above < self.longest_words:
            raise ValueError(
                f"beats must be more than {self.headroom + self.longest_words} for a link of"
                f" {self.fibre_metres} m: {self.beats}"
            )

    @property
    def longest_words(self) -> int:
        """Return the number of words of the longest packet."""
        return -(-(self.frame_bytes - 4) // WORD_BYTES)

    @property
    def blind_bits(self) -> int:
        """Return the bit times in which the far end may begin packets after one too many.

        Our logic; our own longest frame, which the pause waits for; the pause; the way there; the
        far end's reaction; the way back; our MAC's own delays, sending and receiving.
        """
        return (
            LOGIC_CYCLES * MAC_CYCLE_BITS
            + 8 * (self.frame_bytes - 4 + AROUND_BYTES)
            + PAUSE_BITS
            + 2 * self.fibre_metres * FIBRE_NS_PER_METRE * LINE_BITS_PER_NS
            + REACTION_QUANTA * QUANTUM_BITS
            + INTERFACE_BITS
        )

    @property
    def headroom(self) -> int:
        """Return the number of words that may come after the one that is too many.

        The second word of its packet, as many of the densest packets as :attr:`blind_bits` has
        room for behind it, one of them a word longer if there is time left, and the longest packet,
        which the far end began with the last bit that it was allowed. IEEE 802.1Q, annex N, counts
        bits; a buffer of words fills faster.
        """
        packets, left = divmod(self.blind_bits - REST_BITS, DENSEST_BITS)
        densest = packets * DENSEST_WORDS + (left >= 8 * WORD_BYTES)
        return DENSEST_WORDS - 1 + densest + self.longest_words

    @property
    def stop_above(self) -> int:
        """Return the number of words inside above which a pause is asked for."""
        return self.beats - 3 - self.headroom

    @property
    def resume_at(self) -> int:
        """Return the number of words inside at which the far end may go on.

        It is half, so that the far end is back in time.
        """
        return self.stop_above // 2

    @property
    def behind(self) -> int:
        """Return the number of words that may still leave the buffer after its reader wants none.

        The reader requests a pause then, too. All that is inside and all that comes until the far
        end obeys fits the buffer: it would have requested a pause by itself. The rest is between
        buffer and reader, or comes while the reader's request is on its way.
        """
        return self.beats + BETWEEN_WORDS


ONE, NONE, BUS = Const(1, 1), Const(0, 1), PRIORITY_COUNT + 1
KINDS_OF_FRAMES = ("gcp", "pcp", "gpp", "ppp")  #: control and pause, global (g) and by priority (p)

#: Inputs of the MAC that never change (PG203, "RX Pause Termination"): frames of PFC are known by
#: type, group address and opcode, and global pause is not obeyed: it would stop all classes.
TIED = {
    **{f"ctl_rx_enable_{kind}": Const(kind[0] == "p", 1) for kind in KINDS_OF_FRAMES},
    **{
        f"ctl_rx_check_{what}_{kind}": NONE if what in ("sa", "ucast") else ONE
        for kind in KINDS_OF_FRAMES
        for what in ("etype", "mcast", "opcode", "sa", "ucast")
    },
    **{f"ctl_tx_pause_quanta{k}": Const(PAUSE_QUANTA, 16) for k in range(BUS)},
    **{f"ctl_tx_pause_refresh_timer{k}": Const(REFRESH_QUANTA, 16) for k in range(BUS)},
    "ctl_tx_resend_pause": NONE,
}
ENABLES = ("ctl_rx_pause_enable", "ctl_tx_pause_enable")  #: inputs with a bit for each priority


def enabled(priorities: Collection[int]) -> dict[str, Const]:
    """Return the inputs of the MAC that say which priorities are paused."""
    return dict.fromkeys(ENABLES, Const(sum(1 << priority for priority in priorities), BUS))
