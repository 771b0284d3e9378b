"""What events are matched with: the rules of backends, the subscriptions, and the event schema.

Changes are written to the database first; memory follows in the order of the commits.

    PUT /rules ───────────▶ rule_set ──────────────▶ Matcher of rules (answers POST /match)
    POST /subscriptions ──▶ subscription_store ──▶ subscription_roster (expiry, cursor)
                                             └───▶ rule_index: Matcher of subscriptions
    PUT /schema ──────────▶ event_schema (checks every rule and every event)
    PUT /lists/{name} ────▶ list_store ────────────▶ lists of both matchers

rule_set             the rules of backends, with a version per change
rule_changes         changes in the database, by version: stored here, and read by replicas
rule_follower        the rules of a replica, which follow those of the database
rule_notices         PostgreSQL's notices of changes
live_rules           the rules of one version, and matching with them
quick_matching       which events are matched by the thread that serves connections
written_rules        what answers say of rules, remembered as text
subscription_store   creates, reads, changes, renews and removes subscriptions
subscription_roster  expiry time and cursor of every subscription, in arrays
rule_index           the matcher of the subscriptions' rules, and its snapshots on disk
timed_matching       time limits per event and rule, and who is suspended
list_store           the lists that rules name, which both matchers look values up in
stored_lists         lists in the database, in compressed pieces
carried_data         what rules and subscriptions carry, as text that both databases store
event_schema         the schema that rules and events must fit, version by version
"""
