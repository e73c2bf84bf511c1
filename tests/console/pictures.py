# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of docs/console of a service that runs, such as `make demo KEEP=1` leaves it.

    pictures.py ADDRESS TOKEN LOG-KEY FOLDER     the screens, as PNG

Needs what run.sh installs, and Pillow (PyPI).
"""
import json
import pathlib
import ssl
import sys
import urllib.request

import browser
from PIL import Image

# What each screen shows; a picture ends after so many pixels.
SCREENS = {"now": "#now", "refused": "#refused", "running": "#running", "model": "#model?artifact={model}",
           "change": "#change", "proof": "#proof?decision={decision}"}
WIDTH, HEIGHT = 1180, 1250


def ask(address, token, path):
    context = ssl._create_unverified_context()  # the demo's certificate is its own
    request = urllib.request.Request(address + path, headers={"Authorization": f"Bearer {token}"})
    return json.load(urllib.request.urlopen(request, context=context))


def save(page, path):
    """As far as the screen goes, in few colours: text needs no more."""
    height = min(HEIGHT, page.evaluate("() => document.documentElement.scrollHeight"))
    page.screenshot(path=str(path), full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    Image.open(path).quantize(64).save(path, optimize=True)


def main(address, token, key, folder):
    with_lineage = ask(address, token, "/v1/manifests?name=acme/chat")["items"][-1]["artifact"]
    decision = ask(address, token, "/v1/decisions?verdict=deny&limit=1")["items"][0]["id"]
    with browser.Chromium() as chromium:
        page = browser.Page(chromium, address, viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.page.goto(f"{address}/console")
        page.page.fill("#field-token", token)
        page.page.keyboard.press("Enter")
        page.page.wait_for_selector("#title")
        page.settle()
        for name, fragment in SCREENS.items():
            page.go(fragment.format(model=with_lineage, decision=decision))
            if name == "proof":
                page.page.fill("#field-key", key)
                page.page.get_by_role("button", name="Check", exact=True).click()
                page.expect("every step holds")
            if name == "change":
                row = page.page.locator("tr", has_text="trust.changed").first
                row.get_by_role("button", name="Show").click()
                page.expect("signed olga")
                row.scroll_into_view_if_needed()
            save(page.page, pathlib.Path(folder) / f"{name}.png")
        page.close()
        if page.errors:
            raise SystemExit("\n".join(page.errors))


if __name__ == "__main__":
    main(*sys.argv[1:])
