"""The strategies for matching one event, one module each.

- `push_strategy`: push from the predicates that are true to the nodes that they wake;
- `bound_strategy`: find `and`s of likely predicates in the order in which intervals begin and end;
- `cell_strategy`: find `and`s of likely predicates by rows of bits, and push the others;
- `walk_strategy`: walk over all nodes in the order in which they lie in memory.
- `jump_strategy`: every rule in turn, each only until its truth is decided;

`event.strategy` has their interface, `event.event_strategies` their list.
"""
