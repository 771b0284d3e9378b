"""The strategies for matching many events, one module each.

- `sweep_strategy`: visit every node once, with a bit mask of all events;
- `gpu_strategy`: the same on a GPU, where one is asked for;
- `one_by_one`: match each event on its own.

`batch.batch_strategy` has their interface, `batch.batch_matcher` their list.
"""
