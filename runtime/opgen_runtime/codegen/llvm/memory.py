"""Loads and stores: contiguous, reversed, of every second to fourth, in pieces, gathered and scattered, or masked.

Indices are 64-bit element positions of one-dimensional buffers.  Only accesses without a mask say `inbounds`:
a masked one may compute addresses outside its buffer for lanes that it does not touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...base.errors import CodegenError
from ...base.vocabulary import BOOL, INDEX, DType, dataclass
from ...lower.tir.nodes.vector import MIN_GATHERED_STRIDE, MIN_STRIDED_LANES
from . import arithmetic, strided
from .arithmetic import select
from .conversion import cast
from .text import FunctionText, Jumps, Value, constant, ramp, register, splat
from .text.types import memory_type, register_type, suffix

_MAX_PIECES: Final = 5  # of a vector; where there are more, a gather is as good


@dataclass(frozen=True, slots=True)
class Memory:
    """A buffer as the function sees it: its address, element type and the alias metadata of its accesses.

    `facts` is metadata of loads of the address itself.
    """

    name: str
    pointer: str
    dtype: DType
    load_metadata: str
    store_metadata: str
    facts: str = ""


def load(f: FunctionText, memory: Memory, index: Value, mask: Value | None) -> Value:
    """Elements at `index` where `mask` holds, else 0."""
    lanes = max(index.lanes, 1 if mask is None else mask.lanes)
    if mask is not None and mask.uniform is not None and mask.uniform.literal is True:
        mask = None
    uniform = index.uniform
    if uniform is not None and (mask is None or mask.uniform is not None):
        scalar_mask = None if mask is None else mask.uniform
        return splat(_load_scalar(f, memory, uniform, scalar_mask), lanes)
    if uniform is not None and mask is not None:
        zero = splat(constant(memory.dtype, 0), lanes)
        value = _load_scalar(f, memory, uniform, _any_lane(f, mask))
        return select(f, mask, splat(value, lanes), zero)
    if index.ramp is not None and index.ramp[1] in (1, -1):
        return _load_sequence(f, memory, index, mask, lanes)
    if strided.is_strided(index):
        if mask is None:
            return _load_strided(f, memory, index, lanes)
        return _load_strided_where(f, memory, index, mask, lanes)
    if strided.repeats(index):
        return _load_repeated(f, memory, index, mask, lanes)
    if (
        index.jumps is not None
        and 1 <= index.stride < MIN_GATHERED_STRIDE
        and _is_neighbour(f, memory, index)
    ):
        return _load_pieces(f, memory, index.stride, _pieces(f, memory, index, index.jumps, mask), lanes)
    return _gather(f, memory, index, mask, lanes)


def store_nontemporal(f: FunctionText, memory: Memory, index: Value, value: Value) -> None:
    """A non-temporal store of a vector at a multiple of its own size."""
    assert index.ramp is not None
    kind, size = memory_type(memory.dtype, index.lanes), index.lanes * memory.dtype.itemsize
    operand = to_memory(f, value, index.lanes)
    address = _address(f, memory, index.ramp[0], inbounds=True)
    hint = f.module.shared_metadata("i32 1")
    f.do(f"store {kind} {operand}, ptr {address}, align {size}, !nontemporal {hint}{memory.store_metadata}")


def store(f: FunctionText, memory: Memory, index: Value, value: Value, mask: Value | None) -> None:
    """Store elements at `index` where `mask` holds."""
    lanes = max(index.lanes, value.lanes, 1 if mask is None else mask.lanes)
    if mask is not None and mask.uniform is not None and mask.uniform.literal is True:
        mask = None
    if lanes == 1:
        _store_scalar(f, memory, index, value, mask)
    elif _is_shuffled(value) and index.ramp is not None and index.ramp[1] == 1:
        _store_shuffled(f, memory, index.ramp[0], value, mask)
    elif index.ramp is not None and index.ramp[1] == 1:
        _store_sequence(f, memory, index, value, mask, lanes)
    elif strided.is_strided(index) and (mask is None or has_masks(f, memory)):
        _store_strided(f, memory, index, value, mask, lanes)
    elif index.jumps is not None and index.stride == 1 and _is_neighbour(f, memory, index):
        _store_pieces(f, memory, index, index.jumps, value, mask)
    elif index.uniform is not None:
        raise CodegenError(f"a vector of {lanes} lanes is stored to one element of {memory.name}")
    else:
        _scatter(f, memory, index, value, mask, lanes)


def prefetch(f: FunctionText, memory: Memory, index: Value) -> None:
    """Bring the cache line of an element to the second level; the element need not exist."""
    address = _address(f, memory, index, inbounds=False)
    callee = f.module.declare("llvm.prefetch.p0", "void", "ptr, i32 immarg, i32 immarg, i32 immarg")
    f.do(f"call void {callee}(ptr {address}, i32 0, i32 2, i32 1)")


def _address(f: FunctionText, memory: Memory, index: Value, inbounds: bool) -> str:
    kind = memory_type(memory.dtype)
    flag = "inbounds " if inbounds else ""
    return f.emit(f"getelementptr {flag}{kind}, ptr {memory.pointer}, i64 {_wide(f, index)}")


def _wide(f: FunctionText, index: Value) -> str:
    """The index in 64 bits."""
    return f.vector(cast(f, index, INDEX), index.lanes)


def from_memory(f: FunctionText, dtype: DType, lanes: int, text: str) -> Value:
    """Bytes of bools become truth values; any byte but 0 is true."""
    if dtype.is_bool:
        text = f.emit(f"icmp ne {memory_type(dtype, lanes)} {text}, zeroinitializer")
    return register(dtype, lanes, text)


def to_memory(f: FunctionText, value: Value, lanes: int) -> str:
    """Lanes as they lie in memory: a byte for a truth value."""
    text = f.vector(value, lanes)
    if value.dtype.is_bool:
        return f.emit(f"zext {register_type(BOOL, lanes)} {text} to {memory_type(BOOL, lanes)}")
    return text


def _load_scalar(f: FunctionText, memory: Memory, index: Value, mask: Value | None) -> Value:
    kind = memory_type(memory.dtype)
    address = _address(f, memory, index, mask is None)
    instruction = f"load {kind}, ptr {address}, align {memory.dtype.itemsize}{memory.load_metadata}"
    if mask is None:
        return from_memory(f, memory.dtype, 1, f.emit(instruction))
    before, read, done = f.block, f.label("read"), f.label("done")
    f.branch_if(f.vector(mask, 1), read, done)
    f.start(read)
    loaded = f.emit(instruction)
    f.branch(done)
    f.start(done)
    merged = f.emit(f"phi {kind} [ {loaded}, %{read} ], [ zeroinitializer, %{before} ]")
    return from_memory(f, memory.dtype, 1, merged)


def _store_scalar(f: FunctionText, memory: Memory, index: Value, value: Value, mask: Value | None) -> None:
    kind = memory_type(memory.dtype)
    operand = to_memory(f, value, 1)
    address = _address(f, memory, index, mask is None)
    instruction = (
        f"store {kind} {operand}, ptr {address}, align {memory.dtype.itemsize}{memory.store_metadata}"
    )
    if mask is None:
        f.do(instruction)
        return
    write, done = f.label("write"), f.label("done")
    f.branch_if(f.vector(mask, 1), write, done)
    f.start(write)
    f.do(instruction)
    f.branch(done)
    f.start(done)


def _any_lane(f: FunctionText, mask: Value) -> Value:
    kind = register_type(BOOL, mask.lanes)
    text = f.call(f"llvm.vector.reduce.or.{suffix(kind)}", "i1", ((kind, f.vector(mask, mask.lanes)),))
    return register(BOOL, 1, text)


def _sequence_address(f: FunctionText, memory: Memory, index: Value, inbounds: bool) -> str:
    assert index.ramp is not None
    return _address(f, memory, index.ramp[0], inbounds)


def _load_sequence(f: FunctionText, memory: Memory, index: Value, mask: Value | None, lanes: int) -> Value:
    """Consecutive elements, upwards or downwards."""
    assert index.ramp is not None
    first, stride = index.ramp
    kind, align = memory_type(memory.dtype, lanes), memory.dtype.itemsize
    address = _address(f, memory, first, mask is None)
    if stride < 0:  # the lowest address, that of the last lane
        flag = "inbounds " if mask is None else ""
        address = f.emit(f"getelementptr {flag}{memory_type(memory.dtype)}, ptr {address}, i64 {1 - lanes}")
    if mask is None:
        text = f.emit(f"load {kind}, ptr {address}, align {align}{memory.load_metadata}")
    else:
        lane_mask = f.vector(mask, lanes)
        flags = register_type(BOOL, lanes)
        if stride < 0:
            lane_mask = _reversed(f, flags, lane_mask, lanes)
        text = f.call(
            f"llvm.masked.load.{suffix(kind)}.p0",
            kind,
            ((f"ptr align {align}", address), (flags, lane_mask), (kind, "zeroinitializer")),
            attributes=memory.load_metadata,
        )
    if stride < 0:
        text = _reversed(f, kind, text, lanes)
    return from_memory(f, memory.dtype, lanes, text)


def load_row(
    f: FunctionText, memory: Memory, first: Value, offset: Value, lanes: int, mask: Value | None
) -> str:
    """Consecutive elements as they are in memory, from `offset` elements beyond `first` on; 0 without the mask."""
    kind, align = memory_type(memory.dtype), memory.dtype.itemsize
    flag = "inbounds " if mask is None else ""
    address = _address(f, memory, first, inbounds=mask is None)
    if offset.literal != 0:
        address = f.emit(f"getelementptr {flag}{kind}, ptr {address}, i64 {_wide(f, offset)}")
    row = memory_type(memory.dtype, lanes)
    if mask is None:
        return f.emit(f"load {row}, ptr {address}, align {align}{memory.load_metadata}")
    flags = (register_type(BOOL, lanes), f.vector(mask, lanes))
    return f.call(
        f"llvm.masked.load.{suffix(row)}.p0",
        row,
        ((f"ptr align {align}", address), flags, (row, "zeroinitializer")),
        attributes=memory.load_metadata,
    )


def _reversed(f: FunctionText, kind: str, text: str, lanes: int) -> str:
    return f.shuffle(kind, text, "poison", range(lanes)[::-1])


def _store_sequence(
    f: FunctionText, memory: Memory, index: Value, value: Value, mask: Value | None, lanes: int
) -> None:
    kind, align = memory_type(memory.dtype, lanes), memory.dtype.itemsize
    operand = to_memory(f, value, lanes)
    address = _sequence_address(f, memory, index, mask is None)
    if mask is None:
        f.do(f"store {kind} {operand}, ptr {address}, align {align}{memory.store_metadata}")
        return
    flags = register_type(BOOL, lanes)
    arguments = ((kind, operand), (f"ptr align {align}", address), (flags, f.vector(mask, lanes)))
    f.call(f"llvm.masked.store.{suffix(kind)}.p0", "void", arguments, attributes=memory.store_metadata)


def _is_shuffled(value: Value) -> bool:
    """Whether a vector is made of others, and as many whole ones as they are wide."""
    return value.shuffled is not None and value.lanes % value.shuffled.vectors[0].lanes == 0


def _store_shuffled(f: FunctionText, memory: Memory, first: Value, value: Value, mask: Value | None) -> None:
    """Lanes of other vectors, as many at once as those have."""
    assert value.shuffled is not None
    lanes = value.shuffled.vectors[0].lanes
    rows = f.parts(value, lanes)
    where = None if mask is None else f.parts(mask, lanes)
    for number, row in enumerate(rows):
        start = arithmetic.binary(f, "add", first, constant(first.dtype, number * lanes))
        held = None if where is None else register(BOOL, lanes, where[number])
        _store_sequence(f, memory, ramp(start, 1, lanes), register(memory.dtype, lanes, row), held, lanes)


def _lowest(
    f: FunctionText, memory: Memory, index: Value, lanes: int, inbounds: bool = True
) -> tuple[str, int]:
    """(address of the lowest element of a sequence, stride); `inbounds`: that of every lane is inside."""
    assert index.ramp is not None
    first, stride = index.ramp
    address = _address(f, memory, first, inbounds)
    last = min(0, stride * (lanes - 1))
    return strided.beyond(f, memory_type(memory.dtype), address, last, inbounds), stride


def _load_strided(f: FunctionText, memory: Memory, index: Value, lanes: int) -> Value:
    address, stride = _lowest(f, memory, index, lanes)
    kind, align = memory_type(memory.dtype), memory.dtype.itemsize
    vector = memory_type(memory.dtype, lanes)

    def read(offset: int, places: Sequence[int | None]) -> str:
        at = strided.beyond(f, kind, address, offset)
        return f.emit(f"load {vector}, ptr {at}, align {align}{memory.load_metadata}")

    text = strided.load(f, vector, stride, lanes, read)
    return from_memory(f, memory.dtype, lanes, text)


def _load_strided_where(f: FunctionText, memory: Memory, index: Value, mask: Value, lanes: int) -> Value:
    """Guards fail at borders alone, so that most vectors are whole: only the others are read element by element."""
    flags = register_type(BOOL, lanes)
    is_whole = f.call(f"llvm.vector.reduce.and.{suffix(flags)}", "i1", ((flags, f.vector(mask, lanes)),))
    whole, some, done = f.label("whole"), f.label("some"), f.label("done")
    f.branch_if(is_whole, whole, some)
    f.start(whole)
    all_lanes = f.vector(_load_strided(f, memory, index, lanes), lanes)
    f.branch(done)
    f.start(some)
    assert index.ramp is not None
    first, stride = index.ramp
    if stride > 0 and has_masks(f, memory):
        some_lanes = f.vector(mask, lanes)
        pieces = [(_address(f, memory, first, inbounds=False), some_lanes)]
        few = _load_pieces(f, memory, stride, pieces, lanes)
    else:
        few = _gather(f, memory, index, mask, lanes)
    few_lanes = f.vector(few, lanes)
    f.branch(done)
    f.start(done)
    kind = register_type(memory.dtype, lanes)
    return f.result(memory.dtype, lanes, f"phi {kind} [ {all_lanes}, %{whole} ], [ {few_lanes}, %{some} ]")


def _store_strided(
    f: FunctionText, memory: Memory, index: Value, value: Value, mask: Value | None, lanes: int
) -> None:
    operand = to_memory(f, value, lanes)
    address, stride = _lowest(f, memory, index, lanes, inbounds=mask is None)
    kind, align = memory_type(memory.dtype), memory.dtype.itemsize
    where = None if mask is None else f.vector(mask, lanes)
    strided.store(f, kind, address, stride, lanes, align, memory.store_metadata, operand, where)


def has_masks(f: FunctionText, memory: Memory) -> bool:
    """Whether the machine reads and writes some lanes of a vector of such elements."""
    return 0 < f.module.target.vectors.masked_bits <= max(8, memory.dtype.bits)


def _is_neighbour(f: FunctionText, memory: Memory, index: Value) -> bool:
    """Whether a sequence with jumps has few pieces, which the machine reads and writes under masks."""
    few = index.jumps is not None and index.jumps.pieces(index.lanes) <= _MAX_PIECES
    return few and index.lanes >= MIN_STRIDED_LANES and has_masks(f, memory)


def _pieces(
    f: FunctionText, memory: Memory, index: Value, jumps: Jumps, mask: Value | None
) -> list[tuple[str, str]]:
    """The address of the first lane of each piece, were it in it, and the mask of its own lanes."""
    lanes, count = index.lanes, jumps.pieces(index.lanes)
    assert index.scalar is not None
    flags, address = register_type(BOOL, lanes), _address(f, memory, index.scalar, inbounds=False)
    own = None if mask is None else f.vector(mask, lanes)
    found: list[tuple[str, str]] = []
    for number in range(count):
        inside = [f.lanes_before(jumps, number + 1, lanes)] if number + 1 < count else []
        if number:
            ones = f.vector(constant(BOOL, True), lanes)
            inside.append(f.compute(f"xor {flags} {f.lanes_before(jumps, number, lanes)}, {ones}"))
        inside += [] if own is None else [own]
        both = inside[0]
        for each in inside[1:]:
            both = f.compute(f"and {flags} {both}, {each}")
        kind = memory_type(memory.dtype)
        found.append((strided.beyond(f, kind, address, number * jumps.jump, inbounds=False), both))
    return found


def _load_repeated(f: FunctionText, memory: Memory, index: Value, mask: Value | None, lanes: int) -> Value:
    """Each element is read once, where a lane that takes it is on, and then repeated."""
    first, times = strided.repeated(index)
    count = lanes // times
    some = None if mask is None else strided.any_of(f, mask, times)
    read = _load_sequence(f, memory, ramp(first, 1, count), some, count)
    kind = register_type(memory.dtype, count)
    text = f.shuffle(kind, f.vector(read, count), "poison", [k // times for k in range(lanes)])
    value = register(memory.dtype, lanes, text)
    return value if mask is None else select(f, mask, value, splat(constant(memory.dtype, 0), lanes))


def _load_pieces(
    f: FunctionText, memory: Memory, stride: int, pieces: Sequence[tuple[str, str]], lanes: int
) -> Value:
    """Every `stride`-th element of each piece, from its address on, in the lanes of its mask."""
    kind, align, flags = memory_type(memory.dtype, lanes), memory.dtype.itemsize, register_type(BOOL, lanes)

    def read(offset: int, places: Sequence[int | None]) -> str:
        text = "zeroinitializer"
        for first, own in pieces:
            address = strided.beyond(f, memory_type(memory.dtype), first, offset, inbounds=False)
            if stride > 1:
                order = [lanes if lane is None else lane for lane in places]
                own = f.shuffle(flags, own, "zeroinitializer", order)
            arguments = ((f"ptr align {align}", address), (flags, own), (kind, text))
            name = f"llvm.masked.load.{suffix(kind)}.p0"
            text = f.call(name, kind, arguments, attributes=memory.load_metadata)
        return text

    text = strided.load(f, kind, stride, lanes, read) if stride > 1 else read(0, range(lanes))
    return from_memory(f, memory.dtype, lanes, text)


def _store_pieces(
    f: FunctionText, memory: Memory, index: Value, jumps: Jumps, value: Value, mask: Value | None
) -> None:
    lanes = index.lanes
    kind, align, flags = memory_type(memory.dtype, lanes), memory.dtype.itemsize, register_type(BOOL, lanes)
    operand = to_memory(f, value, lanes)
    for address, own in _pieces(f, memory, index, jumps, mask):
        arguments = ((kind, operand), (f"ptr align {align}", address), (flags, own))
        f.call(f"llvm.masked.store.{suffix(kind)}.p0", "void", arguments, attributes=memory.store_metadata)


def _addresses(f: FunctionText, memory: Memory, index: Value, lanes: int, inbounds: bool) -> str:
    kind = memory_type(memory.dtype)
    flag = "inbounds " if inbounds else ""
    wide = f.vector(cast(f, index, INDEX), lanes)
    return f.emit(f"getelementptr {flag}{kind}, ptr {memory.pointer}, <{lanes} x i64> {wide}")


def _lane_mask(f: FunctionText, mask: Value | None, lanes: int) -> str:
    return f.vector(constant(BOOL, True) if mask is None else mask, lanes)


def _gather(f: FunctionText, memory: Memory, index: Value, mask: Value | None, lanes: int) -> Value:
    kind, align = memory_type(memory.dtype, lanes), memory.dtype.itemsize
    addresses = _addresses(f, memory, index, lanes, mask is None)
    text = f.call(
        f"llvm.masked.gather.{suffix(kind)}.v{lanes}p0",
        kind,
        (
            (f"<{lanes} x ptr> align {align}", addresses),
            (register_type(BOOL, lanes), _lane_mask(f, mask, lanes)),
            (kind, "zeroinitializer"),
        ),
        attributes=memory.load_metadata,
    )
    return from_memory(f, memory.dtype, lanes, text)


def _scatter(
    f: FunctionText, memory: Memory, index: Value, value: Value, mask: Value | None, lanes: int
) -> None:
    kind, align = memory_type(memory.dtype, lanes), memory.dtype.itemsize
    operand = to_memory(f, value, lanes)
    addresses = _addresses(f, memory, index, lanes, mask is None)
    arguments = (
        (kind, operand),
        (f"<{lanes} x ptr> align {align}", addresses),
        (register_type(BOOL, lanes), _lane_mask(f, mask, lanes)),
    )
    f.call(
        f"llvm.masked.scatter.{suffix(kind)}.v{lanes}p0", "void", arguments, attributes=memory.store_metadata
    )
