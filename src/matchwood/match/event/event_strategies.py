"""The list of strategies for matching one event."""

from __future__ import annotations

from matchwood.match.event.strategies.bound_strategy import BoundStrategy
from matchwood.match.event.strategies.cell_strategy import CellStrategy
from matchwood.match.event.strategies.jump_strategy import JumpStrategy
from matchwood.match.event.strategies.push_strategy import PushStrategy
from matchwood.match.event.strategies.walk_strategy import WalkStrategy
from matchwood.match.event.strategy import EventStrategy

# The first one is possible for every segment and used until another turns out to take less time;
# the others are tried in this order.
EVENT_STRATEGIES: tuple[EventStrategy, ...] = (
    PushStrategy(),
    BoundStrategy(),
    CellStrategy(),
    JumpStrategy(),
    WalkStrategy(),
)

# All that can be forced by name: the strategies, and other settings of them.
NAMED_STRATEGIES = {
    variant.name: variant
    for strategy in EVENT_STRATEGIES
    for variant in (strategy, *strategy.variants())
}
