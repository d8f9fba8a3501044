"""Holds what each register, field and number of SwitchGNN's switch is for, for its guide."""

from gen.guides.p4sgd_switch_uses import address
from hdl.switch.params import Refusal
from hdl.switchgnn.switch.aggregator_params import TableError

SETTINGS = {
    **address("switch_address", "the switch's own address, which frames are sent to"),
    **address("group_address", "the address that the switch's frames are sent to"),
    "ack_every": "new frames of a port and turn that one ACK answers, at least 1",
    "ack_delay": "cycles after which a new frame is answered at the latest",
    "ingress_mark": "beats waiting at a port above which its ACKs have `ecn`; 0: never",
    "egress_mark": "beats waiting to leave above which RESULTs and RAWs have `ecn`; 0: never",
}
JOB = {
    "job_number": "number of the job",
    "job_epoch": "number of its run, which its frames have",
    "job_ports": "bit p for each port p with a worker of the job",
    "job_base": "index of its first aggregator, the same in each bank",
    "job_depth": "aggregators that it has in each bank, for all open turns together",
    "job_two": "1: two turns are open at a time; 0: one",
    "job_last_step": "number of the last step of its program",
    "job_list_base": "number of the first row of its lists",
    "job_list_rows": "number of rows of its lists",
}
TABLES = {
    "table": "the table that is written: 0 lists, 1 descriptors, 2 the program of `job_number`",
    "table_row": "the first row, or step, that is written",
    "table_word": "the next word",
    "begin_table": "write 1 to begin at `table_row`",
    "write_word": "write 1 to add `table_word`; the last word of a row writes the row",
}
STATE = {
    "identity": "reads as above",
    "version": "reads as above",
    "ports": "reads the number of ports",
    "jobs": "reads J",
    "banks": "reads P",
    "lanes": "reads L",
    "window": "reads W",
    "depth": "reads D",
    "list_rows": "reads the rows of lists that there are, of all jobs",
    "descriptor_rows": "reads the rows of descriptors that there are, of all jobs",
    "start_job": "write 1 to start `job_number` anew, as the registers of the job say",
    "stop_job": "write 1 to take no more frames of `job_number`",
    "clear_counters": "write 1 to set all counters to zero, but those of table errors",
    "busy": "reads 1 while a job is being started; its registers must not change meanwhile",
    "refused": "reads 1 if the last command had no effect",
    "reason": "reads why",
    "clearing_counters": "reads 1 while verdicts are not counted, also after reset",
    "clearing_banks": "reads 1 while aggregators are cleared after a reset",
    "active_jobs": "reads bit j as 1 while job j is active",
}
COUNTS = {
    "counter_port": "the port whose counters are shown; one that is not there has 0",
    "counter_verdict": "the number of the verdict",
    "port_counter": "the number of a port's counter",
    "total_counter": "the number of a counter of the switch",
    "verdict_count": "reads the frames that came by the port and met the verdict",
    "port_count": "reads the port's counter",
    "total_count": "reads the switch's counter",
    "error_outside": "reads how many errors OUTSIDE `job_number` has had since its start",
    "error_unused": "reads how many errors UNUSED it has had",
    "error_complete": "reads how many errors COMPLETE it has had",
    "error_no_such_row": "reads how many errors NO_SUCH_ROW it has had",
    "first_cause": "reads the cause of the job's first table error",
    "first_turn": "reads its turn",
    "first_row": "reads the row of the list; 0 of a PARTIAL",
    "first_aggregator": "reads the number of the aggregator; 0 with NO_SUCH_ROW",
}
MEMORY = {
    "table_ports": "reads N, the number of ports of memory",
    "table_address_bits": "reads the width of a byte address behind each port",
    "list_line": "the beat of 32 bytes, behind every port, at which the lists begin",
    "descriptor_line": "the beat of 32 bytes, behind every port, at which the descriptors begin",
    "table_timeout": "cycles without progress after which a port is abandoned; 0: never",
    "revive_tables": "write 1 to use broken ports again that owe nothing",
    "tables_broken": "reads bit k as 1 if port k no longer answers, or answered without a request",
    "tables_silent": "reads bit k as 1 if that is since no answer came",
    "tables_owe": "reads bit k as 1 while port k has still to answer",
    "tables_failed": "reads bit k as 1 if a beat of port k was bad since `clear_counters`",
    "table_failures": "reads the number of such beats, up to its highest value",
}
LINKS = {
    "link_ports": "reads the number of ports, the last ones, that lead to other switches",
    "link_window": "reads the PARTIALs of a turn that may be under way by each of them",
    "above": "1: the last port leads to the switch above, which ends turns",
    "far_port": "number of the port by which the other switches reach this one",
    "link_timeout": "cycles that the oldest PARTIAL may lack an ACK until all are repeated",
}
VERDICTS = {
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
    "WRONG_RUN": "its epoch is not the job's",
    "WRONG_WORKER": "its bm is not exactly the bit of the port that it came by",
    "WRONG_JOB": "its job is not active, or has nobody at this port",
    "MALFORMED": "its length is wrong, its kind is none, or bits are set that are zero",
    "FOREIGN": "its destination, ethertype or version is another",
    "CORRUPT": "the MAC says that its checksum is wrong: `tuser` is 1 with its last beat",
    "ACKNOWLEDGED": "an ACK of PARTIALs, by another switch",
    "ADVANCED": "an ADVANCE of the switch above, which ends a turn",
}
#: verdicts that need nothing but the frame and the jobs, in the order in which they are looked for
JUDGED = ("CORRUPT", "FOREIGN", "MALFORMED", "WRONG_JOB", "WRONG_WORKER", "WRONG_RUN", "MISPLACED")
ERRORS = {
    TableError.OUTSIDE: "the aggregator is not one of the turn's",
    TableError.UNUSED: "the block expects no contribution to it",
    TableError.COMPLETE: "its sum has all contributions of the turn already",
    TableError.NO_SUCH_ROW: "the row is not below `job_list_rows`, or memory has not given it;"
    " counted once a row",
}
REFUSALS = {
    Refusal.NONE: "it had an effect",
    Refusal.BUSY: "a job is being started",
    Refusal.NO_SUCH_JOB: "`job_number` is not below J",
    Refusal.NO_PORTS: "`job_ports` is 0",
    Refusal.NO_SUCH_PORT: "`job_ports` has ports that are not there",
    Refusal.BAD_SLOTS: "`job_depth` is 0, or `job_base` + `job_depth` above D",
    Refusal.PORTS_TAKEN: "another active job has some of the ports",
    Refusal.SLOTS_TAKEN: "another active job has some of the aggregators",
}
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
