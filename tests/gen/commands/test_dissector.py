"""Holds the dissector against frames that the golden models pack, with and without tshark."""

import random
import re
import shutil
import subprocess

import numpy as np
import pytest

from gen.commands.dissector_rows import dissector
from hdl.mina.protocol import Kind as AgreementKind
from hdl.netsparse.protocol import Kind as PrKind
from sim.golden import tenancy_frames
from sim.golden.reduction.frames import WireFrame
from sim.golden.reduction.wide_frames import Operation, WideFrame
from sim.golden.tenancy import Command, Reason, Verb
from sim.harness.pcapng import CaptureWriter
from sim.mina.agreement import frames as agreement
from sim.mina.wire import to_octets
from sim.netsparse.wire import Packet
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.host import gnn_frames
from tests.gen.commands.running import running

ingather = running("dissector")
BITS = random.Random(1).getrandbits
COMMON = {"job": 16, "epoch": 16, "seq": 16, "use": 8}


def drawn(**widths):
    return {name: BITS(width) for name, width in widths.items()}


def frames():
    """Yield the name of a frame's format, its bytes, and values of its fields by their names."""
    fields = drawn(bm=32, **COMMON, saturated=8)
    numbers = np.array([-5, 7, 1 << 30, *range(37)])
    wire = WireFrame(is_agg=True, acked=False, payload=tuple(map(int, numbers[:8])), **fields)
    yield "p4sgd", wire.to_bytes(), {**fields, "is_agg": 1, "acked": 0, "payload": numbers[:8]}
    for operation, count in ((Operation.MAX, 3), (Operation.OR, 40)):
        fields = drawn(bm=32, **COMMON | {"job": 8}, saturated=16, flags=2)
        wire = WideFrame(operation=operation, numbers=numbers[:count], **fields)
        fields |= {"operation": operation, "count": count, "number": numbers[:count]}
        flags = fields.pop("flags")
        fields |= {"is_agg": flags & 1, "acked": flags >> 1}
        yield "allreduce", wire.to_bytes(), fields
    for k, verb in enumerate(Verb):
        widths = {"switch": 32, "job": 16, "owner": 16, "epoch": 32, "owner_epoch": 32}
        fields = drawn(**widths, ports=32, base=16, parent=8, count=32, force=1)
        command = Command(verb=verb, reason=[*Reason][k], **fields)
        fields |= {"kind": 32 + k, "reason": k, "has_parent": 1}
        yield "tenancy", tenancy_frames.to_bytes(command), fields
    for kind in AgreementKind:
        fields = drawn(host=32, job=16, round=32, index=32, busy=1, ina=1, missing=1, stalled=1)
        grant = drawn(epoch=32, tree=16, first=32, end=32)
        held = agreement.Grant(job=9, **grant)
        named = agreement.Kind[kind.name]
        message = agreement.Message(kind=named, version=77, grant=held, **fields)
        fields |= {"kind": kind.value, "owner": 9, "reported": 77, **grant}
        yield "agreement", to_octets(message), fields
    for k, kind in enumerate(Kind):
        fields = drawn(bm=32, job=16, epoch=16, turn=32, seq=32, ecn=1)
        about = drawn(
            **{"bitmap": 128} if kind is Kind.ACK else {"list": 32, "raw": 32, "rows": 16}
        )
        size = gnn_frames.LANE_BYTES.get(kind)
        payload = numbers[3:35] if size else None
        frame = Frame(kind=kind, payload=payload, **fields, **about)
        fields |= about | {"kind": 4 + k} | ({f"int{8 * size}": payload} if size else {})
        yield "switchgnn", gnn_frames.to_octets(frame, 32, bytes(6), bytes(6)), fields
    for kind in PrKind:
        packet = Packet.drawn(BITS, 1 + 2 * (kind.value < 3), kind=kind, length=8, dest=BITS(32))
        fields = {"type": kind.value, "dest": packet.dest, "len": 8, "prs": len(packet.prs)}
        for name in ("src", "tid", "idx", "id"):
            fields[f"pr.{name}"] = [getattr(pr, name) for pr in packet.prs]
        if kind is PrKind.RESPONSE:
            fields["pr.property"] = [int(pr.payload.hex(), 16) for pr in packet.prs]
        yield "netsparse", packet.to_bytes(), fields


