"""Rules as steps: one predicate each, and where to go on if it is true or false.

`strategies.jump_strategy` says when that pays off. A step is two words:

    what is tested | an inline word of `kernels.records`; `pack_direct` for other literals
    jumps          | where to go if it is true: 32 bits | if it is false: 32 bits |

    a jump         | emits 1 | leaves 1 | step 30 |

leaves: the rule is decided, and the step is the first one of the next rule. emits: it is true.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.bits import read
from matchwood.kernels.compiled import codec, compiled, inlined, lean
from matchwood.kernels.pushes import last_group
from matchwood.kernels.records import (
    GROUP,
    LITERAL,
    header_inline,
    header_is_and,
    header_is_root,
    header_push,
    header_rest,
    is_several,
    list_of_code,
    may_hold,
    pack_several,
    record_end,
    reference_at,
    state_of_record,
    word_high,
    word_literal,
    word_low,
    word_slot,
)
from matchwood.match.event.literal_kernels import (
    TRUE_SEEN,
    YES,
    list_word,
    literal_holds,
    pack_state,
)

# Rules that are decided at the same time, so that none waits for the other's memory.
LANES = 4

# Words of a step.
STEP_WORDS = 2

# Steps that a node is said to take at most: what rules have in common, written out, may be
# exponentially many.
_COUNTLESS = 1 << 40

_LEAVES = 1 << 30
_EMITS = 1 << 31
_STEP_MASK = (1 << 30) - 1
_JUMP_MASK = (1 << 32) - 1


class Jumps(NamedTuple):
    """What a scan by jumps reads beside the index; all of it belongs to the segment."""

    steps: NDArray[np.int64]
    lane_rule: NDArray[np.int64]  # the first rule of each lane, and where the last one ends
    lane_step: NDArray[np.int64]  # its first step
    groups: NDArray[np.int32]  # of each rule of the program


@codec
def pack_jumps(if_true, if_false):
    """Both jumps of a step."""
    return np.int64(if_true) << 32 | np.int64(if_false)


@codec
def pack_direct(literal):
    """What is tested of a literal that has no inline word, whatever the code of slot 0."""
    return pack_several(0, 1, literal)


@compiled
def expanded_sizes(records, first):
    """How many steps each node takes, with everything below it, by `state_of_record`."""
    sizes = np.zeros(state_of_record(len(records)) + 1, np.int64)
    at = np.int64(0)
    while at < len(records):
        header = records[at]
        inline, rest = header_inline(header), header_rest(header)
        size = np.int64(inline)
        for number in range(rest):
            ref = reference_at(records, at + 1 + inline, number)
            size += 1 if ref < first else sizes[state_of_record(ref - first)]
        sizes[state_of_record(at)] = min(size, _COUNTLESS)
        at = record_end(at, header)
    return sizes


@compiled
def count_roots(records, sizes):
    """How many nodes are roots of groups, and how many steps these take."""
    roots, steps = np.int64(0), np.int64(0)
    at = np.int64(0)
    while at < len(records):
        header = records[at]
        if header_is_root(header):
            roots += 1
            steps = min(steps + sizes[state_of_record(at)], _COUNTLESS)
        at = record_end(at, header)
    return roots, steps


@compiled
def lay_out_steps(records, pushes, first, literal_group, sizes, roots):
    """The arrays of `Jumps`. The last step of all is where lanes wait for each other."""
    count = roots + len(literal_group)
    groups = np.zeros(count + 1, np.int32)  # a lane that has ended reads the one after its last
    root_at = np.empty(count, np.int64)
    begin = np.zeros(count + 1, np.int64)
    at, rule = np.int64(0), np.int64(0)
    while at < len(records):
        header = records[at]
        if header_is_root(header):
            groups[rule] = last_group(pushes, header_push(header))
            root_at[rule] = at
            begin[rule + 1] = begin[rule] + sizes[state_of_record(at)]
            rule += 1
        at = record_end(at, header)
    for i in range(len(literal_group)):
        groups[rule], root_at[rule] = literal_group[i, GROUP], -1 - literal_group[i, LITERAL]
        begin[rule + 1] = begin[rule] + 1
        rule += 1
    waiting = begin[count]
    steps = np.empty(STEP_WORDS * (waiting + 1), np.int64)
    steps[STEP_WORDS * waiting] = 0
    steps[STEP_WORDS * waiting + 1] = pack_jumps(waiting, waiting)
    lane_rule, lane_step = _lanes(begin)
    stack = np.empty((64, 4), np.int64)
    lane = 1
    for rule in range(count):
        while lane < LANES and lane_rule[lane] <= rule:
            lane += 1
        leave = (waiting if lane_rule[lane] == rule + 1 else begin[rule + 1]) | _LEAVES
        if root_at[rule] < 0:
            steps[STEP_WORDS * begin[rule]] = pack_direct(-1 - root_at[rule])
            steps[STEP_WORDS * begin[rule] + 1] = pack_jumps(leave | _EMITS, leave)
        else:
            stack[0, 0], stack[0, 1] = root_at[rule], begin[rule]
            stack[0, 2], stack[0, 3] = leave | _EMITS, leave
            stack = _write_rule(steps, stack, records, first, sizes)
    return steps, lane_rule, lane_step, groups


@compiled
def _lanes(begin):
    """The first rule and the first step of each lane, so that all have about as many steps."""
    count, waiting = len(begin) - 1, begin[-1]
    lane_rule, lane_step = np.full(LANES + 1, count, np.int64), np.full(LANES, waiting, np.int64)
    lane = 0
    for rule in range(count):
        while lane < LANES and begin[rule] * LANES >= lane * waiting:
            lane_rule[lane], lane_step[lane] = rule, begin[rule]
            lane += 1
    for lane in range(LANES):
        if lane_rule[lane] == lane_rule[lane + 1]:
            lane_step[lane] = waiting  # it has no rule
    return lane_rule, lane_step


@compiled
def _write_rule(steps, stack, records, first, sizes):
    """Write the steps of the node on the stack, and of all below it; returns a larger stack.

    Rows of the stack: where a record is, its first step, and both jumps out of it.
    """
    top = 1
    while top > 0:
        top -= 1
        at, step, if_true, if_false = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        header = records[at]
        inline, rest = header_inline(header), header_rest(header)
        is_and = header_is_and(header)
        if top + rest > len(stack):
            more = np.empty((2 * len(stack) + rest, 4), np.int64)
            for k in range(top):
                for j in range(4):
                    more[k, j] = stack[k, j]
            stack = more
        for operand in range(inline + rest):
            ref, size = np.int64(0), np.int64(1)
            if operand >= inline:
                ref = np.int64(reference_at(records, at + 1 + inline, operand - inline))
                if ref >= first:
                    size = sizes[state_of_record(ref - first)]
            yes, no = if_true, if_false
            if operand + 1 < inline + rest:
                if is_and:
                    yes = step + size
                else:
                    no = step + size
            if operand >= inline and ref >= first:
                stack[top, 0], stack[top, 1] = ref - first, step
                stack[top, 2], stack[top, 3] = yes, no
                top += 1
            else:
                word = records[at + 1 + operand] if operand < inline else pack_direct(ref)
                steps[STEP_WORDS * step] = word
                steps[STEP_WORDS * step + 1] = pack_jumps(yes, no)
            step += size
    return stack


@inlined
def _holds(word, ix, sc, list_start, list_codes, epoch):
    """Whether what a step tests is true: of a list, or of a literal of several intervals."""
    code = sc.codes[word_slot(word)]
    if not is_several(word):
        return list_word(word, ix, list_of_code(code), list_start, list_codes) == YES
    if not may_hold(word, code):
        return False
    return literal_holds(word_literal(word), ix, sc, list_start, list_codes, epoch) == YES


@inlined
def _jump(steps, step, ix, sc, list_start, list_codes, epoch):
    """Where to go on from a step."""
    word = read(steps, STEP_WORDS * step)
    code = read(sc.codes, word_slot(word))
    true = np.int64((word_low(word) <= code) & (code <= word_high(word)))
    if word < 0 or code < 0:
        true = np.int64(_holds(word, ix, sc, list_start, list_codes, epoch))
    return (read(steps, STEP_WORDS * step + 1) >> (true << 5)) & _JUMP_MASK


@lean
def scan_by_jumps(ix, jumps, sc, slots, codes, list_start, list_codes, hits, epoch):
    """Match one event against a segment without lazy atoms; the groups are out[:returned]."""
    for i in range(len(slots)):
        sc.codes[slots[i]] = codes[i]
    for hit in hits:
        sc.opaque[hit] = pack_state(epoch, TRUE_SEEN)
    steps, out, groups, end = jumps.steps, sc.out, jumps.groups, jumps.lane_rule
    r0, r1, r2, r3 = end[0], end[1], end[2], end[3]
    s0, s1, s2, s3 = (
        jumps.lane_step[0], jumps.lane_step[1], jumps.lane_step[2], jumps.lane_step[3],
    )  # fmt: skip
    left = end[4]
    found = 0
    while left > 0:
        s0 = _jump(steps, s0, ix, sc, list_start, list_codes, epoch)
        s1 = _jump(steps, s1, ix, sc, list_start, list_codes, epoch)
        s2 = _jump(steps, s2, ix, sc, list_start, list_codes, epoch)
        s3 = _jump(steps, s3, ix, sc, list_start, list_codes, epoch)
        out[found] = groups[r0]
        found += s0 >> 31
        out[found] = groups[r1]
        found += s1 >> 31
        out[found] = groups[r2]
        found += s2 >> 31
        out[found] = groups[r3]
        found += s3 >> 31
        l0, l1, l2, l3 = (s0 >> 30) & 1, (s1 >> 30) & 1, (s2 >> 30) & 1, (s3 >> 30) & 1
        r0 += l0
        r1 += l1
        r2 += l2
        r3 += l3
        left -= l0 + l1 + l2 + l3
        s0 &= _STEP_MASK
        s1 &= _STEP_MASK
        s2 &= _STEP_MASK
        s3 &= _STEP_MASK
    for i in range(len(slots)):
        sc.codes[slots[i]] = 0
    return found
