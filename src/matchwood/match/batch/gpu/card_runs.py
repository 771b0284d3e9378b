"""The matches of a batch as runs: room for them on the card, and their way to the host."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import cuda

from matchwood.match.batch.gpu.card_buffers import CardArray, leased_bytes
from matchwood.match.batch.gpu.card_copies import CardProgramCopy, launch
from matchwood.match.batch.gpu.card_run_kernels import count_runs, write_runs
from matchwood.match.batch.gpu.card_sweep_kernels import GROUP_CHUNKS, place_groups
from matchwood.match.batch.gpu.warp_kernels import LANES
from matchwood.match.batch.match_runs import MatchRuns

# Room for words that there is before it is known how many a batch gives.
_FIRST_WORDS = 1 << 20

# Bytes of a rule and its count, and of a word.
_RULE_BYTES, _COUNT_BYTES, _WORD_BYTES = 4, 2, 2


class CardRuns:
    """What one stream writes on the card; one thread uses it."""

    def __init__(self, rules: int, groups: int, stream: Any) -> None:
        self._stream = stream
        self._chunk_rules = cuda.device_array(GROUP_CHUNKS * groups, np.int32)
        self._chunk_words = cuda.device_array(GROUP_CHUNKS * groups, np.int32)
        self._group_rules = cuda.device_array(groups, np.int32)
        self._group_words = cuda.device_array(groups, np.int32)
        self._place_of_rules = cuda.device_array(1 + groups, np.int64)
        self._place_of_words = cuda.device_array(1 + groups, np.int64)
        self._rules = cuda.device_array(max(1, rules), np.int32)
        self._counts = cuda.device_array(max(1, rules), np.uint16)
        self._words = CardArray(np.uint16)
        self._rules_found = cuda.pinned_array(1, np.int64)
        self._words_found = cuda.pinned_array(1, np.int64)

    def found(
        self, program: CardProgramCopy, wanted: tuple[bool, Any], words: int, masks: Any,
        counts: Any,
    ) -> MatchRuns:  # fmt: skip
        """The runs of all rules, in the memory of the host, once masks are computed."""
        rules, size = self._write(program, wanted, words, masks, counts)
        stream = self._stream
        counts_at = _RULE_BYTES * rules
        words_at = counts_at + _COUNT_BYTES * rules
        buffer = leased_bytes(words_at + _WORD_BYTES * size)
        runs = MatchRuns(
            buffer[:counts_at].view(np.int32),
            buffer[counts_at:words_at].view(np.uint16),
            buffer[words_at:].view(np.uint16),
        )
        for array, host in ((self._rules, runs.rules), (self._counts, runs.counts)):
            if rules:
                array[:rules].copy_to_host(host, stream=stream)
        if size:
            self._words.array[:size].copy_to_host(runs.words, stream=stream)
        stream.synchronize()
        return runs

    def _write(
        self, program: CardProgramCopy, wanted: tuple[bool, Any], words: int, masks: Any,
        counts: Any,
    ) -> tuple[int, int]:  # fmt: skip
        """Write the runs to the card; how many rules and words there are."""
        stream = self._stream
        of = partial(launch, stream=stream)
        self._words.with_room(_FIRST_WORDS)
        groups = program.groups
        count_runs[of(LANES * groups)](
            program.node_of_rule, *wanted, counts, groups, self._chunk_rules, self._group_rules,
            self._chunk_words, self._group_words,
        )  # fmt: skip
        place_groups[of(LANES)](self._group_rules, groups, self._place_of_rules)
        place_groups[of(LANES)](self._group_words, groups, self._place_of_words)
        while True:
            write_runs[of(LANES * GROUP_CHUNKS * groups)](
                program.node_of_rule, *wanted, words, masks, counts, self._chunk_rules,
                self._place_of_rules, self._chunk_words, self._place_of_words, self._rules,
                self._counts, self._words.array,
            )  # fmt: skip
            self._place_of_rules[:1].copy_to_host(self._rules_found, stream=stream)
            self._place_of_words[:1].copy_to_host(self._words_found, stream=stream)
            stream.synchronize()
            size = int(self._words_found[0])
            if size <= len(self._words.array):
                return int(self._rules_found[0]), size
            self._words.with_room(size + size // 8)  # later batches are of like size
