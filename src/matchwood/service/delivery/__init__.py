"""The way of an event: accepted, matched, stored with its matches, delivered, acknowledged.

    POST /events
        │ acceptance: check the text (sent_events) or parse (event_bodies), check the schema,
        │ match, write
        ▼
    database row (event, numbers of the subscriptions it matched)
        │ after the commit
        ▼
    outbox ──▶ watchers ──┬──▶ waiting streams and polls ── due_events ──▶ subscriber
                          └──▶ webhooks ── webhook_calls ──▶ subscriber's URL
                                  │ after the last attempt
                                  ▼
                              dead_letters ◀── dead_letter_replay sends them again
    acknowledgement ──▶ cursors ──▶ database, some moments later
    retention drops events that all have acknowledged, or that are too old

sent_events          events that compiled code has checked, stored as the text that came
event_bodies         events from JSON, JSON lines and Arrow streams
cloud_events         CloudEvents, published and delivered
acceptance           publishing: matches the events and stores them in one transaction
publications         those that a client may repeat, and that are accepted once
outbox               in memory: which events are waiting for which subscription
due_events           the next events of a subscription, with their bodies
cursors              acknowledgements, written many at a time
watchers             tells streams, polls and webhooks that there is something new
webhooks             whose turn it is to be called, and when to try again
webhook_calls        one signed call
webhook_connections  HTTP connections to receivers, kept open between calls
addresses            where webhooks may go: public addresses only, unless allowed otherwise
dead_letters         events that a webhook did not accept
dead_letter_replay   sends dead letters again on request
retention            drops events from the outbox and the database
delivery_parts       all of these, put together
"""
