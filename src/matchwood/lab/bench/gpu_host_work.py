"""What the host does before a card can match, for `gpu`: it copies rules there, and encodes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.kernels.masks import EVENTS
from matchwood.lab.bench.kernel import Kernel
from matchwood.lab.bench.reporting import Figures
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.gpu.card import free_bytes
from matchwood.match.batch.strategies.gpu_strategy import GpuStrategy
from matchwood.match.batch.sweep.sweep_program import program_of
from matchwood.match.search.event_slices import slices_of
from matchwood.matcher import Matcher

# How often each figure is measured; the best counts.
ROUNDS = 5


def uploaded(matcher: Matcher, folder: str | None, with_card: bool) -> Figures:
    """Milliseconds from a saved file to arrays on the card, step by step."""
    with tempfile.TemporaryDirectory(dir=folder) as room:
        path = Path(room, "rules.mw")
        started = time.perf_counter()
        matcher.save(path)
        figures: Figures = {"save_s": time.perf_counter() - started}
        rounds = [one_upload(path, with_card) for _ in range(ROUNDS)]
        times = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            Matcher.load(path, verify=False)
            times.append(time.perf_counter() - started)
        figures["file_MB"] = path.stat().st_size / 1e6
    figures["trusted_ms"] = min(times) * 1e3
    figures.update(min(rounds, key=lambda each: float(each["upload_ms"])))
    (part,) = matcher.store.snapshot.parts
    started = time.perf_counter()
    program = program_of(part.segment)
    return figures | {
        "program_ms": (time.perf_counter() - started) * 1e3,
        "program_MB": program.bytes / 1e6,
    }


def one_upload(path: Path, with_card: bool) -> Figures:
    """The steps of one upload."""
    marks = [time.perf_counter()]
    (part,) = Matcher.load(path).store.snapshot.parts
    marks.append(time.perf_counter())
    gpu = part.batch.gpu
    marks.append(time.perf_counter())
    arrays = gpu.arrays(free_bytes() if with_card else 1 << 40)
    marks.append(time.perf_counter())
    if with_card:
        from numba import cuda

        from matchwood.match.batch.gpu.card_sweep import CardSegment

        segment = CardSegment(arrays)
        cuda.synchronize()
        marks.append(time.perf_counter())
        del segment
    names = ("load_ms", "matcher_ms", "levels_ms", "copy_ms")
    steps = {
        name: (end - begin) * 1e3 for name, begin, end in zip(names, marks, marks[1:], strict=False)
    }
    sizes = {
        "upload_ms": sum(steps.values()),
        "card_MB": (arrays.atoms.nbytes + sum(each.bytes for each in arrays.programs)) / 1e6,
        "nodes": sum(each.node_count for each in arrays.programs),
        "levels": len(arrays.programs[0].level_bounds) - 1,
        "slices": len(arrays.programs),
    }
    return steps | sizes


def encoded(gpu: GpuStrategy, kernel: Kernel, table: Any) -> Figures:
    """Microseconds per event in which one core encodes a table, and those in which it and a card
    do: what is left to the core, and all until the codes are on the card."""
    in_dictionaries = table.cast(
        pa.schema(
            pa.field(field.name, pa.dictionary(pa.int32(), field.type))
            if pa.types.is_string(field.type)
            else field
            for field in table.schema
        )
    )
    room = np.empty(EVENTS * len(table.column_names))

    def all_codes(codes: BatchCodes) -> None:
        _ = codes.codes

    def left_to_host(codes: BatchCodes) -> None:
        gpu.encodes = True
        columns = gpu.given(codes).columns
        if columns is not None:
            doubles = room[: columns.numbers * codes.events]
            columns.write_doubles(doubles.reshape(columns.numbers, codes.events))

    def on_card(codes: BatchCodes, encodes: bool) -> None:
        gpu.encodes = encodes
        with gpu.guarded() as worker:
            worker.place(gpu.given(codes))  # type: ignore[union-attr]
            worker.stream.synchronize()  # type: ignore[union-attr]

    figures: Figures = {}
    for name, given in (("columns", table), ("dictionaries", in_dictionaries)):
        check_codes_of_card(gpu, kernel, given)

        asked: tuple[tuple[str, Callable[[BatchCodes], Any]], ...] = (
            (f"encode_{name}_us", all_codes),
            (f"encode_{name}_left_to_host_us", left_to_host),
            (f"encode_{name}_by_card_us", partial(on_card, encodes=True)),
            (f"encode_{name}_by_host_us", partial(on_card, encodes=False)),
        )
        for figure, ask in asked:
            times = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                for piece in slices_of(given, None, None):
                    ask(piece.part_codes(kernel.part))
                times.append(time.perf_counter() - started)
            figures[figure] = min(times) / table.num_rows * 1e6
    gpu.encodes = None
    return figures


def check_codes_of_card(gpu: GpuStrategy, kernel: Kernel, table: Any) -> None:
    """Raise an AssertionError if a card makes other codes of a table than the processor."""
    gpu.encodes = True
    for piece in slices_of(table, None, None):
        codes = piece.part_codes(kernel.part)
        given = gpu.given(codes)
        with gpu.guarded() as worker:
            batch = worker.place(given)  # type: ignore[union-attr]
            worker.stream.synchronize()  # type: ignore[union-attr]
            end = given.given_at + codes.codes.size
            found = batch.copy_to_host()[given.given_at : end].reshape(codes.codes.shape)
        if not (found == codes.codes).all():
            slots = codes.slots[(found != codes.codes).any(axis=1)].tolist()
            raise AssertionError(f"codes of the slots {slots} on the card are others")


def shares(figures: Figures) -> Figures:
    """How much of `match_batches` in one thread is encoding by the processor, as a percentage."""
    names = (
        "encode_columns_us",
        "encode_columns_left_to_host_us",
        "batches_gpu_codes_by_card_1_threads_us",
    )
    if not all(name in figures for name in names):
        return {}
    by_host, left, whole = (float(figures[name]) for name in names)
    return {
        "share_of_encoding_%": 100 * left / whole,
        "without_card_%": 100 * by_host / (whole - left + by_host),
    }
