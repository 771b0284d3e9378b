"""A sweep on a GPU.

Modules:

- `card`: whether there is a GPU that this process can use, and why not;
- `card_access`: the card that a process uses: its own, or one that another process has, which is
  `card_server`, for several clients (`card_client`), who exchange `array_messages` with it;
- `card_layout`: where things are in the arrays of a card;
- `card_program`: the program of a sweep in the form that a card goes through;
- `card_batches`: a batch in the form that is copied to a card;
- `card_copies`: what is copied to the card once;
- `card_coding`, `card_code_kernels`: columns of a table to codes, by `card_code_tables`;
- `card_sweep`: a segment on the card, and what the host does around the kernels;
- `card_buffers`: memory of the card, and pinned memory of the host for results;
- `card_matches`: matches that are left on the card, and `card_exports`, which hands arrays of a
  card to other libraries;
- `card_runs`, `card_run_kernels`: the matches of a batch as runs, rule by rule;
- `card_best_kernels`: the matches of highest priority of each event;
- `card_sweep_kernels`: the sweep, with `card_literal_kernels` for what literals mean and
  `warp_kernels` for what the lanes of a warp do together.
"""
