"""The rules of a matcher: snapshots for those who match, and a store for those who change them.

A `Snapshot` is the seam between the engine and everything that uses it (`Matcher`, the service,
Spark): all rules of one moment, never changed, with what can be asked of them. A `RuleStore` has
the current snapshot. Readers take it and wait for nobody; a writer makes a new one under a lock.

    add, update, remove ── RuleStore ── pending rules ─┐
                                          │            ├── Snapshot ── match, pairs, details, save
    background thread ── build, merge ────┴── parts ───┘

Modules:

- `snapshot`: all rules of one moment;
- `rule_store`: rules by id, which are added, replaced and removed;
- `part_store`: the current snapshot, and the thread that keeps its parts few;
- `merge_process`: a large merge in a process of its own;
- `rule_input`: rules, tags and priorities however they are given;
- `rule_lists`: the lists that rules name in `in list '…'`;
- `index_stats`: figures of a snapshot.
"""
