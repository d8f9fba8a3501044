"""Names the verdicts on frames in the switch."""

from amaranth.lib import enum


class Verdict(enum.Enum, shape=5):
    """Names the verdicts on frames; from ``WRONG_RUN`` on, the last one that applies counts."""

    NONE = 0  #: there was no frame
    ADDED = 1  #: FEATURE, PARTIAL: it is new
    REPEATED = 2  #: FEATURE, PARTIAL: it is repeated, and is acknowledged at once
    AHEAD = 3  #: FEATURE, PARTIAL: it is beyond the window
    UNLOADED = 4  #: FEATURE, PARTIAL: the turn's aggregators are not loaded yet
    FETCHED = 5  #: FETCH: it is of an open turn; the sum leaves again if it is complete
    UNREADY = 6  #: FETCH: it is for an aggregator that the job does not have
    DONE = 7  #: DONE: it is of the oldest open turn, also if it is repeated
    OVER = 8  #: DONE: it is of a turn that has ended, and is answered with ADVANCE
    EARLY = 9  #: DONE: it is of a later turn than the oldest open one
    PASSED = 10  #: RAW, RAWFETCH: it is passed on
    CLOSED = 11  #: it is of a turn that is not open
    MISPLACED = 12  #: it is of a kind that no worker may send
    WRONG_RUN = 13  #: it is of another epoch than the job's
    WRONG_WORKER = 14  #: its bit is not exactly that of the port where it came
    WRONG_JOB = 15  #: it is of no active job of this port
    MALFORMED = 16  #: it has a wrong length or kind, or bits set that must be zero
    FOREIGN = 17  #: it has another destination, ethertype or version
    CORRUPT = 18  #: its checksum is wrong


class LinkVerdict(enum.Enum, shape=5):
    """Names the verdicts in a switch with links: those of :class:`Verdict`, and two more."""

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
    CLOSED = 11  #: it is of a turn that is not open; ADVANCE: of one that began already
    MISPLACED = 12  #: it is of a kind that may not come at that port
    WRONG_RUN = 13
    WRONG_WORKER = 14
    WRONG_JOB = 15
    MALFORMED = 16
    FOREIGN = 17
    CORRUPT = 18
    ACKNOWLEDGED = 19  #: ACK: of PARTIALs, by the switch behind the port
    ADVANCED = 20  #: ADVANCE: a switch above has ended a turn
