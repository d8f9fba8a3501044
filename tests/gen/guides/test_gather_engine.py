"""Checks that a gather engine's guide is whole, and a model made from it equals the golden model.

That it does what the hardware does is ``test_gather_engine_on_rtl.py``.
"""

import random

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from gen.guides import gather_engine_uses as uses
from gen.guides.gather_engine import guide, values
from hdl.common.rings import Fault
from hdl.gather.engine_params import Outcome
from hdl.gather.params import ReadOrder
from hdl.gather.registers import constants, engine_registers
from hdl.pcie.descriptors import Cause
from sim.gather.golden.engine import WorkRequest, rows_of
from sim.gather.golden.engine import carry_out as golden_carry_out
from sim.gather.golden.ring import pack, unpack
from sim.gather.golden.rows import Table
from sim.gather.golden.rows import reads as golden_reads
from sim.gather.rates import ORDERS
from tests.gen.guides import gather_engine_from_the_guide as independent
from tests.gen.guides.bench import check_text

DESIGN = find_design("gather-engine")
BUILDS = (
    *({"preset": preset} for preset in DESIGN.presets),
    {"preset": "tiny", "outputs": "both", "kept_parts": 512, "card_idxs": True},
    {"preset": "tiny", "outputs": "stream", "descriptors": 4},
)
HOST_BYTES, DEVICE_BYTES = 1 << 16, 1 << 12


@pytest.fixture(params=BUILDS, ids=lambda build: "-".join(map(str, build.values())))
def params(request):
    return DESIGN.params_of(**request.param)


def sizes_of(params):
    """Return the sizes as a host reads them in registers and in the guide."""
    fixed, names = constants(params), independent.Sizes.__annotations__
    told = {name: fixed[name] for name in names if name in fixed}
    return independent.Sizes(**told, max_read=independent.largest_read(guide(params)))


def test_every_counter_and_code_is_told(params):
    assert {*uses.OUTCOMES} == {*Outcome}
    assert list(uses.CAUSES) == list(Cause)
    assert list(uses.ORDERS) == list(ReadOrder)
    assert list(uses.FAULTS) == [fault for fault in Fault if fault is not Fault.WRITE]
    assert len(values(params)["counts"]) == len(uses.COUNTED)


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 13 + params.to_stream + bool(params.descriptors)
    assert ("`coalesce` does nothing, and" in text) == (not params.kept_parts)
    check_text(text, engine_registers(params))
    assert independent.largest_read(text) == params.max_read


def some_request(rng):
    """Draw a request, of which some field may break a rule."""
    size = 4 * rng.randrange(1, 100)
    count, wide = rng.randrange(9), rng.randrange(2)
    fields = {
        "idx_address": 8 * rng.randrange(64),
        "count": count,
        "base": 1024 + 4 * rng.randrange(100),
        "rows": rng.randrange(1, 60),
        "row_bytes": size,
        "stride": rng.choice((size, size + 4, 0)),
        "completion": 16 * rng.randrange(16),
        "destination": 4 * rng.randrange(100),
        "tag": rng.randrange(1 << 16),
        "wide": wide,
        "order": rng.randrange(3),
    }
    wrong = {
        "idx_address": 4 + 8 * rng.randrange(9),  # wrong where idxs have 8 bytes
        "base": 1026,
        "rows": rng.choice((0, (1 << 20) - 1, 1 << 20)),
        "row_bytes": rng.choice((0, 6, 4096, 4100)),
        "stride": rng.choice((6, (1 << 14) - 4, 1 << 14)),
        "completion": 8,
        "destination": rng.choice((2, (1 << 20) - size * count, (1 << 20) - size * count + 4)),
        "order": 3,
    }
    name = rng.choice([None, *wrong])
    return independent.Request(**fields | ({name: wrong[name]} if name else {}))


