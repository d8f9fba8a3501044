"""Names what became of a frame in the switch."""

from amaranth.lib import enum


class Verdict(enum.Enum, shape=5):
    """Names what became of a frame; of those from ``WRONG_RUN`` on the last that applies."""

    NONE = 0  #: there was no frame
    ADDED = 1  #: FEATURE, PARTIAL: it is new
    REPEATED = 2  #: FEATURE, PARTIAL: it is not, and is acknowledged at once
    AHEAD = 3  #: FEATURE, PARTIAL: it is beyond the window
    UNLOADED = 4  #: FEATURE, PARTIAL: the turn's aggregators are not loaded yet
    FETCHED = 5  #: FETCH: of an open turn; the sum leaves again if it is complete
    UNREADY = 6  #: FETCH: of an aggregator that the job has not
    DONE = 7  #: DONE: of the oldest open turn, be it once more
    OVER = 8  #: DONE: of a turn that has ended; answered by ADVANCE
    EARLY = 9  #: DONE: of a later turn than the oldest open one
    PASSED = 10  #: RAW, RAWFETCH: handed on
    CLOSED = 11  #: a frame of a turn that is not open
    MISPLACED = 12  #: a kind that no worker may send
    WRONG_RUN = 13  #: it is of another epoch than the job's
    WRONG_WORKER = 14  #: it has not exactly the bit of the port that it came by
    WRONG_JOB = 15  #: it is of no active job, or not of one of this port
    MALFORMED = 16  #: a frame of a wrong length or kind, or with bits set that are zero
    FOREIGN = 17  #: it has another destination, ethertype or version
    CORRUPT = 18  #: its checksum is wrong


class LinkVerdict(enum.Enum, shape=5):
    """Names what became of a frame in a switch with links: those of :class:`Verdict`, and two."""

    NONE = 0
    ADDED = 1
    REPEATED = 2
    AHEAD = 3
    UNLOADED = 4
    FETCHED = 5
    UNREADY = 6
    DONE = 7
    OVER = 8
    EARLY = 9
    PASSED = 10
    CLOSED = 11  #: a frame of a turn that is not open; ADVANCE: of one that has begun already
    MISPLACED = 12  #: a kind that nobody behind that port may send
    WRONG_RUN = 13
    WRONG_WORKER = 14
    WRONG_JOB = 15
    MALFORMED = 16
    FOREIGN = 17
    CORRUPT = 18
    ACKNOWLEDGED = 19  #: ACK: of PARTIALs, by the switch behind the port
    ADVANCED = 20  #: ADVANCE: the switch above has ended a turn
