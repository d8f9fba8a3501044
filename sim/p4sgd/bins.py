"""Defines the bins of functional coverage of P4SGD's units."""

from typing import Any

from sim.functional.unit_bins import PortValues, UnitGroup


def high(events: Any) -> int:
    """Return how many events of a struct happen in a cycle."""
    return sum(map(bool, events.values()))


LOSS_UNIT = UnitGroup(
    name="saturations of a beat",
    bins={
        "derivative": "saturations.derivative > 0",
        "derivatives of several lanes": "saturations.derivative > 1",
        "delta": "saturations.delta > 0",
        "deltas of several lanes": "saturations.delta > 1",
    },
)

SLOT_TABLE = UnitGroup(
    name="slots",
    bins={
        "none under way": "outstanding == 0",
        "all under way": "outstanding == slot_count > 0",
        "last slot, then the first": "before.next_slot == slot_count - 1 and next_slot == 0",
        "last use, then the first": "before.next_use == 255 and next_use == 0",
        "starts while one arrives": "start and arrived",
        "starts while one is delivered": "start and delivered",
        "one arrives, one is delivered": "arrived and delivered",
    },
)

TIMERS = UnitGroup(
    name="retries",
    bins={
        "for ever": "overdue_valid and settings.retries == 0",
        "limited": "overdue_valid and settings.retries > 0",
        "gives the switch up": "abandoned and not before.abandoned and not peers_missing",
        "gives other workers up": "peers_missing and not before.peers_missing",
        "pending while one is overdue": "overdue_valid and pending",
        "one is sent while one is overdue": "overdue_valid and sent",
    },
)

TRANSMITTER = UnitGroup(
    name="who is sent",
    bins={
        "all three wait": "partial_valid and acks_valid and overdue_valid",
        "no slot is free": "partial_valid and not may_start",
        "first time": "sent and not retransmission",
        "again": "retransmission",
        "overdue but done": "before.overdue_valid and not overdue_valid and not retransmission",
    },
)

TRANSPORT = UnitGroup(
    name="protocol",
    ports=("events",),
    bins={
        "sends while one comes": lambda now, before: (
            now["events"]["sent"] and high(now["events"]) > 1 + now["events"]["retransmissions"]
        ),
        "all slots under way": "outstanding == settings.slot_count > 0",
        "last slot, then the first": (
            "before.oldest_slot == settings.slot_count - 1 and oldest_slot == 0"
        ),
        "held back": "not allowed and outstanding",
    },
)

AGGREGATOR = UnitGroup(
    name="answers",
    bins={
        "a sum is complete": "verdict.name == 'ADDED' and answered",
        "a sum is not": "verdict.name == 'ADDED' and not answered",
        "a repeated one is answered": "verdict.name == 'REPEATED_PARTIAL' and not answer.acked",
        "a repeated one is pending": "verdict.name == 'REPEATED_PARTIAL' and answer.acked",
        "all have acknowledged": "verdict.name == 'ACKNOWLEDGED' and answered",
        "not all have": "verdict.name == 'ACKNOWLEDGED' and not answered",
        "a repeated acknowledgement is answered": (
            "verdict.name == 'REPEATED_ACK' and not answer.header.is_agg"
        ),
        "a repeated acknowledgement is pending": (
            "verdict.name == 'REPEATED_ACK' and answer.header.is_agg"
        ),
        "a previous acknowledgement is answered": "verdict.name == 'PREVIOUS_ACK' and answered",
    },
)

#: what a switch in a tree meets; these verdicts are on what its parent says
TREE = UnitGroup(
    name="in a tree",
    ports=("answered", "answer"),
    bins={
        **{
            f"parent: {name}": f"verdict.name == '{name}'"
            for name in ("FULL", "FREED", "PENDING", "REPEATED", "UNASKED")
        },
        "a sum goes up": lambda now, before: goes_up(now) and now["answer"]["partial"],
        "an acknowledgement goes up": lambda now, before: (
            goes_up(now) and not now["answer"]["partial"]
        ),
        "it goes up again": lambda now, before: (
            goes_up(now) and now["verdict"].name in ("REPEATED_PARTIAL", "REPEATED_ACK")
        ),
        "a new use while a job drains": "verdict.name == 'DRAINING'",
    },
)


def goes_up(now: PortValues) -> bool:
    """Return whether a switch says something to its parent."""
    return now["answered"] and bool(now["answer"].get("up"))


#: ``refused`` has a meaning of its own, also in cycles without ``valid``
JOB_TABLE = UnitGroup(
    name="refusals",
    bins={
        name: f"refused.name == '{name}'"
        for name in (
            "CORRUPT",
            "FOREIGN",
            "MALFORMED",
            "WRONG_JOB",
            "WRONG_WORKER",
            "WRONG_RUN",
            "WRONG_SLOT",
            "NOT_GRANTED",  # of tenants
            "WRONG_WAY",  # of tenants in a tree
        )
    },
)

CONTROL = UnitGroup(
    name="failures",
    bins={
        "words and labels at once": "words_failed and labels_failed",
        "words and network at once": "words_failed and abandoned",
        "reset while busy": "soft_reset and busy",
        "reset while idle": "soft_reset and not busy",
        "start while busy": "start and busy",
    },
)