def test_the_model_is_the_golden_model():
    rng = random.Random(1)
    params = DESIGN.params_of("tiny")
    sizes, ended = sizes_of(params), set()
    host = np.frombuffer(rng.randbytes(HOST_BYTES), np.uint8).copy()
    for _ in range(400):
        host[: 64 * 24] = np.array([rng.randrange(64) for _ in range(192)], "<u8").view(np.uint8)
        mine, theirs = np.zeros(1 << 20, np.uint8), np.zeros(1 << 20, np.uint8)
        request = some_request(rng)
        table = Table(
            base=request.base,
            rows=request.rows,
            row_bytes=request.row_bytes,
            stride=request.stride,
        )
        golden = WorkRequest(
            idx_address=request.idx_address,
            count=request.count,
            table=table,
            destination=request.destination,
            completion_address=request.completion,
            idx_bytes=request.idx_bytes,
            order=request.order,
            tag=request.tag,
        )
        assert golden.legal(20, 1 << 20) & (request.stride < 1 << 14) == bool(
            independent.legal(request, sizes)
        )
        if request.rows * request.stride + request.row_bytes + request.base > HOST_BYTES:
            continue  # the golden model has no memory there
        found = independent.carry_out(host, mine, request, sizes, params.max_read)
        ended.add(found.completion[2])
        if found.completion[2] == Outcome.ILLEGAL.value:
            assert not mine.any()
            continue
        told = golden_carry_out(host, theirs, golden, 20)
        assert found.completion == independent.completion(told.tag, told.outcome, 0, told.beyond)
        assert np.array_equal(mine, theirs)
        assert found.rows == rows_of(host, theirs, golden)
        idxs = golden.idxs(host, theirs)
        asked = golden_reads(table, idxs, ORDERS[ReadOrder(request.order)], params.max_read)
        assert found.reads[len(found.reads) - len(asked) :] == asked
    assert ended == {Outcome.DONE.value, Outcome.ILLEGAL.value}


def test_a_descriptor_is_the_golden_models():
    rng = random.Random(2)
    for _ in range(100):
        request = some_request(rng)
        found = unpack(independent.descriptor(request))
        assert not found.malformed
        assert pack(found.request) == independent.descriptor(request)
        assert found.request.table.stride == request.stride
        assert found.request.completion_address == request.completion
        assert found.request.idx_bytes == request.idx_bytes


def test_the_bytes_of_a_descriptor_are_told():
    text = guide(DESIGN.params_of("tiny", descriptors=4))
    for name, (first, size) in independent.FIELDS.items():
        place = f"{first} to {first + size - 1}" if size > 1 else f"{first}"
        assert f"| {place} | {name} |" in text, name


def test_the_known_answer_is_the_models():
    params = DESIGN.params_of("tiny")
    known = values(params)["known"]
    request, host = known_request(known), known_host(known)
    device = np.zeros(1 << 12, np.uint8)
    found = independent.carry_out(host, device, request, sizes_of(params), params.max_read)
    assert found.completion.hex(" ") == known["completion"]
    assert [(f"0x{at:X}", size) for at, size in found.reads] == known["reads"]
    for address, octets, _ in known["written"]:
        assert device[int(address, 16) :][:8].tobytes().hex(" ") == octets


def known_request(known):
    """Return the request of the known answer."""
    names = ("idx_address", "base", "destination")
    return independent.Request(
        **{name: int(known[name], 16) for name in names},
        **{name: known[name] for name in ("rows", "row_bytes", "stride", "tag")},
        count=len(known["idxs"]),
        completion=int(known["completion_address"], 16),
    )


def known_host(known):
    """Return host memory of the known answer; bytes that are not given are 0xA5."""
    host = np.full(HOST_BYTES, 0xA5, np.uint8)
    array, base = bytes.fromhex(known["array"]), int(known["base"], 16)
    host[int(known["idx_address"], 16) :][: len(array)] = np.frombuffer(array, np.uint8)
    for idx in range(known["rows"]):
        row = np.array([idx, 2 * idx], "<u4").view(np.uint8)
        host[base + idx * known["stride"] :][:8] = row
    return host
