"""Matches of a stream, in micro-batches, while rules change between them.

    rules, checked before each micro-batch ─▶ ChangingRules ─ version ─▶ checkpoint
                                                   │ compiled rules
    micro-batch of events ─────────────────▶ MicroBatches ─▶ sinks of matches and of rejects

A micro-batch that is run again after a crash finds its version of the rules in the checkpoint and
the number of the last complete micro-batch in the sink, so that a folder has each match once.

streaming           `match_stream`, and what is done with each micro-batch
batch_counts        what is counted of a micro-batch as it is written
changing_rules      which version of the rules a micro-batch is matched with
changing_lists      which values of lists a micro-batch is matched with
rule_signatures     whether the rules, or lists, have changed since
table_changes       which rows of a table have changed, as the table itself tells
stored_rows         the other rows, read back from what is compiled
changed_buckets     which rules have changed where nobody tells, by comparing hashes
rule_places         where in the checkpoint compiled rules are
sink                folders, tables and functions that take the matches; `read_matches`
table_transactions  how tables of Delta and Iceberg tell that they have a micro-batch already
durable_log         numbered notes on any storage that Spark can reach
"""
