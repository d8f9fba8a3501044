"""Says in words why the switch refuses a command or an addition, for documents and drivers."""

from hdl.switch.params import WHY_REFUSED, Refusal
from hdl.switchgnn.switch.banks.aggregator_params import TableError

TABLE_ERRORS = {
    TableError.OUTSIDE: "the aggregator is not one of the turn's",
    TableError.UNUSED: "the block expects no contribution to it",
    TableError.COMPLETE: "its sum has all contributions of the turn already",
    TableError.NO_SUCH_ROW: "the row is not below `job_list_rows`, or memory has not given it;"
    " counted once a row",
}
REASONS = WHY_REFUSED | {
    Refusal.NO_SUCH_PORT: "`job_ports` has ports that are not there",
    Refusal.BAD_SLOTS: "`job_depth` is 0, or `job_base` + `job_depth` above D",
    Refusal.SLOTS_TAKEN: "another active job has some of the aggregators",
}
