"""The HTTP interface: routes, their models, and how requests are admitted and refused.

This is the top layer: it knows `Service` and all its parts, and nothing below knows of HTTP.

    request ──▶ middleware (id, limits, log) ──▶ request_context (key or ticket, ready?)
                                                        │
    answer ◀── models ◀──────────── …_routes ◀──────────┘
           ◀── problem_responses, if a RequestProblem or another error was raised

server               runs the application with uvicorn, and drains it when told to stop
app                  the application: routes, error handlers, the service's start and end
middleware           what happens around every request
request_context      what routes share: the service, the caller, headers
models               the JSON of requests and answers; the OpenAPI description comes from it
problem_responses    problems as answers
rule_routes          rules, and matching, checking and explaining
rule_uploads         the rules of an upload that replaces all
schema_routes        the event schema
subscription_routes  subscriptions
bulk_routes          many subscriptions in one request
event_routes         publishing
delivery_routes      streams, polls and acknowledgements
dead_letter_routes   dead letters
operation_routes     probes, metrics and status
page_routes          the page at `/`, whose files are in `service/page`
"""
