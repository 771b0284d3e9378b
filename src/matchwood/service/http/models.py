"""The JSON of requests and answers; the OpenAPI description is generated from these models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

# PostgreSQL cannot store the character U+0000.
Text = Annotated[str, StringConstraints(pattern="^[^\\x00]*$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern="^[^\\x00]+$")]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern="^[^\\x00]+$")]
Rule = Annotated[
    Text | dict[str, Any] | list[Any] | bool,
    Field(description="The text of a rule, or its JSON form"),
]
EventObject = Annotated[
    dict[str, Any], Field(description="Attributes and their values", examples=[{"age": 20}])
]


class RequestModel(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


# Rules


class RuleIn(RequestModel):
    rule: Rule
    tags: list[Tag] = Field([], max_length=1_000)
    priority: float = Field(0.0, allow_inf_nan=False)
    data: Any = Field(None, description="Any JSON, which is given back with matches")


class RuleOut(BaseModel):
    id: str
    rule: str
    tags: list[str]
    priority: float
    data: Any = None
    suspended: str | None = Field(
        None, description="Why the rule is not matched; null if it is. Setting it resumes it"
    )


class RuleStored(BaseModel):
    version: int
    is_new: bool
    rule: RuleOut


class RulePage(BaseModel):
    version: int
    count: int = Field(description="The total number of rules")
    rules: list[RuleOut]
    next: str | None = Field(description="The `after` of the next page; null on the last page")


class Version(BaseModel):
    version: int


class DiffIds(BaseModel):
    added: list[str]
    changed: list[str]
    removed: list[str]


class RulesReplaced(BaseModel):
    version: int
    previous: int
    added: int
    changed: int
    removed: int
    ids: DiffIds = Field(description="The first 1,000 of each")


class RuleVersion(BaseModel):
    version: int
    at: str
    added: int
    changed: int
    removed: int


class RuleVersions(BaseModel):
    versions: list[RuleVersion]


# Matching


class MatchIn(RequestModel):
    event: EventObject | None = None
    events: list[EventObject] | None = None
    tags: list[Tag] | None = Field(None, description="Only rules that have one of these tags")
    limit: int | None = Field(
        None, ge=0, description="Only so many rules, those of highest priority"
    )
    explain: bool = Field(False, description="Explain why each match is true, node by node")
    why_not: int = Field(
        0, ge=0, le=100, description="List so many rules that came nearest to matching"
    )


class RuleMatch(BaseModel):
    id: str
    tags: list[str]
    priority: float
    data: Any = Field(None, description="What the rule carries; null if nothing")
    bindings: list[dict[str, Any]] | None = Field(
        None, description="The values of the rule's variables"
    )
    explanation: dict[str, Any] | None = None


class NearMissOut(BaseModel):
    id: str
    lacked: list[str]


class EventMatchesOut(BaseModel):
    matches: list[RuleMatch]
    near: list[NearMissOut] | None = None


class MatchOut(BaseModel):
    version: int
    results: list[EventMatchesOut] = Field(description="One per event, in the order of the events")


class CheckIn(RequestModel):
    rule: Rule


class CheckOut(BaseModel):
    valid: bool
    text: str | None = Field(None, description="The rule in canonical form")
    attributes: list[str] = []
    error: dict[str, Any] | None = None


class ExplainIn(RequestModel):
    rule: Rule
    event: EventObject


class SchemaOut(BaseModel):
    version: int = Field(description="0 if there has never been a schema")
    schema_: dict[str, Any] | None = Field(
        alias="schema", description="null if any event is accepted"
    )


# Lists with names


class ListOut(BaseModel):
    name: str
    size: int = Field(description="The number of different values")
    version: int = Field(description="Every change of a list has a greater one")
    at: str = Field(description="When it was set")


class ListWithValues(ListOut):
    values: list[Any] = Field(description="In the order in which they were given, by family")


class ListPage(BaseModel):
    count: int = Field(description="The total number of lists")
    lists: list[ListOut]
    next: str | None = Field(description="The `after` of the next page; null on the last page")


# Subscriptions


class Delivery(RequestModel):
    kind: Literal["pull", "webhook"] = "pull"
    url: Annotated[Text, StringConstraints(max_length=2_000)] | None = None
    format: Annotated[
        Literal["json", "cloudevents", "cloudevents-binary"],
        Field(description="What a webhook is sent: CloudEvents are in JSON or in binary mode"),
    ] = "json"


class SubscriptionIn(RequestModel):
    rule: Rule
    subscriber: Name
    validity: float | None = Field(None, gt=0, description="Seconds; one day by default")
    delivery: Delivery = Delivery()
    data: Any = Field(None, description="Any JSON, which comes with each event that is delivered")


class SubscriptionChange(RequestModel):
    rule: Rule | None = None
    subscriber: Name | None = None
    delivery: Delivery | None = None
    data: Any = Field(None, description="Any JSON; null for none. As it was, if omitted")


class Renewal(RequestModel):
    validity: float | None = Field(None, gt=0, description="Seconds from now; one day by default")


class SubscriptionOut(BaseModel):
    id: str
    subscriber: str
    rule: str
    created: str
    expires: str
    delivery: Delivery
    cursor: int = Field(description="Events up to this one are acknowledged")
    missed: int = Field(
        description="Events that were dropped because they were not fetched in time"
    )
    suspended: str | None = Field(
        None, description="Why the rule is not matched; null if it is. Changing it resumes it"
    )
    data: Any = Field(None, description="What comes with each event; null if nothing")


class SubscriptionChanged(SubscriptionOut):
    secret: str | None = Field(description="The secret that signs webhooks, if it is new")


class SubscriptionNew(SubscriptionOut):
    ticket: str = Field(description="Shown only once")
    secret: str | None = Field(description="The secret that signs webhooks; shown only once")


class TicketNew(BaseModel):
    id: str
    ticket: str = Field(description="Shown only once")


class SubscriptionPage(BaseModel):
    count: int
    subscriptions: list[SubscriptionOut]
    next: str | None


# Events


class EventAccepted(BaseModel):
    id: int
    matched: int


class EventsAccepted(BaseModel):
    results: list[EventAccepted]


class EventDelivered(BaseModel):
    id: int
    published: str
    event: dict[str, Any]
    data: Any = Field(None, description="What the subscription carries; omitted if nothing")


class EventsPolled(BaseModel):
    events: list[EventDelivered]
    cursor: int = Field(description="Events up to this one are acknowledged")


class Acknowledgement(RequestModel):
    event: int = Field(ge=0, le=2**63 - 1)


class Acknowledged(BaseModel):
    cursor: int


class DeliveryState(BaseModel):
    subscription: str
    kind: str
    waiting: int = Field(description="Events that are not acknowledged")
    next_event: int | None = Field(description="The first of them")
    waiting_since: str | None = Field(description="When the first of them was published")
    attempts: int = Field(description="Failed calls of the webhook with the next event")
    last_error: str | None = Field(description="What was wrong with the last of them")
    failing_since: str | None = Field(description="The time of the first of them")
    retry_at: str | None = Field(description="When the webhook is called again")
    dead_letters: int


class DeliveryStates(BaseModel):
    count: int = Field(description="The number of webhooks that are failing")
    deliveries: list[DeliveryState]


class Skip(RequestModel):
    event: int = Field(ge=0, le=2**63 - 1, description="The next event, as `next_event` has it")


class Rate(BaseModel):
    at: str
    events: float = Field(description="Events accepted per second")
    matches: float
    deliveries: float = Field(description="Events sent on streams and polls per second")
    webhook_calls: float
    dead_letters: float


class Rates(BaseModel):
    seconds: float = Field(description="Seconds between two samples")
    samples: list[Rate]


class DeadLetter(BaseModel):
    id: int
    subscription: str
    event: EventDelivered
    at: str
    attempts: int
    error: str
    replay: bool = Field(description="Whether it is about to be sent again")


class DeadLetterPage(BaseModel):
    dead_letters: list[DeadLetter]
    next: int | None


class Replay(RequestModel):
    ids: list[int] | None = Field(None, max_length=1_000, description="All, if omitted")


class Replayed(BaseModel):
    replayed: int


class ProblemOut(BaseModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