FRAMES = [*frames()]


def as_shown(name, value):
    """Return a field's values as tshark shows them."""
    if name == "bitmap":
        return value.to_bytes(16, "little").hex()
    if name == "pr.property":
        return ",".join(f"{each:016x}" for each in value)
    return ",".join(str(int(each)) for each in (value if np.ndim(value) else [value]))


def test_tshark_reads_a_capture(ingather, tmp_path):
    if not shutil.which("tshark"):
        pytest.skip("tshark is missing (on Debian)")
    assert ingather("-o", "frames.lua")[0] == 0
    with open(tmp_path / "frames.pcapng", "wb") as file:
        writer = CaptureWriter(file)
        writer.add_interface("link")
        for k, (_, octets, _) in enumerate(FRAMES):
            writer.write(0, k, octets, inbound=True)
    names = sorted({f"ingather.{kind}.{name}" for kind, _, fields in FRAMES for name in fields})
    options = [word for name in names for word in ("-e", name)]
    command = ["tshark", "-X", "lua_script:frames.lua", "-r", "frames.pcapng", "-T", "fields"]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr
    lines = done.stdout.splitlines()
    for (kind, _, fields), line in zip(FRAMES, lines, strict=True):
        shown = {name: text for name, text in zip(names, line.split("\t"), strict=True) if text}
        required = {f"ingather.{kind}.{n}": as_shown(n, value) for n, value in fields.items()}
        extra = shown.keys() - required.keys()
        assert {name: shown.get(name) for name in required} == required
        assert not [name for name in extra if not name.startswith(f"ingather.{kind}.")]


def test_places_of_fields_are_those_of_the_frames():
    """What the Lua says is read without Lua: bytes, masks, kinds."""
    text = dissector()
    masks = dict(re.findall(r'^field\("(\S+)", ".*?", "\w+", base\.\w+, (\w+),', text, re.M))
    for enum, path in ((AgreementKind, "agreement.kind"), (Operation, "allreduce.operation")):
        line = next(line for line in text.splitlines() if f'field("{path}"' in line)
        assert all(f'[{each.value}] = "{each.name}"' in line for each in enum)
    assert "byte 21: how often the slot has been used, modulo 256" in text
    blocks = re.findall(r"^  { title = (.*?)^  },$", text, re.M | re.S)
    for kind, octets, fields in FRAMES:
        if kind == "netsparse":
            parts, start, order = [text], 42, "big"
        else:
            own = f"version = {octets[14]}, .*\\[{octets[15]}\\] = "
            parts, start, order = [each for each in blocks if re.search(own, each)], 14, "little"
        assert len(parts) == 1
        places = re.findall(r'{ "(\S+)", (\d+), (\d+) }', parts[0])
        checked = 0
        if kind == "allreduce":
            (trailer,) = re.findall(r'trailer = { "(\S+)", (\d+) }', parts[0])
            places.append((trailer[0], 14 + 4 * fields["count"], trailer[1]))
        for path, first, size in places:
            name = path.removeprefix(f"{kind}.")
            if name in fields and np.ndim(fields[name]) == 0:
                begin = start + int(first)
                value = int.from_bytes(octets[begin : begin + int(size)], order)
                mask = int(masks[path]) if masks[path] != "nil" else (8 << 8 * int(size)) - 1
                assert (value & mask) // (mask & -mask) == fields[name], path
                checked += 1
        assert checked == sum(np.ndim(value) == 0 for value in fields.values()), kind


def test_it_needs_a_file(ingather):
    assert ingather("-o", "none/frames.lua")[0] == 2
