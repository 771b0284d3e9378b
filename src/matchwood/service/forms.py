"""The forms of requests and answers, from which the OpenAPI description is made."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(pattern="^[^\\x00]*$")]  # PostgreSQL keeps no code 0
Name = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern="^[^\\x00]+$")]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern="^[^\\x00]+$")]
Rule = Annotated[
    Text | dict[str, Any] | list[Any] | bool, Field(description="its text, or its JSON form")
]
Event = Annotated[dict[str, Any], Field(description="names and values", examples=[{"age": 20}])]


class Form(BaseModel):
    """What a request sends; a field that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


# Rules


class RuleIn(Form):
    rule: Rule
    tags: list[Tag] = Field([], max_length=1_000)
    priority: float = Field(0.0, allow_inf_nan=False)


class RuleOut(BaseModel):
    id: str
    rule: str
    tags: list[str]
    priority: float


class RuleSet(BaseModel):
    version: int
    is_new: bool
    rule: RuleOut


class RulePage(BaseModel):
    version: int
    count: int = Field(description="how many rules there are in all")
    rules: list[RuleOut]
    next: str | None = Field(description="`after` for the next page; null: this is the last")


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
    ids: DiffIds = Field(description="the first 1,000 of each")


class RuleVersion(BaseModel):
    version: int
    at: str
    added: int
    changed: int
    removed: int


class RuleVersions(BaseModel):
    versions: list[RuleVersion]


# Matching


class MatchIn(Form):
    event: Event | None = None
    events: list[Event] | None = None
    tags: list[Tag] | None = Field(None, description="only rules that have one of them")
    limit: int | None = Field(None, ge=0, description="the rules of highest priority")
    explain: bool = Field(False, description="why each of them is true, node by node")
    why_not: int = Field(0, ge=0, le=100, description="so many rules that came nearest")


class Found(BaseModel):
    id: str
    tags: list[str]
    priority: float
    bindings: list[dict[str, Any]] | None = Field(None, description="of variables in the rule")
    explanation: dict[str, Any] | None = None


class Near(BaseModel):
    id: str
    lacked: list[str]


class Matched(BaseModel):
    matches: list[Found]
    near: list[Near] | None = None


class MatchOut(BaseModel):
    version: int
    results: list[Matched] = Field(description="one for each event, in their order")


class CheckIn(Form):
    rule: Rule


class CheckOut(BaseModel):
    valid: bool
    text: str | None = Field(None, description="the rule as matchwood writes it")
    attributes: list[str] = []
    error: dict[str, Any] | None = None


class ExplainIn(Form):
    rule: Rule
    event: Event


class SchemaOut(BaseModel):
    version: int = Field(description="0: there was never one")
    schema_: dict[str, Any] | None = Field(alias="schema", description="null: any event is taken")


# Subscriptions


class Delivery(Form):
    kind: Literal["pull", "webhook"] = "pull"
    url: Annotated[Text, StringConstraints(max_length=2_000)] | None = None


class SubscriptionIn(Form):
    rule: Rule
    subscriber: Name
    validity: float | None = Field(None, gt=0, description="seconds; default: one day")
    delivery: Delivery = Delivery()


class SubscriptionChange(Form):
    rule: Rule | None = None
    subscriber: Name | None = None
    delivery: Delivery | None = None


class Renewal(Form):
    validity: float | None = Field(None, gt=0, description="seconds from now; default: one day")


class SubscriptionOut(BaseModel):
    id: str
    subscriber: str
    rule: str
    created: str
    expires: str
    delivery: Delivery
    cursor: int = Field(description="events up to this one are acknowledged")
    missed: int = Field(description="events that were dropped, not being fetched in time")


class SubscriptionChanged(SubscriptionOut):
    secret: str | None = Field(description="what webhooks are signed with, where it is new")


class SubscriptionNew(SubscriptionOut):
    ticket: str = Field(description="is told only here")
    secret: str | None = Field(description="what webhooks are signed with; is told only here")


class SubscriptionPage(BaseModel):
    count: int
    subscriptions: list[SubscriptionOut]
    next: str | None


# Events


class Accepted(BaseModel):
    id: int
    matched: int


class AcceptedBatch(BaseModel):
    results: list[Accepted]


class Delivered(BaseModel):
    id: int
    published: str
    event: dict[str, Any]


class Polled(BaseModel):
    events: list[Delivered]
    cursor: int = Field(description="events up to this one are acknowledged")


class Acknowledgement(Form):
    event: int = Field(ge=0, le=2**63 - 1)


class Acknowledged(BaseModel):
    cursor: int


class DeadLetter(BaseModel):
    id: int
    subscription: str
    event: Delivered
    at: str
    attempts: int
    error: str
    replay: bool = Field(description="it is about to be sent again")


class DeadLetterPage(BaseModel):
    dead_letters: list[DeadLetter]
    next: int | None


class Replay(Form):
    ids: list[int] | None = Field(None, max_length=1_000, description="all, if left out")


class Replayed(BaseModel):
    replayed: int


class ProblemOut(BaseModel):
    """Problem details, as RFC 9457 has them."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
