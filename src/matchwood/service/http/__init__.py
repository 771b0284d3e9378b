"""The HTTP interface: routes, their models, and how requests are admitted and refused.

This is the top layer: it knows `Service` and all its parts, and nothing below knows of HTTP.

    request ──▶ middleware (id, limits, log) ──▶ request_context (key or ticket, ready?)
                                                        │
    answer ◀── models ◀──────────── …_routes ◀──────────┘
           ◀── problem_responses, if a RequestProblem or another error was raised

server               serves with one process, or with several
workers              processes that match, which share a port and a mapped index
uvicorn_server       runs an application, and drains its connections when told to stop
app                  the applications of services and replicas: routes, error handlers, start, end
middleware           what happens around every request
direct_routes        the requests that come all the time, answered without FastAPI
request_bodies       bodies as they arrive: limited, and unfolded if they are compressed
json_lists           JSON lists in bodies, read item by item
request_context      what routes share: the service, the caller, headers
models               the JSON of requests and answers; the OpenAPI description comes from it
problem_responses    problems as answers
connections          how many connections, and how long requests and readers may take
pieces               answers that are sent piece by piece, within a budget of bytes
rule_routes          rules
match_routes         matching, checking and explaining, which replicas do, too
match_bodies         what is to be matched, as text
match_answers        what is answered, as text, within a limit of bytes
scanned_bodies       bodies that compiled code has checked, so that no event is read by Python
rule_uploads         the rules of an upload that replaces all
schema_routes        the event schema
list_routes          lists with names
list_uploads         the values of an upload that sets a list
subscription_routes  subscriptions
bulk_routes          many subscriptions in one request
event_routes         publishing
delivery_routes      streams, polls and acknowledgements
waiting_routes       what waits, since when and why; retried or skipped by hand
dead_letter_routes   dead letters
operation_routes     probes, metrics and status
page_routes          the pages at `/` and `/docs`, whose files are in `service/page`
"""
