"""Defines the bins of the parts that all systems share."""

from sim.functional.unit_bins import UnitGroup, at_once

FIFO = UnitGroup(
    name="filling",
    ports=("level", "i_valid", "i_ready", "o_valid", "o_ready"),
    sizes=lambda params: {"capacity": params.capacity},
    bins={
        "empty": lambda now, before: now["level"] == 0,
        "one inside": lambda now, before: now["level"] == 1,
        "full": lambda now, before: now["level"] == now["capacity"],
        "full and left": lambda now, before: (
            now["level"] == now["capacity"] and now["o_valid"] and now["o_ready"]
        ),
        "refuses": lambda now, before: now["i_valid"] and not now["i_ready"],
        "in and out at once": lambda now, before: (
            now["i_valid"] and now["i_ready"] and now["o_valid"] and now["o_ready"]
        ),
        "empty again": lambda now, before: now["level"] == 0 and before["level"] > 0,
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

ROUND_ROBIN = UnitGroup(
    name="turns",
    ports=("asking", "grant", "index"),
    when=("take",),
    sizes=lambda params: {"count": params.count},
    bins={
        "one asks": lambda now, before: now["asking"].bit_count() == 1,
        "several ask": lambda now, before: now["asking"].bit_count() > 1,
        "all ask": lambda now, before: now["asking"].bit_count() == now["count"],
        "the last": lambda now, before: now["index"] == now["count"] - 1,
        "from the last on to the first": lambda now, before: (
            before["index"] == now["count"] - 1 and now["index"] == 0
        ),
        "the same again": lambda now, before: now["index"] == before["index"],
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
    ports=tuple(f"axil_{ch}{end}" for ch in ("aw", "w", "b", "ar") for end in ("valid", "ready")),
    bins={
        "address before data": lambda now, before: now["axil_awvalid"] and not now["axil_wvalid"],
        "data before address": lambda now, before: now["axil_wvalid"] and not now["axil_awvalid"],
        "both at once": lambda now, before: now["axil_wvalid"] and now["axil_awvalid"],
        "read and write at once": lambda now, before: (
            now["axil_arvalid"]
            and now["axil_arready"]
            and now["axil_wvalid"]
            and now["axil_wready"]
        ),
        "answer waits": lambda now, before: now["axil_bvalid"] and not now["axil_bready"],
        "write behind an answer": lambda now, before: (
            now["axil_bvalid"] and not now["axil_bready"] and now["axil_awvalid"]
        ),
    },
)

READ_MASTER = UnitGroup(
    name="failures",
    ports=("axi_rvalid", "axi_rready", "axi_rresp", "axi_rlast", "halt", "busy"),
    bins={
        "error within a burst": lambda now, before: (
            now["axi_rvalid"]
            and now["axi_rready"]
            and now["axi_rresp"].value > 1
            and not now["axi_rlast"]
        ),
        "error at the end of a burst": lambda now, before: (
            now["axi_rvalid"]
            and now["axi_rready"]
            and now["axi_rresp"].value > 1
            and now["axi_rlast"]
        ),
        "halted while busy": lambda now, before: now["halt"] and now["busy"],
    },
)

ENTERING_BURST = at_once("watch.revive", "bursts_valid and bursts_ready")

GROUPS = {
    "hdl.common.axi_read_port.AxiReadPort": (ENTERING_BURST, at_once("watch.tick", "axi_rvalid")),
    "hdl.common.axi_write_port.AxiWritePort": (ENTERING_BURST,),
    "hdl.common.fifo.Fifo": (FIFO,),
    "hdl.common.stream_arbiter.StreamArbiter": (ARBITER,),
    "hdl.common.round_robin.RoundRobin": (ROUND_ROBIN,),
    "hdl.common.event_counters.EventCounters": (EVENT_COUNTERS,),
    "hdl.common.register_block.RegisterBlock": (REGISTER_BLOCK,),
    "hdl.common.read_master.ReadMaster": (READ_MASTER,),
}
