"""Uses all options of a build in one work request, at the width of Gen3 x16."""

import random
from dataclasses import replace

from hdl.gather.engine_params import GatherEngineParams
from hdl.gather.params import ReadOrder
from sim.gather.golden.rows import reads
from sim.gather.rates import ORDERS
from sim.gather.surroundings.card_system import CardParams
from sim.harness.streams import crossed, never, often
from tests.hdl.gather import draw
from tests.hdl.gather.engine_bench import CARD, Bench, Consumer, on_card

ALL = GatherEngineParams(tags=64, address_bits=16, outputs="all", kept_parts=512, card_idxs=True)

test_engine_options = on_card([CardParams(engine=ALL)], __name__)


@crossed(stall=[0, 128], us=500)
async def equal_idxs_on_the_card(dut, stall):
    """Each row is read once, without any other read, and reaches the consumer or device memory."""
    bench = await Bench(dut).begin(ar_stall=stall, r_stall=stall, w_stall=stall)
    consumer = Consumer(bench, often if stall else never)
    for size in [4, 64, random.choice([60, 132, 260]), 1028]:
        table, order = draw.table(size), random.choice(list(ReadOrder))
        some = random.sample(range(min(table.rows, 200)), 4)  # small idxs have different hashes
        idxs = [*some * 5, table.rows]
        size = random.choice([4, 8])
        on_card = {"place": CARD + size * random.randrange(200), "idx_bytes": size}
        how = {"order": order.value, "coalesce": True}
        request = await bench.on_card(table, idxs, **on_card, **how)
        await bench.registers.write(clear_counters=1)
        await consumer.gather(replace(request, streamed=True))
        await bench.gather(replace(request, destination=4 * random.randrange(1000)))
        once = len(reads(table, [*some, table.rows], ORDERS[order]))
        assert (await bench.card.counters())["reads"] == 2 * once
