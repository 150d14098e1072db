"""How pages look in a real browser: on a phone and a wide screen, in the light and the dark."""

from __future__ import annotations

import pytest

from engine.chain.local import LocalChain
from tests.pages.chromium import KEY, Tab
from tests.pages.visiting import base, send_html, share_path
from tests.processes import SQLITE, Starter
from tests.shop import shop

pytestmark = pytest.mark.browser
# Everything that is wrong with how the page looks: text that nobody can read, fields that nobody
# can name, words squeezed into a column of letters, and a page that has to be pushed sideways.
FAULTS = r"""(() => {
  const faults = [], pixel = document.createElement("canvas").getContext("2d");
  const channels = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    return [...pixel.getImageData(0, 0, 1, 1).data].map((one) => one / 255);
  };
  const over = (top, under, part) => under.map((one, i) => top[i] * part + one * (1 - part));
  const probe = document.body.appendChild(document.createElement("p"));
  probe.style.backgroundColor = "Canvas";
  const paper = channels(getComputedStyle(probe).backgroundColor).slice(0, 3);
  probe.remove();
  const light = (rgb) => {
    const [r, g, b] = rgb.map((one) => one <= .04 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b + .05;
  };
  const contrast = (element) => {
    const chain = [];
    for (let one = element; one; one = one.parentElement) chain.unshift(one);
    let [ground, part] = [paper, 1];
    for (const one of chain) {
      const { backgroundColor, opacity } = getComputedStyle(one);
      const [r, g, b, alpha] = channels(backgroundColor);
      ground = over([r, g, b], ground, alpha);
      part *= opacity;
    }
    const [r, g, b, alpha] = channels(getComputedStyle(element).color);
    const pair = [light(over([r, g, b], ground, alpha * part)), light(ground)];
    return Math.max(...pair) / Math.min(...pair);
  };
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) faults.push("wider than the screen");
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one heading");
  for (const one of document.querySelectorAll("body *")) {
    if (!one.checkVisibility() || one.disabled || one.closest("script,noscript")) continue;
    const words = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const name = `${one.tagName} ${one.textContent.trim().slice(0, 40)}`;
    if (words && contrast(one) < 4.5) faults.push(`${name}: contrast ${contrast(one)}`);
    const box = one.getBoundingClientRect();
    if (one.matches("dd:not(.sum dd)") && box.width < 120) faults.push(`${name}: narrow`);
    if (!one.matches("input,select,textarea,button,summary")) continue;
    if (box.height < 24) faults.push(`${name}: too small to be met`);
    if (!(one.labels && one.labels.length) && !one.textContent.trim()) faults.push(`${name}: no name`);
  }
  return faults;
})()"""  # noqa: E501
SCREENS = ((390, 844), (1280, 900))
LONG = "https://example.com/" + "x" * 300


@pytest.mark.rule("T-08")
@pytest.mark.rule("O-01")
def test_every_page_is_read_on_a_phone_and_a_wide_screen_in_the_light_and_the_dark(
    start_stack: Starter, reset_chain: LocalChain, tab: Tab
) -> None:
    stack = start_stack(SQLITE, reset_chain)
    gig = stack.gig(title="Name that bird " * 8, terms=f"Be kind. {LONG}")
    worker = stack.worker(gig)
    pushed = stack.gig(distribution="round_robin", accept_timeout=3600)
    other = stack.worker(pushed)
    offered = stack.task(pushed, LONG, subject="x" * 200)
    place = shop(stack, "2.50")
    buyer = place.buyer(5)
    order = place.draft(buyer, f'{{"order": "{LONG}"}}')
    free = shop(stack)
    sent = free.order(free.buyer())
    body = send_html(stack, gig, f"<h1>Film</h1><p>{LONG}</p>")
    rows = [
        ("/docs", None, "Refusals"),
        (f"/join/{gig.id}?invite={gig.invite}", None, "Send me a code"),
        (f"/join/{gig.id}", worker, "You have a place"),
        (f"/claim/{gig.id}/{body}", worker, "Accept this task"),
        (f"/task/{pushed.id}/{offered}", other, "Pass on it"),
        (f"{share_path(worker)}?task={body}", None, "Hand in"),
        (f"{share_path(other)}?task={offered}", None, "Yours if you hand in"),
        (f"/join/{place.gig.id}", buyer, "How to order"),
        (f"/fund/{place.gig.id}/{order}", buyer, "Pay $2.50 and send"),
        (f"/fund/{place.gig.id}/{order}?hide_navbar=true", buyer, "Pay $2.50 and send"),
        (f"/fund/{free.gig.id}/{sent}", free.vendor, "Read the order"),
    ]
    found: dict[str, list[str]] = {}
    for path, who, words in rows:
        # The key is the tab's before the page opens, as after a sign-in on another.
        tab.open(f"{base(stack)}/api/modes")
        tab.wait("queue_solo")
        key = "" if who is None else who.key
        tab.run(f"sessionStorage.setItem('muster-api-key', '{key}')")
        assert tab.run(KEY) == key
        tab.open(base(stack) + path)
        tab.wait(words)
        for width, height in SCREENS:
            tab.size(width, height, mobile=width < 500)
            for is_dark in (False, True):
                tab.dark(is_dark)
                faults = tab.run(FAULTS)
                if faults:
                    found[f"{path} at {width} {'dark' if is_dark else 'light'}"] = faults
    assert found == {}
