"""Compiling all kernels of the product, in processes of their own.

`python -m matchwood.compiling` is started by `kernels.readiness` when kernels are missing, and ends
when all of them are on disk. Compiling holds Python's lock, so several processes share the work.

    recording ── which kernels `warm` calls, with which types ── coordinator ── workers ── folder

Modules:

- `recording`: does what `warm` does without compiling, and notes the calls of kernels;
- `coordinator`: hands kernels to workers, and writes the list of what they compiled;
- `worker`: compiles what it is told to;
- `kernel_parts`: what a worker leaves out, so that it takes less time;
- `remembered_types`: what a worker works out only once, for the same reason;
- `skipped_analysis`: what a worker does not work out at all, for the same reason.
"""
