"""Defines the bins of the parts that all systems share."""

from sim.functional.unit_bins import UnitGroup, at_once

FIFO = UnitGroup(
    name="filling",
    sizes=lambda params: {"capacity": params.capacity},
    bins={
        "empty": "level == 0",
        "one inside": "level == 1",
        "full": "level == capacity",
        "full and left": "level == capacity and o_valid and o_ready",
        "refuses": "i_valid and not i_ready",
        "in and out at once": "i_valid and i_ready and o_valid and o_ready",
        "empty again": "level == 0 and before.level > 0",
    },
)

ARBITER = UnitGroup(
    name="contest",
    ports=("i[]_valid", "o_valid", "o_ready"),
    bins={
        "nobody asks": lambda now, before: not any(now["i[]_valid"]),
        "one asks": lambda now, before: sum(now["i[]_valid"]) == 1,
        "several ask": lambda now, before: sum(now["i[]_valid"]) > 1,
        "all ask": lambda now, before: all(now["i[]_valid"]),
        "all wait": lambda now, before: all(now["i[]_valid"]) and not now["o_ready"],
    },
)

READ_ARBITER = UnitGroup(
    name="contest",
    ports=("i[]_arvalid", "i[]_rready"),
    bins={
        "several ask": lambda now, before: sum(now["i[]_arvalid"]) > 1,
        "all ask": lambda now, before: all(now["i[]_arvalid"]),
        "memory takes no burst": "o_arvalid and not o_arready",
        "a master holds the beats of others": lambda now, before: (
            now["o_rvalid"] and not now["o_rready"] and any(now["i[]_rready"])
        ),
        "a burst ends in the cycle before another's beat": (
            "before.o_rvalid and before.o_rready and before.o_rlast and o_rvalid"
        ),
    },
)

ROUND_ROBIN = UnitGroup(
    name="turns",
    when=("take",),
    sizes=lambda params: {"count": params.count},
    bins={
        "one asks": "asking.bit_count() == 1",
        "several ask": "asking.bit_count() > 1",
        "all ask": "asking.bit_count() == count",
        "the last": "index == count - 1",
        "from the last on to the first": "before.index == count - 1 and index == 0",
        "the same again": "index == before.index",
    },
)

EVENT_COUNTERS = UnitGroup(
    name="events at once",
    ports=("events", "clear"),
    bins={
        "none": lambda now, before: not any(now["events"].values()),
        "several": lambda now, before: sum(map(bool, now["events"].values())) > 1,
        "with clear": lambda now, before: any(now["events"].values()) and now["clear"],
    },
)

REGISTER_BLOCK = UnitGroup(
    name="order",
    bins={
        "address before data": "axil_awvalid and not axil_wvalid",
        "data before address": "axil_wvalid and not axil_awvalid",
        "both at once": "axil_wvalid and axil_awvalid",
        "read and write at once": "axil_arvalid and axil_arready and axil_wvalid and axil_wready",
        "answer waits": "axil_bvalid and not axil_bready",
        "write behind an answer": "axil_bvalid and not axil_bready and axil_awvalid",
    },
)

READ_MASTER = UnitGroup(
    name="failures",
    bins={
        "error within a burst": (
            "axi_rvalid and axi_rready and axi_rresp.value > 1 and not axi_rlast"
        ),
        "error at the end of a burst": (
            "axi_rvalid and axi_rready and axi_rresp.value > 1 and axi_rlast"
        ),
        "halted while busy": "halt and busy",
    },
)

ENTERING_BURST = at_once("watch.revive", "bursts_valid and bursts_ready")

GROUPS = {
    "hdl.common.axi_read_port.AxiReadPort": (ENTERING_BURST, at_once("watch.tick", "axi_rvalid")),
    "hdl.common.axi_read_arbiter.AxiReadArbiter": (READ_ARBITER,),
    "hdl.common.axi_write_port.AxiWritePort": (ENTERING_BURST,),
    "hdl.common.fifo.Fifo": (FIFO,),
    "hdl.common.stream_arbiter.StreamArbiter": (ARBITER,),
    "hdl.common.round_robin.RoundRobin": (ROUND_ROBIN,),
    "hdl.common.event_counters.EventCounters": (EVENT_COUNTERS,),
    "hdl.common.register_block.RegisterBlock": (REGISTER_BLOCK,),
    "hdl.common.read_master.ReadMaster": (READ_MASTER,),
}
