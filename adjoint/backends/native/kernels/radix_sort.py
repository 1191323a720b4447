"""Sorting one line of numbers: keys whose order as integers without sign is that of the numbers, and functions that sort them.

A NaN comes after all other numbers, and -0.0 is 0.0, as in NumPy's sorts. Short lines are sorted by insertion, others digit by digit:
every way is stable.
"""

from __future__ import annotations

import numpy as np

from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code, Module
from adjoint.core.spec import int32, int64

SHORT = 48  # elements that are sorted by insertion
BLOCK = 16  # keys that are passed by at once if none of them is among the smallest
DIGITS = 256  # values of a digit of 8 bits
LOW = 0xFFFFFFFF


def ordered_key(code: Code, value: str, dtype: np.dtype, descending: bool, width: int = 1) -> str:
    """Numbers as 64 bits whose order without sign is that of the numbers; those of narrow dtypes are below 2**32."""
    lanes, bits = Lanes(code, width), int64 if dtype.itemsize == 8 else int32
    kind, sign = lanes.type(bits), lanes.number(np.iinfo(bits).min, bits)
    if dtype.kind == "f":
        key = _float_key(lanes, value, dtype, bits, sign)
    elif dtype.kind == "b":
        key = code.put(f"zext {lanes.type(dtype)} {value} to {kind}")
    else:
        key = code.put(f"xor {kind} {value}, {sign}")
    if descending:
        key = code.put(f"xor {kind} {key}, {lanes.number(-1, bits)}")
    return key if bits == int64 else code.put(f"zext {kind} {key} to {lanes.type(int64)}")


def _float_key(lanes: Lanes, value: str, dtype: np.dtype, bits: np.dtype, sign: str) -> str:
    code, kind, zero = lanes.code, lanes.type(bits), lanes.number(0, dtype)
    value = lanes.select(lanes.compare("eq", value, zero, dtype), zero, value, dtype)
    raw = code.put(f"bitcast {lanes.type(dtype)} {value} to {kind}")
    negative = code.put(f"ashr {kind} {raw}, {lanes.number(8 * bits.itemsize - 1, bits)}")
    key = code.put(f"xor {kind} {raw}, {code.put(f'or {kind} {negative}, {sign}')}")
    return lanes.select(lanes.compare("ne", value, value, dtype), lanes.number(-1, bits), key, bits)


def insertion(module: Module) -> str:
    """`f(keys, places, n, kept)`: the smallest `kept` of n keys in order at the front of `keys`, their places beside them.

    Places are written here: they are the numbers from 0.
    """
    return module.once("insertion", "insertion", "ptr %keys, ptr %places, i64 %n, i64 %kept", _write_insertion)


def _write_insertion(code: Code) -> None:
    last = code.put("sub i64 %kept, 1")
    with code.loop(0, "%kept") as each:
        _insert(code, each.i, each.i)

    def insert_if_smaller(i: str) -> None:
        largest = code.load(code.element("%keys", last, int64), int64)
        insert, after = code.new_label("insert"), code.new_label("after")
        code.branch(
            code.put(f"icmp ult i64 {code.load(code.element('%keys', i, int64), int64)}, {largest}"), insert, after
        )
        code.begin(insert)
        _insert(code, i, last)
        code.jump(after)
        code.begin(after)

    lanes, left = Lanes(code, BLOCK), code.put("sub i64 %n, %kept")
    whole = code.add("%kept", code.put(f"and i64 {left}, {-BLOCK}"))
    with code.loop("%kept", whole, BLOCK) as block:
        keys = code.load(code.element("%keys", block.i, int64), int64, BLOCK)
        largest = lanes.spread(code.load(code.element("%keys", last, int64), int64), int64)
        smaller = code.put(f"icmp ult {lanes.type(int64)} {keys}, {largest}")
        some = code.put(f"icmp ne i{BLOCK} {code.put(f'bitcast <{BLOCK} x i1> {smaller} to i{BLOCK}')}, 0")
        look, after = code.new_label("look"), code.new_label("after")
        code.branch(some, look, after)
        code.begin(look)
        with code.loop(0, BLOCK) as each:
            insert_if_smaller(code.add(block.i, each.i))
        code.jump(after)
        code.begin(after)
    with code.loop(whole, "%n") as each:
        insert_if_smaller(each.i)


def _insert(code: Code, i: str, room: str) -> None:
    """Put the key of an element in its place among those before `room`, which move on."""
    key = code.load(code.element("%keys", i, int64), int64)
    before, step, look, move, stop = code.label, *(code.new_label(word) for word in ("step", "look", "move", "stop"))
    code.jump(step)
    code.begin(step)
    at, ways = code.phi("i64", (room, before))
    above = code.put(f"sub i64 {at}, 1")
    code.branch(code.put(f"icmp sgt i64 {at}, 0"), look, stop)
    code.begin(look)
    other = code.load(code.element("%keys", above, int64), int64)
    code.branch(code.put(f"icmp ugt i64 {other}, {key}"), move, stop)
    code.begin(move)
    code.store(other, code.element("%keys", at, int64), int64)
    place = code.load(code.element("%places", above, int64), int64)
    code.store(place, code.element("%places", at, int64), int64)
    code.arrive(ways, above, move)
    code.jump(step)
    code.begin(stop)
    code.store(key, code.element("%keys", at, int64), int64)
    code.store(i, code.element("%places", at, int64), int64)


def by_upper_half(module: Module) -> str:
    """`f(words, spare, n)`: words of 64 bits in the order of their upper halves; those with equal ones stay as they are."""
    return module.once("by_upper_half", "by_upper_half", "ptr %words, ptr %spare, i64 %n", _write_by_upper_half)


