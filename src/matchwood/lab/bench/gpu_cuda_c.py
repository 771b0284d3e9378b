"""The kernels that compute nodes and write pairs, in CUDA C through CuPy beside those of Numba.

    python -m matchwood.lab.bench.gpu_cuda_c [--rules 1000000] [--file rules.mw]

Both go through the same arrays. The ones in CUDA C find the literals of slots that few events have
tested already, and know intervals of single values alone, which is what ABE-Gen has. Needs CuPy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from matchwood.kernels.masks import EVENTS
from matchwood.lab.bench.kernel import Kernel
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.match.batch.gpu.card_batches import given_batch
from matchwood.match.event.event_matcher import ALL
from matchwood.matcher import Matcher

ROUNDS = 10

SOURCE = r"""
typedef long long i64;
// A row: codes, which events have the slot, how many do before each word, and how many in all.
__device__ unsigned events_of(i64 key, unsigned among, int lane, const int* index,
    const int* batch) {
  const int* row_of_slot = batch + 2;
  int low, high, first = 0, last = 0, negated = 0;
  const int* row;
  if (key >= 0) {
    low = (int)(key >> 22) & 0x3fffff, high = (int)key & 0x3fffff;
    row = batch + __ldg(row_of_slot + (int)(key >> 45));
  } else {
    i64 literal = -2 - key;
    const int* atom = index + 1 + 7 * (literal >> 1);
    row = batch + __ldg(row_of_slot + atom[0]);
    low = atom[1], high = atom[2], first = atom[3], last = atom[4], negated = literal & 1;
  }
  among &= __ldg(row + 1024 + lane);
  unsigned found = 0;
  while (among) {
    int bit = __ffs(among) - 1;
    among &= among - 1;
    int code = __ldg(row + 32 * bit + lane);
    int inside = key >= 0 ? low <= code && code <= high : 0;
    for (int i = first; i < last; i += 2) inside |= index[i] <= code && code <= index[i + 1];
    if (negated && (code < low || code > high)) continue;
    if (inside != negated) found |= 1u << bit;
  }
  return found;
}
__device__ unsigned of_operand(i64 operand, unsigned among, int lane, const i64* keys,
    const int* index, const int* batch, const unsigned* bits) {
  if (operand == -1) return among;
  const int* row = batch + __ldg(batch + 2 + (int)(operand >> 32));
  int number = (int)operand;
  if (row[1088] > 64) return events_of(__ldg(keys + number), among, lane, index, batch);
  unsigned there = __ldg(row + 1024 + lane), found = 0;
  if (!(there & among)) return 0;
  unsigned long long tested = bits[2 * number] | (unsigned long long)bits[2 * number + 1] << 32;
  for (tested >>= __ldg(row + 1056 + lane); there && tested; tested >>= 1) {
    unsigned rest = there & (there - 1);
    if (tested & 1) found |= there ^ rest;
    there = rest;
  }
  return found & among;
}
extern "C" __global__ void compute_nodes(const int* program, const i64* literals, i64 keys_at,
    const int* index, const int* batch, int events, int first_item, int end_item, unsigned* masks,
    i64 bits_at, int* counts) {
  int lane = threadIdx.x & 31;
  int left = events - 32 * lane;
  unsigned every = left <= 0 ? 0u : left >= 32 ? 0xffffffffu : (1u << left) - 1;
  int warps = gridDim.x * blockDim.x >> 5;
  for (int item = first_item + (blockIdx.x * blockDim.x + threadIdx.x >> 5); item < end_item;
       item += warps) {
    const int* run = program + program[3 * item];
    int is_and = run[0], of_literals = run[1], of_nodes = run[2], has_rules = run[6];
    for (int node = program[3 * item + 1]; node < program[3 * item + 2]; node++) {
      const int* operand = program + run[4] + node * of_nodes;
      const i64* literal = literals + run[3] + node * of_literals;
      unsigned found = is_and ? every : 0;
      for (int i = 0; i < of_nodes; i++) {
        int number = __ldg(operand + i);
        if (counts[number] == 0) {
          if (is_and) { found = 0; break; }
        } else {
          unsigned mask = masks[(i64)32 * number + lane];
          found = is_and ? found & mask : found | mask;
        }
      }
      if (is_and)
        for (int i = 0; i < of_literals && found; i++)
          if (literal[i] >= 0)
            found &= __ldg(batch + __ldg(batch + 2 + (int)(literal[i] >> 32)) + 1024 + lane);
      for (int i = 0; i < of_literals; i++) {
        unsigned among = is_and ? found : every & ~found;
        if (!among) break;
        unsigned true_ = of_operand(__ldg(literal + i), among, lane, literals + keys_at, index,
          batch, masks + bits_at);
        found = is_and ? true_ : found | true_;
      }
      i64 number = run[5] + node;
      unsigned any = __any_sync(0xffffffffu, found);
      if (any) masks[32 * number + lane] = found;
      int total = has_rules ? __reduce_add_sync(0xffffffffu, __popc(found)) : any;
      if (lane == 0) counts[number] = total;
    }
  }
}
extern "C" __global__ void write_pairs(const int* node_of_rule, int rules, const unsigned* masks,
    const int* counts, const int* chunk_pairs, const i64* place_of_group,
    unsigned short* out_event, int* out_rule) {
  __shared__ unsigned short staged[8][1024];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int warps = gridDim.x * blockDim.x >> 5, chunks = (rules + 31) / 32;
  for (int chunk = blockIdx.x * blockDim.x + threadIdx.x >> 5; chunk < chunks; chunk += warps) {
    if (chunk_pairs[chunk] == 0) continue;
    int group = chunk / 32, other = 32 * group + lane;
    int before = __reduce_add_sync(0xffffffffu, other < chunk ? chunk_pairs[other] : 0);
    i64 at = place_of_group[1 + group] + before;
    for (int rule = 32 * chunk; rule < min(32 * chunk + 32, rules); rule++) {
      int node = __ldg(node_of_rule + rule);
      int pairs = node < 0 ? 0 : counts[node];
      if (pairs == 0) continue;
      unsigned mask = masks[(i64)32 * node + lane];
      int place = __popc(mask);
      for (int step = 1; step < 32; step <<= 1) {
        int up = __shfl_up_sync(0xffffffffu, place, step);
        if (lane >= step) place += up;
      }
      place -= __popc(mask);
      while (mask) {
        staged[warp][place++] = 32 * lane + __ffs(mask) - 1;
        mask &= mask - 1;
      }
      __syncwarp();
      for (int i = lane; i < pairs; i += 32) {
        out_event[at + i] = staged[warp][i];
        out_rule[at + i] = rule;
      }
      __syncwarp();
      at += pairs;
    }
  }
}
"""


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=10_000)
    parser.add_argument("--file", help="a saved matcher of these rules, instead of building one")
    options = parser.read()
    workload = AbeGen(rules=options.rules, seed=options.seed)
    if options.file:
        matcher = Matcher.load(options.file)
    else:
        matcher = Matcher(enumerate(workload.texts()))
        matcher.compact()
    matcher.join()
    report("gpu_cuda_c", {"rules": options.rules}, measure(Kernel(matcher), workload))


def measure(kernel: Kernel, workload: AbeGen) -> dict[str, Figures]:
    import cupy
    from numba import cuda

    from matchwood.match.batch.gpu.card_sweep import CardSegment

    codes = kernel.coded_batch(workload.events(EVENTS))
    gpu = kernel.part.batch.gpu
    segment = gpu.on_card()
    assert isinstance(segment, CardSegment), "this process has a card of its own"
    worker = segment.worker()
    (program, *_) = segment.programs
    wanted = segment.selection(ALL)
    given_codes = given_batch(codes, len(kernel.part.segment.slots), gpu.lazy)
    list(worker.pairs(given_codes, ALL))
    batch = worker.place(given_codes)
    worker.compute(program, batch, codes.events)
    pairs = worker.write(program, wanted, codes.events)
    module = cupy.RawModule(code=SOURCE, options=("-arch=sm_90",))
    compute, write = module.get_function("compute_nodes"), module.get_function("write_pairs")
    given = (program.program, program.literals, segment.index, batch)
    items, literals, index, rows = (cupy.asarray(array) for array in given)
    keys_at, bits_at = np.int64(program.keys_at), np.int64(worker.bits_at)
    node_of_rule = cupy.asarray(program.node_of_rule)
    masks, counts = cupy.asarray(worker.masks), cupy.asarray(worker.counts)
    events, rules = cupy.asarray(worker.events.array), cupy.asarray(worker.rules.array)
    chunk_pairs, places = cupy.asarray(worker.chunk_pairs), cupy.asarray(worker.place_of_group)
    right = [array.copy() for array in (counts, events[:pairs], rules[:pairs])]

    def compute_in_c(blocks: int) -> None:
        for first, end in zip(program.level_bounds, program.level_bounds[1:], strict=False):
            if end > first:
                grid = min(blocks, -(-(end - first) // 8))
                integers = (np.int32(codes.events), np.int32(first), np.int32(end))
                compute(
                    (grid,),
                    (256,),
                    (items, literals, keys_at, index, rows, *integers, masks, bits_at, counts),
                )

    def write_in_c(blocks: int) -> None:
        size = np.int32(len(node_of_rule))
        shared = (masks, counts, chunk_pairs, places, events, rules)
        write((blocks,), (256,), (node_of_rule, size, *shared))

    results: dict[str, Figures] = {}
    counts[:] = -1
    for blocks in (1056, 1 << 14):
        results[f"CUDA C, {blocks} blocks"] = {
            "compute_us": timed(lambda b=blocks: compute_in_c(b), cupy) / codes.events,  # type: ignore[misc]
            "write_us": timed(lambda b=blocks: write_in_c(b), cupy) / codes.events,  # type: ignore[misc]
        }
    found = (counts, events[:pairs], rules[:pairs])
    same = all(bool((one == other).all()) for one, other in zip(found, right, strict=True))
    cuda.synchronize()
    results["Numba"] = {
        "compute_us": timed(
            lambda: worker.compute_levels(program, batch, codes.events), cupy, worker
        )
        / codes.events,
        "write_us": timed(lambda: worker.write(program, wanted, codes.events), cupy, worker)
        / codes.events,
        "same_as_CUDA_C": same,
    }
    return results


def timed(run: Callable[[], object], cupy: Any, worker: Any = None) -> float:
    """Microseconds of the fastest round, with the time to launch."""
    times = []
    for _ in range(ROUNDS):
        cupy.cuda.runtime.deviceSynchronize()
        started = time.perf_counter()
        run()
        cupy.cuda.runtime.deviceSynchronize()
        times.append((time.perf_counter() - started) * 1e6)
    return min(times)


if __name__ == "__main__":
    main()
