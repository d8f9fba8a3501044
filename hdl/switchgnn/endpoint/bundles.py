"""Defines the endpoint's bundles of fixed size, and the names of verdicts, states and causes."""

from amaranth.lib import data, enum
from amaranth.utils import exact_log2

from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.protocol import ACK_BITS, Kind

BEAT_BITS = 8 * BEAT_BYTES
SLOTS = 4  #: turns that are stored: two may be open, and the next two are loaded ahead
SLOT_BITS = exact_log2(SLOTS)
UNDER_WAY = 64  #: most orders whose records are being read, and most jobs whose payloads are
TABLE_CLIENTS = 3  #: readers of tables: the loader of turns, records of lists, records of sources

#: Describes an order to send a frame of a turn's list; ``again``: it was sent before.
ORDER = data.StructLayout({"seq": 32, "again": 1})

#: Describes a request to the table of sources. ``answer``: another worker, at the ports in ``raw``,
#: needs the feature; else this worker needs it.
LOOKUP = data.StructLayout({"answer": 1, "turn": 32, "source": 32, "raw": 32})

#: Describes the content of an ACK.
ACKNOWLEDGEMENT = data.StructLayout({"valid": 1, "base": 32, "bitmap": ACK_BITS})

#: Describes a beat of a table; ``failed``: the bus answered with an error.
TABLE_BEAT = data.StructLayout({"valid": 1, "failed": 1, "data": BEAT_BITS})

#: Describes a beat of a payload; ``failed``: the bus answered with an error.
PAYLOAD_BEAT = data.StructLayout({"failed": 1, "data": BEAT_BITS})

#: Describes the report of a frame whose last beat leaves.
LEAVING = data.StructLayout({"valid": 1, "kind": Kind, "again": 1})

#: Describes the settings of a :class:`hdl.switchgnn.endpoint.token_bucket.TokenBucket`.
RATE_SETTINGS = data.StructLayout(
    {
        "enabled": 1,
        "most": 17,  # beats in 65,536 cycles, up to 65,536
        "least": 17,
        "step": 16,  # growth of the rate after a round trip without a halving
        "burst": 12,  # beats that may leave at once after a pause
        "round_trip": 24,  # cycles of a round trip
    }
)


class Verdict(enum.Enum, shape=5):
    """Names the verdicts on frames; from WRONG_RUN on, the last one that applies counts."""

    NONE = 0  #: there was no frame
    SUM = 1  #: RESULT: the sum was missing
    FEATURE = 2  #: RAW: the feature was missing
    REPEATED = 3  #: RESULT, RAW: the item is not missing any more, or was never wanted
    UNWANTED = 4  #: it is of a kind that no worker takes, or of no aggregator or source of the job
    ACKNOWLEDGED = 5  #: ACK
    ADVANCED = 6  #: ADVANCE: it ends a turn
    ASKED = 7  #: RAWFETCH: it waits for its answer
    UNSENT = 8  #: RAWFETCH: its turn has not begun, or too many wait
    UNLOADED = 9  #: it is of an open turn whose tables are not loaded yet
    CLOSED = 10  #: it is of a turn that is not open; ADVANCE: it ends no open turn
    WRONG_RUN = 11  #: it is of another epoch
    WRONG_WORKER = 12  #: its bit is not the worker's
    WRONG_JOB = 13  #: it is of another job, or none runs
    MALFORMED = 14  #: it has a wrong length or kind, or bits set that must be zero


class State(enum.Enum, shape=3):
    """Names the states of the endpoint."""

    IDLE = 0  #: no job has run, or the last was stopped
    RUNNING = 1  #: a job runs
    STOPPING = 2  #: a job ends: buses and the frame that leaves are waited for
    FINISHED = 3  #: all turns are over: all sums and copies are in memory
    FAILED = 4  #: the job was abandoned, for the cause


class Cause(enum.Enum, shape=3):
    """Names why a job was abandoned."""

    NONE = 0  #: no job was abandoned
    TABLES = 1  #: memory answered a read of a table with an error, or not in time
    FEATURES = 2  #: memory answered a read of a payload with an error, or not in time
    SUMS = 3  #: memory answered a write of a sum or copy with an error, or not in time
    PROGRAM = 4  #: an address of a turn record is no multiple of 512, or beyond memory
    LIST = 5  #: the kind of a send record is neither FEATURE nor PARTIAL
