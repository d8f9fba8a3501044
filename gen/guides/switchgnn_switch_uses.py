"""Holds what each number, and field of a layout, of SwitchGNN's switch is for, for its guide."""

from gen.guides.p4sgd_switch_uses import VERDICTS as OF_FRAMES

VERDICTS = {
    **{name: OF_FRAMES[name] for name in ("WRONG_RUN", "WRONG_WORKER", "FOREIGN", "CORRUPT")},
    "ADDED": "a new FEATURE or PARTIAL",
    "REPEATED": "a FEATURE or PARTIAL that had come before; it is acknowledged at once",
    "AHEAD": "a FEATURE or PARTIAL beyond the window",
    "UNLOADED": "a FEATURE or PARTIAL of a turn whose aggregators are not ready",
    "FETCHED": "a FETCH of an aggregator of a turn that is ready",
    "UNREADY": "any other FETCH of an open turn",
    "DONE": "DONE of the oldest open turn, be it once more",
    "OVER": "DONE of a turn that has ended",
    "EARLY": "DONE of a later turn",
    "PASSED": "RAW or RAWFETCH, handed on",
    "CLOSED": "any other frame of a turn that is not open",
    "MISPLACED": "a kind that nobody behind its port may send",
    "WRONG_JOB": "its job is not active, or has nobody at this port",
    "MALFORMED": "its length is wrong, its kind is none, or bits are set that are zero",
    "ACKNOWLEDGED": "an ACK of PARTIALs, by another switch",
    "ADVANCED": "an ADVANCE of the switch above, which ends a turn",
}
#: verdicts that need nothing but the frame and the jobs, in the order in which they are looked for
JUDGED = ("CORRUPT", "FOREIGN", "MALFORMED", "WRONG_JOB", "WRONG_WORKER", "WRONG_RUN", "MISPLACED")
PORT_COUNTED = {
    "overflows": "frames lost as the port's queue was full; their worker sends them again",
    "results": "RESULTs that left, repeated ones too",
    "raws": "RAWs that left",
    "marks": "frames that left with `ecn`",
    "raws_dropped": "RAWs that the port did not take in time; their worker asks again",
    "requests_dropped": "RAWFETCHes lost as there was no room; their worker asks again",
    "partials": "PARTIALs that left for another switch, repeated ones too",
    "partials_again": "PARTIALs that left for another switch once more",
    "acks_unknown": "ACKs of PARTIALs that were never sent",
}
TOTAL_COUNTED = {
    "rows": "rows of lists that were added, and PARTIALs and FETCHes",
    "waits_for_task": "cycles with nothing to do",
    "waits_for_list": "cycles that a row was waited for",
    "waits_for_copy": "cycles that room for a copy was waited for",
    "loads": "rows of descriptors that were loaded",
    "holes": "cycles in which no row was begun, to let sums leave",
    "additions": "additions into aggregators",
    "reads": "sums read out of aggregators",
    "turns": "turns that have ended",
}
