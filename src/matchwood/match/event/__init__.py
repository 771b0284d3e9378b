"""One event against one segment.

    event ── encode ── codes ──┐
                               ├── strategy ── groups of rules ── ordinals
    segment ── event arrays ───┘

An event is encoded once per segment: every value becomes a small integer, a *code*, and strings
that patterns are about are looked up in `patterns`. A strategy then finds the rules. Pushing is
always possible; others are prepared and kept if they turn out to take less time.

Modules:

- `event_matcher`: a segment that is ready to be matched;
- `encode`: values to codes; `spelled_names`: names of events as attributes that have aliases;
- `string_hits`: which patterns are true of a string, or of a list;
- `value_tables`: the entries of values that were seen before, by name, type and value;
- `double_codes`: the codes of numbers that are given as doubles;
- `strategy`: what a strategy is; `strategies` has them, `event_strategies` lists them;
- `strategy_choice`: which strategy is used, by what events take;
- `lazy_atoms`: comparisons and calls that are evaluated only if a rule depends on them;
- `everywhere`: all values of an event, `*`, as codes;
- `element_index`: what `any` and `every` ask of the elements of a list;
- `thread_scratch`: what one thread writes while it matches;
- `woken`: the `and`s that likely literals wake, which cells and bounds find in other ways;
- `cell_index`: rows of bits over cells of codes, in the leaves of a tree;
- `bound_index`: bits in the order in which intervals begin and end;
- `event_kernels`, `push_kernels`, `stab_kernels`, `literal_kernels`, `walk_kernels`,
  `woken_kernels`, `cell_kernels`, `cell_tree_kernels`, `bound_kernels`, `jump_kernels`: compiled
  code.
"""
