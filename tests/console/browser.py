# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium over a service: signing in, going to a screen, keys, what axe-core finds."""
import pathlib

from playwright.sync_api import TimeoutError, sync_playwright

CHROMIUM = "/usr/bin/chromium"
AXE = None  # path of axe.min.js, set by the test
WAIT = 15000  # milliseconds


class Chromium:
    """One process for all pages of a test run. Use as a context manager."""

    def __enter__(self):
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        return self.browser

    def __exit__(self, *_):
        self.browser.close()
        self.playwright.stop()


class Page:
    """A page of its own, with nothing of others. `errors` is what it complained about."""

    def __init__(self, chromium, address, **options):
        self.address = address
        self.errors = []
        options = {"ignore_https_errors": True, "viewport": {"width": 1280, "height": 900}, **options}
        self.context = chromium.new_context(**options)
        self.context.set_default_timeout(WAIT)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text)
                     if said.type == "error" and "Failed to load resource" not in said.text else None)
        self.page.on("dialog", lambda dialog: (self.errors.append("dialog"), dialog.dismiss()))

    def close(self):
        self.context.close()

    def sign_in(self, token, fragment=""):
        self.page.goto(f"{self.address}/console{fragment}")
        self.page.fill("#field-token", token)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("#title")

    def go(self, fragment):
        """Opens a screen and waits until it has what it shows."""
        self.page.evaluate("""fragment => new Promise((resolve) => {
            if (location.hash === fragment) return resolve();
            window.addEventListener("hashchange", resolve, { once: true });
            location.hash = fragment; })""", fragment)
        self.settle()

    def settle(self):
        self.page.wait_for_selector("main[aria-busy=false]")

    def expect(self, text):
        """Waits until the page says it."""
        try:
            self.page.wait_for_selector(f"text={text}")
        except TimeoutError as error:
            raise AssertionError(f"the page does not say {text!r} but:\n{self.text()[-3000:]}") from error

    def text(self, selector="main"):
        return self.page.inner_text(selector)

    def focused(self):
        """What the keyboard is at, as people hear it."""
        return self.page.evaluate("""() => { const at = document.activeElement;
            return (at.labels?.[0]?.innerText || at.getAttribute("aria-label") || at.innerText || "").trim(); }""")

    def tab_to(self, text, most=60):
        for _ in range(most):
            if self.focused() == text:
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the keyboard does not reach {text!r}; it is at {self.focused()!r}")

    def not_reached(self):
        """What the mouse can use and the Tab key does not come to, as text."""
        most = self.page.evaluate("""() => { const all = document.querySelectorAll(
                "main :is(a[href], button, input, select, textarea, summary, [tabindex='0'])");
            window.unreached = new Set([...all].filter((one) => !one.disabled && one.checkVisibility()));
            document.getElementById("title").focus();
            return window.unreached.size; }""")
        for _ in range(most + 5):
            self.page.keyboard.press("Tab")
            self.page.evaluate("() => { window.unreached.delete(document.activeElement); }")
        return self.page.evaluate("() => [...window.unreached].map((one) => one.outerHTML.slice(0, 200))")

    def axe(self):
        """Findings of axe-core that are serious or critical, as text."""
        self.page.evaluate(pathlib.Path(AXE).read_text())
        found = self.page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]
                if one["impact"] in ("serious", "critical")]
