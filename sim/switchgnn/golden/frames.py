"""Describes what a frame of SwitchGNN says, however it is laid out on the wire."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """Names what a frame is; `hdl/switchgnn/protocol.py` gives each kind its number."""

    FEATURE = "feature"  # to the switch: is added to the aggregators of its rows, copied as RAW
    PARTIAL = "partial"  # to the switch: a sum that is added to the one aggregator named
    RESULT = "result"  # to a worker: the sum of an aggregator
    RAW = "raw"  # to a worker: a feature as its owner sent it
    ACK = "ack"  # what has arrived of a turn: all below a base, and a bitmap from it on
    ADVANCE = "advance"  # the oldest open turn
    FETCH = "fetch"  # to the switch: that sum again
    DONE = "done"  # to the switch: the sender has all of a turn
    RAWFETCH = "rawfetch"  # to the switch and on to the owner: that feature again


class Quality(StrEnum):
    """Names why bytes are not a frame of ours; of the reasons that apply, the last one counts."""

    MALFORMED = "malformed"  # of a wrong length or kind, or with bits set that are zero
    FOREIGN = "foreign"  # another destination, ethertype or version
    CORRUPT = "corrupt"  # its checksum is wrong


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Holds a frame; fields that its kind does not use are zero.

    Features and sums may be anything that can be added: NumPy's int32 arrays in the models of
    switch and worker, whole numbers where states are explored.
    """

    kind: Kind
    turn: int  # of ADVANCE: the oldest open turn
    seq: int = 0  # FEATURE, PARTIAL: number of the frame in its turn; ACK: all below have arrived
    ecn: bool = False  # RESULT, RAW: the egress was congested; ACK: a queue of what it acknowledges
    list: int = 0  # FEATURE: first row; PARTIAL, RESULT, FETCH: aggregator, index x banks + bank
    rows: int = 0  # FEATURE: how many rows
    source: int = 0  # vertex whose feature it is: FEATURE, RAW, RAWFETCH
    raw: int = 0  # ports: FEATURE, RAW: who gets the feature; RAWFETCH: the owner, to it who asks
    bitmap: int = 0  # ACK: bit k says that seq + k has arrived
    payload: Any = None  # FEATURE, RAW: feature; PARTIAL, RESULT: sum
    bm: int = 0  # the bit of the port of the switch that the worker is at, or the other switch
    job: int = 0
    epoch: int = 0
