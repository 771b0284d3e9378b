"""Which rules are true of an event: from one event or many, through the index, to ids of rules.

The packages are a stack. Each imports only from those below it:

    store      snapshots of all rules, the store that changes them, merges
    search     an event, or many, against the parts and pending rules of a snapshot
    parts      a segment with the ids, tags and priorities of its rules; files of them
    json       JSON texts against one segment: bytes to codes
    batch      many events against one segment: columns to codes, sweeps
    event      one event against one segment: codes, push, cells, walk
    patterns   the strings that patterns are true of: grams and regular expressions

    event ── codes ──┐
                     ├── strategy ── ordinals of rules ── ids
    segment ─────────┘

`store.snapshot.Snapshot` is what everything outside this package uses.
"""