#: what a switch with shadow copies meets beside others
SHADOW = UnitGroup(
    name="shadow copies",
    exists=lambda params: params.shadow,
    bins={
        "a use begins in either copy": "verdict.name == 'ADDED' and answer.header.use % 2",
        "a use comes before a sum is complete": "verdict.name == 'EARLY'",
        "an acknowledgement is refused": "verdict.name == 'PREMATURE_ACK'",
        "an old use comes": "verdict.name == 'STALE'",
    },
)

HALVES = UnitGroup(
    name="halves",
    exists=lambda params: params.ping_pong,
    bins={
        "a read waits for a write": "update and write",
        "one chunk, forward in one half, updated in the other": (
            "update and update_chunk == forward_chunk and update_half != forward_half"
        ),
        "a chunk goes from one half to the other": (
            "write and write_chunk == before.update_chunk and write_half != before.update_half"
        ),
        "the forward stage changes the half": "forward_half != before.forward_half",
    },
)

CHUNK_WALK = UnitGroup(
    name="tiles",
    when=("active",),
    sizes=lambda params: {"max_tile": params.max_tile},
    bins={
        "of one micro-batch": "size == 1 < max_tile",
        "of as many as there can be": "size == max_tile",
        "an epoch's rest": "size < 1 << settings.tile",
        "a mini-batch of one": "tile.first and tile.last",
        "a run of one": "tile.first and tile.final and not odd",
        "of one chunk": "first_chunk and last_chunk and step",
        "mini-batches change": "odd != before.odd",
    },
)

TILE_COUNTER = UnitGroup(
    name="words of a tile",
    when=("active",),
    bins={
        "one plane": "position.first_plane and position.last_plane",
        "one micro-batch": "position.first_member and position.last_member",
        "last plane, micro-batch and chunk at once": (
            "position.last_plane and position.last_member and position.last_chunk and step"
        ),
        "a step in each cycle": "step and before.step",
    },
)

TILE_ENGINE = UnitGroup(
    name="what waits",
    bins={
        "for words": "waiting",
        "for updates": "events.dependency_stall",
        "for deltas": "events.network_stall",
        "for weights of a later tile": "events.memory_stall and not waiting",
        "deltas": "deltas_valid and not deltas_ready",
        "weights": "updated_valid and not updated_ready",
        "results": "results_valid and not results_ready",
        "a chunk that saturated": "events.model_saturation",
    },
)

WEIGHT_MOVER = UnitGroup(
    name="runs and the host",
    bins={
        "halted while the host has weights": "halt and busy and load_valid",
        "the host asks within a run": "peek_valid and not peek_ready and results_ready",
        "both models at once": "architectural_valid and updated_valid",
        "results wait": "results_valid and not results_ready and busy",
        "the bus is broken within a run": "bus.broken and busy and not halt",
        "an answer is dropped": "bus.dropped",
        "memory fails": "failed",
    },
)

ENGINE_SET = UnitGroup(
    name="classes",
    sizes=lambda params: {"classes": params.classes},
    bins={
        "fewer than words of a micro-batch": (
            "classes < settings.bits * settings.chunks and partials_valid"
        ),
        "more than words of a micro-batch": (
            "classes > settings.bits * settings.chunks and partials_valid"
        ),
        "deltas of one wait": "deltas_valid and not deltas_ready",
        "sums of one wait": "partials_valid and not partials_ready",
        "words wait": "words_valid and not words_ready",
        "models are exchanged": "exchanging and settings.data_parallel",
    },
)

BATCH_GATE = UnitGroup(
    name="packets of several classes",
    exists=lambda params: params.classes > 1,
    bins={
        "one comes while one is delivered": "seen and delivered and not vanilla",
        "one comes while one is delivered, in vanilla order": "seen and delivered and vanilla",
        "vanilla order holds one": "vanilla and not allowed",
    },
)

GROUPS = {
    "hdl.p4sgd.loss.loss_unit.LossUnit": (LOSS_UNIT,),
    "hdl.p4sgd.transport.slot_table.SlotTable": (SLOT_TABLE,),
    "hdl.p4sgd.transport.timers.Timers": (TIMERS,),
    "hdl.p4sgd.transport.transmitter.Transmitter": (TRANSMITTER,),
    "hdl.p4sgd.transport.transport.Transport": (TRANSPORT,),
    "hdl.p4sgd.core.engine_set.EngineSet": (ENGINE_SET,),
    "hdl.p4sgd.engine.chunk_walk.ChunkWalk": (CHUNK_WALK,),
    "hdl.p4sgd.engine.model_memory.ModelMemory": (HALVES,),
    "hdl.p4sgd.engine.tile_counter.TileCounter": (TILE_COUNTER,),
    "hdl.p4sgd.engine.tile_engine.TileEngine": (TILE_ENGINE,),
    "hdl.p4sgd.memory.weight_mover.WeightMover": (WEIGHT_MOVER,),
    "hdl.p4sgd.network.batch_gate.BatchGate": (BATCH_GATE,),
    "hdl.p4sgd.switch.aggregator.Aggregator": (AGGREGATOR, SHADOW, TREE),
    "hdl.switch.job_table.JobTable": (JOB_TABLE,),
    "hdl.p4sgd.host.control.Control": (CONTROL,),
}
