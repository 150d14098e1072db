"""What an account says of itself (H-14)."""

from __future__ import annotations

import pytest

from tests.contract.scene import all_hold, everything
from tests.world import World

WRONG = (
    "", " ", "utc", "Europe/berlin", "Berlin", "Europe", "+02:00", "UTC+2", "localtime", "Etc/",
    "Factory", "/etc/passwd", "../UTC", "Europe/Berlin ", "posixrules",
    "Mars/Olympus", 5, None, ["UTC"],
)  # fmt: skip


@pytest.mark.rule("H-14")
@pytest.mark.rule("H-05")
def test_an_account_has_a_time_zone_which_is_utc_until_it_names_another(world: World) -> None:
    person, other = world.person(), world.person()
    assert person.get("/auth/me")["timezone"] == "UTC"
    name = person.get("/auth/me")["display_name"]
    for zone in ("Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+12", "UTC"):
        told = person.patch("/auth/me", {"timezone": zone})
        assert (told["timezone"], told["display_name"]) == (zone, name)
        assert person.get("/auth/me") == told
    both = person.patch("/auth/me", {"display_name": "Ada", "timezone": "Asia/Kolkata"})
    assert (both["timezone"], both["display_name"]) == ("Asia/Kolkata", "Ada")
    assert other.get("/auth/me")["timezone"] == "UTC"
    before = everything()

    def refused(zone: object) -> None:
        told = person.call("PATCH", "/auth/me", {"timezone": zone, "display_name": "x"})
        assert list(told.refused(400, "invalid")["errors"]) == ["timezone"]

    all_hold(WRONG, refused)
    assert everything() == before
