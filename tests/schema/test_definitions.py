"""Views over several event types."""

import pytest

from schema.auctions import SCHEMA


def test_views() -> None:
    view = SCHEMA.view("furniture", "antiques")
    assert view == SCHEMA.view("antiques", "furniture")
    assert view.mandatory == {"price", "quantity", "period", "furniture_category"}
    assert "material" in view.unique
    assert "material" not in SCHEMA.view("furniture", "lot").unique
    assert "material" not in SCHEMA.view("furniture", without=["material"]).uses
    with pytest.raises(ValueError, match="mandatory: no view is without it"):
        SCHEMA.view("furniture", without=["price"])
    with pytest.raises(ValueError, match="no event type 'lots'"):
        SCHEMA.view("lots")