def _write_by_upper_half(code: Code) -> None:
    """Digit by digit from the last: how often each occurs says where the words with it go. A digit that all share moves none."""
    counts = code.put(f"alloca [{4 * DIGITS} x i32]")
    code.zero(counts, 4 * DIGITS * 4)
    with code.loop(0, "%n") as each:
        word = code.load(code.element("%words", each.i, int64), int64)
        for digit in range(4):
            at = _counter(code, counts, word, 32 + 8 * digit, digit * DIGITS)
            code.store(code.put(f"add i32 {code.load(at, int32)}, 1"), at, int32)
    with code.loop(0, 4, 1, [("ptr", "%words"), ("ptr", "%spare")]) as digit_loop:
        source, target = digit_loop.values
        shift = code.add(code.mul(digit_loop.i, 8), 32)
        row = code.element(counts, code.mul(digit_loop.i, DIGITS), int32)
        shared = code.load(_counter(code, row, code.load(source, int64), shift, 0), int32)
        count = code.put(f"zext i32 {shared} to i64")
        before = code.label
        work, after = code.new_label("work"), code.new_label("after")
        code.branch(code.put(f"icmp eq i64 {count}, %n"), after, work)
        code.begin(work)
        with code.loop(0, DIGITS, 1, [("i32", "0")]) as each:
            at = code.element(row, each.i, int32)
            each.next = [code.put(f"add i32 {each.values[0]}, {code.load(at, int32)}")]
            code.store(each.values[0], at, int32)
        with code.loop(0, "%n") as each:
            word = code.load(code.element(source, each.i, int64), int64)
            at = _counter(code, row, word, shift, 0)
            place = code.load(at, int32)
            code.store(code.put(f"add i32 {place}, 1"), at, int32)
            code.store(word, code.element(target, code.put(f"zext i32 {place} to i64"), int64), int64)
        moved = code.label
        code.jump(after)
        code.begin(after)
        digit_loop.next = []
        for stays, goes in ((source, target), (target, source)):
            name, ways = code.phi("ptr", (stays, before))
            code.arrive(ways, goes, moved)
            digit_loop.next.append(name)
    found = digit_loop.results[0]
    elsewhere, over = code.new_label("elsewhere"), code.new_label("over")
    code.branch(code.put(f"icmp eq ptr {found}, %words"), over, elsewhere)
    code.begin(elsewhere)
    code.copy("%words", found, code.put("mul i64 %n, 8"))
    code.jump(over)
    code.begin(over)


def _counter(code: Code, counts: str, word: str, shift: object, offset: int) -> str:
    """The counter of the digit that a word has at a shift."""
    digit = code.put(f"and i64 {code.put(f'lshr i64 {word}, {shift}')}, {DIGITS - 1}")
    return code.element(counts, code.add(digit, offset), int32)


def selection(module: Module, digits: int) -> str:
    """`f(keys, n, kth, found)`: the key that sorting n keys of so many digits would put at `kth`; the keys are lost."""

    def write(code: Code) -> None:
        _write_selection(code, digits)

    return module.once(("selection", digits), "selection", "ptr %keys, i64 %n, i64 %kth, ptr %found", write)


def _write_selection(code: Code, digits: int) -> None:
    """Digit by digit from the first: only the keys that share it with the one looked for are kept."""
    counts = code.put(f"alloca [{DIGITS} x i32]")
    with code.loop(0, digits, 1, [("i64", "%n"), ("i64", "%kth"), ("i64", "0")]) as digit_loop:
        n, kth, prefix = digit_loop.values
        shift = code.put(f"sub i64 {8 * (digits - 1)}, {code.mul(digit_loop.i, 8)}")
        code.zero(counts, DIGITS * 4)
        with code.loop(0, n) as each:
            at = _counter(code, counts, code.load(code.element("%keys", each.i, int64), int64), shift, 0)
            code.store(code.put(f"add i32 {code.load(at, int32)}, 1"), at, int32)
        digit, below = _digit_of(code, counts, kth)
        with code.loop(0, n, 1, [("i64", "0")]) as each:
            key = code.load(code.element("%keys", each.i, int64), int64)
            code.store(key, code.element("%keys", each.values[0], int64), int64)
            mine = code.put(f"and i64 {code.put(f'lshr i64 {key}, {shift}')}, {DIGITS - 1}")
            same = code.put(f"zext i1 {code.put(f'icmp eq i64 {mine}, {digit}')} to i64")
            each.next = [code.add(each.values[0], same)]
        grown = code.put(f"or i64 {prefix}, {code.put(f'shl i64 {digit}, {shift}')}")
        digit_loop.next = [each.results[0], code.put(f"sub i64 {kth}, {below}"), grown]
    code.store(digit_loop.results[2], "%found", int64)


def _digit_of(code: Code, counts: str, kth: str) -> tuple[str, str]:
    """The digit of the key at `kth`, and how many keys have smaller ones."""
    before, step, on, found = code.label, code.new_label("step"), code.new_label("on"), code.new_label("found")
    code.jump(step)
    code.begin(step)
    digit, digits = code.phi("i64", ("0", before))
    below, sums = code.phi("i64", ("0", before))
    here = code.put(f"zext i32 {code.load(code.element(counts, digit, int32), int32)} to i64")
    total = code.add(below, here)
    code.branch(code.put(f"icmp sgt i64 {total}, {kth}"), found, on)
    code.begin(on)
    code.arrive(digits, code.add(digit, 1), on)
    code.arrive(sums, total, on)
    code.jump(step)
    code.begin(found)
    return digit, below
