"""Rules to segments: executors compile shards of rules, the driver collects the files.

    rules ─ repartition by bucket of id ─▶ build_shard, one task per shard
                                              │ rows: facts, rejected rules, pieces of the segment
              executors' disks, or storage ◀──┘
                         │ a few pieces at a time
                         ▼
    CompiledRules: segment files on the driver's disk, version, rejected rules

compiler            `compile_rules`: plans the job and collects its result
rule_rows           the columns of rules that tasks read
shard_build         the task: the rules of one shard to a segment, with facts about it
pieces              segments as rows, and segments put together from rows
compiled_rules      `CompiledRules` and `load`
layered_rules       rules of which some were compiled again since
rule_buckets        the buckets that rules are hashed and compiled again by
rules_version       the hash of what a set of rules means
canonical           the canonical texts that are hashed
operator_modules    whether executors can import the operators that rules call
"""
