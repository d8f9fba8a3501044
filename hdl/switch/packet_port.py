"""Receives frames of several beats from a port, and passes on whole good frames only."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from hdl.common.params import Params, same_as, tagged
from hdl.switch.frame_filter import FrameFilter, Quality, word_layout
from hdl.switch.frame_format import FrameFormat


class PacketPortParams(Params, suffix="{frames.suffix}_{words}"):
    """Sets the format of a port's frames, and how many of their beats can wait."""

    frames: FrameFormat  #: format of the frames, of at least two beats
    words: int = same_as(PacketBufferParams, "words", default=512)  #: most beats that can wait
    #: kind of their memory
    style: str = same_as(PacketBufferParams, "style", default="block", tag="_{}")
    #: whether beats leave before their frame is judged
    ahead: bool = tagged("_ahead", default=False)
    #: whether there is a port ``following``
    follows: bool = same_as(PacketBufferParams, "follows", default=False, tag="_follows")
    #: whether frames leave a cycle earlier
    early: bool = same_as(PacketBufferParams, "early", default=False, tag="_early")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frames.beats < 2:
            raise ValueError(
                "frames must be longer than a beat; an IngressPort is for frames of one beat"
            )
        if self.buffer.max_packet_words < self.frames.beats:
            least = self.frames.beats + self.words - self.buffer.max_packet_words
            raise ValueError(
                f"words must be at least {least}, to hold the longest frame: {self.words}"
            )

    @property
    def buffer(self) -> PacketBufferParams:
        """Return the sizes of the buffer of whole frames."""
        return PacketBufferParams(
            shape=word_layout(self.frames).size,
            words=self.words,
            behind=1,
            style=self.style,
            ahead=self.ahead,
            follows=self.follows,
            early=self.early,
        )


class PacketPort(Component):
    """Passes the beats of good frames from ``axis`` to ``packets``, and drops all other frames.

    ``judged`` pulses for every packet that has come, with its ``quality``; ``lost`` is high with it
    if a good packet found no room. All other packets of GOOD quality leave, in order. ``address``
    is the switch's own; ``used`` is the number of beats that wait. Beats are those of
    :func:`hdl.switch.frame_filter.word_layout`.

    With ``params.ahead`` all beats but the last leave before their frame is judged; ``undone`` says
    that the beats of the current frame that have left, up to this cycle, must be ignored.

    Throughput: a beat a cycle; ``axis.tready`` is always high, as a MAC cannot wait. Latency:
    :attr:`latency` from a frame's last beat to its first at ``packets``, or with ``params.ahead``
    from a beat to the same beat. Full: the frame is lost. A frame that begins within two cycles
    after a reset is lost, too.
    """

    latency = FrameFilter.latency + PacketBuffer.latency  #: without ``params.early``

    def __init__(self, params: PacketPortParams) -> None:
        self.latency = FrameFilter.latency + params.buffer.latency
        super().__init__(
            params,
            axis=In(params.frames.axis),
            address=In(48),
            packets=Out(stream.Signature(word_layout(params.frames))),
            judged=Out(1),
            quality=Out(Quality),
            lost=Out(1),
            used=Out(bits_for(params.words)),
            **({"undone": Out(1)} if params.ahead else {}),
            **({"following": Out(params.buffer.following)} if params.follows else {}),
        )

    def build(self, m: Module) -> None:
        m.submodules.filter = judge = FrameFilter(self.params.frames)
        m.submodules.buffer = buffer = PacketBuffer(self.params.buffer)
        connect(m, flipped(self.axis), judge.axis)
        connect(m, buffer.o, flipped(self.packets))
        room = Signal()
        lost_before = Signal()  # a beat of the packet found no room
        lost = Signal()
        good = judge.quality == Quality.GOOD
        m.d.sync += room.eq(buffer.room)
        with m.If(judge.valid):
            m.d.sync += lost_before.eq(0)
        with m.Elif(judge.write):
            m.d.sync += lost_before.eq(lost)
        m.d.comb += [
            judge.address.eq(self.address),
            lost.eq(lost_before | ~room),
            buffer.write.eq(judge.write & ~lost),
            buffer.word.eq(judge.word),
            buffer.ends.eq(judge.valid),
            buffer.keep.eq(good & ~lost),
            self.judged.eq(judge.valid),
            self.quality.eq(judge.quality),
            self.lost.eq(judge.valid & good & lost),
            self.used.eq(buffer.used),
        ]
        if self.params.follows:
            m.d.comb += self.following.eq(buffer.following)
        if self.params.ahead:
            m.d.comb += self.undone.eq(buffer.undone)
