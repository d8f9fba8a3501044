"""Defines what the endpoint's parts exchange at every size, and the names of what can happen."""

from amaranth.lib import data, enum
from amaranth.utils import exact_log2

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.protocol import ACK_BITS, Kind

BEAT_BITS = 8 * BEAT_BYTES
SLOTS = 4  #: turns that are kept: two may be open, and the next two are loaded ahead
SLOT_BITS = exact_log2(SLOTS)
UNDER_WAY = 64  #: orders whose records are being read, and jobs whose payloads are
TABLE_CLIENTS = 3  #: readers of tables: the loader of turns, records of lists, records of sources

#: Orders a frame of a turn's list to be sent; ``again``: it has left before.
ORDER = data.StructLayout({"seq": 32, "again": 1})

#: Asks the table of sources. ``answer``: another worker wants the feature at the ports
#: in ``raw``; else this worker wants it.
LOOKUP = data.StructLayout({"answer": 1, "turn": 32, "source": 32, "raw": 32})

#: Holds what an ACK says.
ACKNOWLEDGEMENT = data.StructLayout({"valid": 1, "base": 32, "bitmap": ACK_BITS})

#: Holds a beat of a table that has come; ``failed``: the bus did not answer well.
TABLE_BEAT = data.StructLayout({"valid": 1, "failed": 1, "data": BEAT_BITS})

#: Holds a beat of a payload that has come.
PAYLOAD_BEAT = data.StructLayout({"failed": 1, "data": BEAT_BITS})

#: Tells of a frame when its last beat leaves.
LEAVING = data.StructLayout({"valid": 1, "kind": Kind, "again": 1})

#: Sets how tokens are given; see :class:`hdl.switchgnn.endpoint.token_bucket.TokenBucket`.
RATE_SETTINGS = data.StructLayout(
    {
        "enabled": 1,
        "most": 17,  # beats in 65,536 cycles, up to 65,536
        "least": 17,
        "step": 16,  # that the rate grows by after a round trip without a halving
        "burst": 12,  # beats that may leave at once after a pause
        "round_trip": 24,  # cycles
    }
)


class Verdict(enum.Enum, shape=5):
    """Names what became of a frame; of those from WRONG_RUN on the last one that applies."""

    NONE = 0  #: there was no frame
    SUM = 1  #: RESULT: one that was missing
    FEATURE = 2  #: RAW: one that was missing
    REPEATED = 3  #: RESULT, RAW: not missing any more, or never wanted
    UNWANTED = 4  #: a kind that no worker takes, or of no aggregator or source of the job
    ACKNOWLEDGED = 5  #: ACK
    ADVANCED = 6  #: ADVANCE: a turn is over
    ASKED = 7  #: RAWFETCH: it waits for its answer
    UNSENT = 8  #: RAWFETCH: of a turn that has not begun, or too many wait
    UNLOADED = 9  #: a frame of an open turn whose tables have not come yet
    CLOSED = 10  #: a frame of a turn that is not open; ADVANCE: not news
    WRONG_RUN = 11  #: it is of another epoch
    WRONG_WORKER = 12  #: it has another bit than the worker's
    WRONG_JOB = 13  #: it is of another job, or none runs
    MALFORMED = 14  #: a frame of a wrong length or kind, or with bits set that are zero


class State(enum.Enum, shape=3):
    """Names what the endpoint does."""

    IDLE = 0  #: no job, or one that was stopped
    RUNNING = 1
    STOPPING = 2  #: what is under way on the buses and the frame that is leaving are waited for
    FINISHED = 3  #: all turns of the job are over
    FAILED = 4  #: the job was given up: see the cause


class Cause(enum.Enum, shape=3):
    """Names why a job was given up."""

    NONE = 0
    TABLES = 1  #: a read of a table was answered by an error, or not at all
    FEATURES = 2  #: a read of a payload was answered so
    SUMS = 3  #: a write of a sum or a copy was answered so
    PROGRAM = 4  #: a turn's record has an address that is not aligned, or beyond memory
    LIST = 5  #: a record of a list is neither a FEATURE nor a PARTIAL
