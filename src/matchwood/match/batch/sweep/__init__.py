"""What a sweep goes through, and what it writes.

Modules:

- `sweep_program`: the nodes of a segment in the form that a sweep streams, made by
  `program_kernels` when the first batch is swept, and `whole_program`, which strategies share and
  files keep;
- `sweep_scratch`, `pair_buffers`: what a sweep writes to, used again for later batches;
- `slot_kernels`, `rank_kernels`: the events of a batch by slot, as words of positions where few
  events have a slot, and else as masks;
- `lazy_masks`: where atoms that codes do not decide are true, and where they are false;
- `literal_row_kernels`: each literal as a word or a mask; `sweep_kernels`: the sweep itself.
"""
