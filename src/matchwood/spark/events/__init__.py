"""Events on Spark: rows of a DataFrame as the events that rules are matched with.

event_attributes    on the driver: which columns are attributes, and what rules ask in vain
event_batches       on executors: Arrow batches to tables or dicts, and the rows that are rejected
"""
