"""Values by JSON schema: what fits comes back as it was given, and what does not is named."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import validator_for

from engine.errors import Refused
from engine.rules import json_shapes, money

pytestmark = pytest.mark.rule("T-03")
WORDS = st.text("abc", max_size=3)
WHOLE = st.integers(-5, 5)
SHAPES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", ["string", "null"]])},
        optional={
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 3),
            "pattern": st.sampled_from(["a", "^b", "c$"]),
            "enum": st.lists(WORDS, min_size=1, max_size=3),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number", ["integer", "null"], ["number", "string"]])},
        optional={"minimum": WHOLE, "maximum": WHOLE, "const": WHOLE},
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["array", ["array", "boolean"]])},
        optional={"maxItems": st.integers(0, 3), "items": st.just({"type": "string"})},
    ),
    st.just({"type": "boolean"}),
)
VALUES = st.one_of(st.none(), st.booleans(), WHOLE, WORDS, st.lists(WORDS, max_size=4))


@given(SHAPES, VALUES)
def test_what_fits_is_what_json_schema_says_fits(shape: dict[str, Any], value: Any) -> None:
    # A list is one of texts here, whatever its items say.
    items = {"items": {"type": "string"}}
    fits = validator_for({**items, **shape}).is_valid(value)
    try:
        assert json_shapes.read({"it": value}, {"it": shape}) == {"it": value}
        assert fits
    except Refused as refusal:
        assert list(refusal.errors or ()) == ["it"]
        assert not fits


@given(st.one_of(WHOLE, st.decimals(-9, 9, places=2), st.booleans(), st.lists(WORDS.filter(bool))))
def test_a_text_is_read_as_what_it_says(value: Any) -> None:
    match value:
        case bool():
            kind, text = "boolean", str(value).lower()
        case int():
            kind, text = "integer", str(value)
        case Decimal():
            kind, text = "number", f"{value:f}"
        case _:
            kind, text = "array", " , ".join(value)
    shapes = {"it": {"type": kind}}
    assert json_shapes.read({"it": text}, shapes, from_text=True) == {"it": value}
    with pytest.raises(Refused):
        json_shapes.read({"it": text}, shapes)


@pytest.mark.parametrize("text", ["", " 1", "1.0", "1e3", "+1", "0x1", "١", "9" * 20, "true"])
def test_only_digits_are_a_whole_number(text: str) -> None:
    with pytest.raises(Refused):
        json_shapes.read({"it": text}, {"it": {"type": "integer"}}, from_text=True)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_a_whole_number_has_64_bits(value: int) -> None:
    with pytest.raises(Refused):
        json_shapes.read({"it": value}, {"it": {"type": "integer"}})


@given(st.integers(0, money.MAX_UNITS))
def test_amounts_are_dollars_outside_and_base_units_inside(units: int) -> None:
    shape = {"type": "number", "format": "money"}
    dollars = money.to_dollars(units)
    for told in (dollars, str(dollars)):
        assert json_shapes.value(told, shape) == units
    assert json_shapes.value(str(dollars), shape, from_text=True) == units
    assert json_shapes.shown(units, shape) == dollars
    with pytest.raises(ValueError, match=r"at most 1$"):
        json_shapes.value(2, {**shape, "maximum": money.UNITS_PER_DOLLAR})


def test_every_bad_member_is_listed_and_what_is_left_out_has_its_default() -> None:
    shapes: dict[str, dict[str, Any]] = {
        "one": {"type": "integer", "default": 1},
        "two": {"type": "string"},
        "when": {"type": "string", "format": "date-time"},
    }
    assert json_shapes.read({"two": "2"}, shapes) == {"one": 1, "two": "2"}
    with pytest.raises(Refused) as refused:
        json_shapes.read({"one": True, "wen": "2", "when": "soon"}, shapes, ("two",))
    assert refused.value.errors == {
        "wen": "Unknown field; did you mean `when`?",
        "two": "Missing data for required field",
        "one": "give a whole number",
        "when": "give a time like 2026-10-19T09:00:00Z, with its zone",
    }


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_database_keeps_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        json_shapes.value(text, {"type": "string"})


@pytest.mark.parametrize(
    "shapes",
    [
        {"it": {"type": "object"}},
        {"it": {}},
        {"it": {"type": "string", "oneOf": []}},
        {"it": {"type": "string", "format": "email"}},
        {"it": {"type": "integer", "default": 0, "minimum": 1}},
        {"a.b": {"type": "string"}},
    ],
)
def test_a_schema_with_words_that_are_not_known_is_no_schema(shapes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"a\.b|it|at least"):
        json_shapes.check(shapes)
