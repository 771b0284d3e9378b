"""Events and compiled rules to matches, in tasks on the executors.

    Arrow batches of events ─ gathered ─ read_events ─┬─ rejected rows, with the reason
                                                      ▼
    segments, mapped once per process ─────── slices of matches
                                                      │ joined; for shards, merged
                                                      ▼
                                  MatchWriter ─ Arrow batches of bounded size ─▶ Spark

event_matching      `match_events` and `rejected_events`: checks arguments and plans the job
plan                what each task is told
tasks               the functions that executors run
replicated          a task with all segments open
sharded             a task that opens one segment after the other and keeps its events
given_lists         the lists that rules name, sent to executors and opened there
open_rules          segments on an executor, and the slices of matches that they find
task_device         whether a task matches on a GPU
devices_used        on which devices tasks have matched, for the summary of a pipeline
match_writer        matches as Arrow batches
match_files         matches in files of Parquet that workers write themselves, and their figures
event_files         events in files of Parquet that workers read themselves
sql_functions       `register`: the same as functions of SQL
text_matching       a column of JSON texts, matched as it is
"""
