"""Defines the layout of a worker's tables in memory: a struct for each kind of record.

Every address in a record is a multiple of :data:`ALIGNMENT`. Records are contiguous and
little-endian, and the bits called ``nothing`` are zero.

- The turn program has a :class:`TurnRecord` for every turn of the job, in the order of the turns.
- A send list has a :class:`SendRecord` for every frame of a turn, in the order of sending.
- Payloads have the format of their frames, in whole beats, at ``features`` plus a multiple of their
  own size.
- ``required`` is an array of words of 32 bits: a bit for every aggregator of a turn, lowest first,
  and from the next whole word on a bit for every source. A bit is one if the worker gets the sum of
  the aggregator, or a copy of the source's feature. Bits after the last aggregator and the last
  source are zero.
- ``sources`` is an array of a :class:`SourceRecord` for every source.
- The sum of aggregator k is written at ``sums`` + k x lanes x 4 bytes, int32.
- The copy of source s is written at ``copies`` + s x lanes x 2 bytes, int16.
"""

# The fields of a struct are annotated with shapes, which are no types.
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false

from amaranth.lib import data

from hdl.switchgnn.protocol import Kind

ALIGNMENT = 512  #: bytes, of which every address in a record is a multiple: the longest payload
WORD_BITS = 32  #: width of a word of ``required``


class TurnRecord(data.Struct):
    """Describes a turn, in 64 bytes."""

    list: 64  #: address of the send list
    features: 64  #: address of the first payload, place 0
    sums: 64  #: address of the first sum
    copies: 64  #: address of the first copy
    required: 64  #: address of the bitmap of the items that the worker gets
    sources: 64  #: address of the source records
    sends: 32  #: number of frames that the worker sends
    nothing: 96


class SendRecord(data.Struct):
    """Describes a FEATURE or a PARTIAL, in 32 bytes."""

    kind: Kind  #: FEATURE or PARTIAL
    no_flags: 8
    rows: 16  #: number of rows, as in the frame, like the next three fields
    list: 32
    source: 32
    raw: 32
    place: 32  #: where the payload is: its address is ``features`` + place x bytes of the payload
    nothing: 96


class SourceRecord(data.Struct):
    """Describes a vertex whose feature is copied, in 8 bytes."""

    place: 32  #: where the payload is, if ``own``
    port: 5  #: the owner's port at the switch, if not ``own``
    own: 1  #: the worker sends the feature itself
    nothing: 26


assert TurnRecord.as_shape().size == 512
assert SendRecord.as_shape().size == 256
assert SourceRecord.as_shape().size == 64
