"""Says in words why the switch refuses a command, for documents and drivers."""

from hdl.switch.params import WHY_REFUSED, Refusal

REASONS = WHY_REFUSED | {
    Refusal.NO_SUCH_PORT: "`job_ports` has ports that are not there",
    Refusal.BAD_SLOTS: "`job_depth` is 0, or `job_base` + `job_depth` above D",
    Refusal.SLOTS_TAKEN: "another active job has some of the aggregators",
}
