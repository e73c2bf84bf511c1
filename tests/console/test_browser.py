# SPDX-License-Identifier: Apache-2.0
"""The screens in a headless Chromium over a service with real data. run.sh says what it needs."""
import csv
import io
import json
import os
import re
import time
import unittest

import browser
import service

browser.AXE = os.environ.get("ASSAY_AXE")
ROWS = int(os.environ.get("ASSAY_CONSOLE_ROWS", "10000"))
# Characters that hide or turn text: none of them may reach the page as itself.
UNSEEN = ("\u202e", "\u200b", "\u0000")


def screens(made):
    """The screens, each with something to show."""
    status, page = made.request("GET", "/v1/decisions?verdict=deny&limit=1", token="auditor")
    assert status == 200
    decision = page["items"][0]["id"]
    return {"now": "#now", "refused": "#refused", "report": "#report", "running": "#running",
            "model": f"#model?artifact={made.artifact}", "releases": "#model?name=acme%2Fdemo",
            "change": "#change", "policy": f"#change?policy={made.policy}",
            "decision": f"#decision?id={decision}", "proof": f"#proof?decision={decision}"}


class WithService(unittest.TestCase):
    """Each class has a service of its own; each page begins as a browser that was never there."""

    @classmethod
    def setUpClass(cls):
        cls.made = cls._enter(service.ConsoleService())
        cls.chromium = cls._enter(browser.Chromium())
        cls.made.fill()
        cls.screens = screens(cls.made)

    @classmethod
    def _enter(cls, manager):
        entered = manager.__enter__()
        cls.addClassCleanup(manager.__exit__, None, None, None)
        return entered

    def open(self, token="auditor", fragment="", **options):
        opened = browser.Page(self.chromium, f"https://127.0.0.1:{self.made.port}", **options)
        self.addCleanup(opened.close)
        if token:
            opened.sign_in(self.made.token(token), fragment)
            opened.settle()
        return opened

    def press(self, opened, name):
        opened.page.get_by_role("button", name=name, exact=True).click()


class Screens(WithService):
    def test_screens_show_what_there_is(self):
        opened = self.open()
        expected = {
            "now": ["ready", "What ends next", "release", "Top reasons", "No manifest by a trusted publisher"],
            "refused": ["inference/llm-1", "user-1", "admission-webhook"],
            "report": ["13 decisions, 4 allowed, 9 refused", "user-1", "inference"],
            "running": ["inference/llm-0", "admission-webhook", "acme/demo"],
            "model": ["accuracy = 0.947", "eva", "release", "Lineage", "inference/llm-0"],
            "releases": ["Releases of acme/demo (2)"],
            "change": ["gpu-models version 1", "in force", "paula", "policy.activated"],
            "policy": ["signed paula (author)", "signed quentin (approver)"],
            "decision": ["refused", "Conditions", "manifest-missing"],
            "proof": ["comes from the server that it checks", "Wanted, found, who"],
        }
        for name, fragment in self.screens.items():
            with self.subTest(screen=name):
                opened.go(fragment)
                text = opened.text()
                for part in expected[name]:
                    self.assertIn(part, text)
                self.assertNotIn("cannot be shown", text)
        self.assertEqual(opened.errors, [])

    def test_hostile_texts_stay_texts(self):
        """Those of the data, then one in every text that the service sends."""
        opened = self.open()
        opened.go("#refused")
        self.assertIn("<img src=x onerror=", opened.text(), "shown as it is")
        for everywhere in (False, True):
            if everywhere:
                opened.page.route("**/v1/**", self._poison)
            for name, fragment in self.screens.items():
                with self.subTest(screen=name, everywhere=everywhere):
                    opened.go("#report" if name != "report" else "#now")
                    opened.go(fragment)
                    found = opened.page.evaluate(
                        "() => [window.hacked, document.querySelectorAll('main img, main script, main iframe').length]")
                    self.assertEqual(found, [None, 0])
                    text = opened.page.evaluate("() => document.documentElement.outerHTML")
                    for character in UNSEEN:
                        self.assertNotIn(character, text)
        self.assertEqual([one for one in opened.errors if "violates" in one or "dialog" in one], [])

    @staticmethod
    def _poison(route):
        def poison(value):
            if isinstance(value, str):
                return value + service.HOSTILE
            if isinstance(value, list):
                return [poison(one) for one in value]
            if isinstance(value, dict):
                return {key + service.HOSTILE if key in ("extra",) else key: poison(one) for key, one in value.items()}
            return value

        answer = route.fetch()
        try:
            body = json.dumps(poison(answer.json()))
        except ValueError:
            body = answer.text()
        route.fulfill(response=answer, body=body)

    def test_lists_that_are_cut_say_so(self):
        """Much more than one screen shows, as the service would answer it."""
        day = "2026-01-01T00:00:00.000Z"
        event = {"type": "policy.published", "actor": "ann", "subject": list("abcdef"), "documents": [], "detail": {},
                 "time": day}
        asked = []

        def events(route):
            asked.append(route.request.url)
            newest = "order=newest" in route.request.url
            items = [{**event, "index": 9000 - i if newest else i} for i in range(200)]
            self._json(route, {"items": items, "next_cursor": "more"})

        lines = {"name": "long", "list": ["x"] * 30000}
        ends = [{"node": f"n{i}", "state": "enrolled", "enrolled_at": day, "expires_at": day, "instances": [],
                 "worker_measured": False} for i in range(20)]
        opened = self.open()
        opened.page.route("**/v1/audit/events?*", events)
        opened.page.route("**/v1/policies/*", self._changing(policy=lines, active=True))
        opened.page.route("**/v1/nodes?*", lambda route: self._json(route, {"items": ends}))
        opened.page.route("**/v1/models/*", self._changing(truncated=True))
        opened.page.route("**/v1/manifests?*", lambda route: self._json(
            route, {"items": 1000 * route.fetch().json()["items"][:1], "next_cursor": "more"}))
        for name, parts in {"change": ["9000", "And 600 more. There are more on the server.", "And 2 more."],
                            "policy": ["The last 10,005 lines of this document are not shown."],
                            "now": ["What has ended", "And 5 more.", "TLS certificate"],
                            "model": ["statements about this model are here"],
                            "releases": ["There are more on the server"]}.items():
            with self.subTest(screen=name):
                opened.go(self.screens[name])
                for part in parts:
                    self.assertIn(part, opened.text())
        self.assertTrue(all("order=newest" in one for one in asked), asked)

    @staticmethod
    def _json(route, body):
        route.fulfill(status=200, content_type="application/json", body=json.dumps(body))

    def _changing(self, **members):
        return lambda route: self._json(route, {**route.fetch().json(), **members})

    def test_keyboard_alone(self):
        opened = self.open(token=None)
        press = opened.page.keyboard.press
        opened.page.goto(f"{opened.address}/console")
        opened.page.wait_for_selector("#field-token")
        self.assertEqual(opened.focused(), "Token")
        opened.page.keyboard.type(self.made.token("auditor"))
        press("Enter")
        opened.page.wait_for_selector("#title")
        opened.settle()
        opened.page.evaluate("document.body.focus()")
        opened.page.reload()
        opened.page.wait_for_selector("#field-token")
        opened.page.keyboard.type(self.made.token("auditor"))
        press("Enter")
        opened.page.wait_for_selector("#title")
        opened.settle()
        press("Shift+Tab")
        opened.tab_to("Refused", 100)
        press("Enter")
        opened.expect("Refused requests")
        opened.settle()
        self.assertEqual(opened.focused(), "Refused requests", "the heading of the new screen has the focus")
        opened.tab_to("Namespace")
        opened.page.keyboard.type("inference")
        opened.tab_to("User")
        opened.page.keyboard.type("user-1")
        press("Enter")
        opened.page.wait_for_function("() => location.hash.includes('user-1')")
        opened.settle()
        self.assertIn("namespace=inference", opened.page.url)
        self.assertNotIn("llm-2", opened.text("table"))
        opened.tab_to("Refused requests")
        opened.tab_to("why")
        press("Enter")
        opened.expect("Prove it")
        opened.tab_to("Prove it")
        press("Enter")
        opened.expect("Check it")
        self.assertEqual(opened.errors, [])

    def test_keyboard_reaches_everything_on_each_screen(self):
        opened = self.open()
        for name, fragment in self.screens.items():
            with self.subTest(screen=name):
                opened.go(fragment)
                self.assertEqual(opened.not_reached(), [])

    def test_accessibility_in_both_schemes(self):
        for scheme in ("light", "dark"):
            opened = self.open(color_scheme=scheme)
            for name, fragment in self.screens.items():
                with self.subTest(screen=name, scheme=scheme):
                    opened.go(fragment)
                    self.assertEqual(opened.axe(), [])
        opened = self.open(token=None, viewport={"width": 380, "height": 800})
        opened.page.goto(f"{opened.address}/console")
        opened.page.wait_for_selector("#field-token")
        self.assertEqual(opened.axe(), [])

    def test_roles_that_see_less(self):
        opened = self.open(token="reader")
        opened.go("#now")
        self.assertIn("Left out, because your roles do not show them", opened.text())
        opened.go("#change")
        self.assertIn("Your roles do not allow this part", opened.text())

    def test_mistyped_times_can_be_corrected(self):
        opened = self.open(fragment="#refused?since=yesterday")
        opened.expect('"yesterday" is no time')
        opened.page.fill("#field-since", "2h")
        self.press(opened, "Filter")
        opened.expect("inference/llm-1")

    def test_token_is_kept_nowhere(self):
        token = self.made.token("auditor")
        opened = self.open(fragment=f"#refused?token={token}&namespace=inference")
        opened.go("#now")
        kept = opened.page.evaluate("""async () => JSON.stringify([Object.entries(localStorage),
            Object.entries(sessionStorage), document.cookie, document.documentElement.outerHTML,
            (await indexedDB.databases()).length, location.href])""")
        self.assertNotIn(token, kept)
        opened.page.reload()
        opened.page.wait_for_selector("#field-token")
        self.assertEqual(opened.page.input_value("#field-token"), "")


class Questions(WithService):
    """What people ask, each answered by one screen, of a service with 200 more decisions."""

    def test_each_question_has_a_screen(self):
        self.made.decide_often(200)
        opened = self.open()
        decision = self.screens["decision"].split("=")[1]
        questions = {
            "is the installation healthy, what ends next": ("#now", ["ready", "TLS certificate", "key (operator)"]),
            "which pods were refused since yesterday, why, who asked, from which cluster": (
                "#refused?since=1d&namespace=inference",
                ["inference/llm-1", "user-1", "admission-webhook", "No trusted statement of the required kind"]),
            "what was refused in a month, on one page": ("#report?since=30d", ["209 refused", "load", "user-2"]),
            "who approved or evaluated the model, with which value": (
                self.screens["model"], ["accuracy = 0.947", "eva", "Approvals: nobody approved it."]),
            "who wrote and who approved a policy": (
                self.screens["policy"], ["signed paula (author)", "signed quentin (approver)"]),
            "who changed what when": ("#change", ["trust.bootstrapped", "policy.activated"]),
            "what runs": ("#running", ["inference/llm-0", "acme/demo"]),
            "why this decision": (f"#decision?id={decision}", ["Wanted", "Found", "manifest-missing"]),
            "prove it": (f"#proof?decision={decision}", ["Check it"]),
        }
        for question, (fragment, parts) in questions.items():
            with self.subTest(question=question):
                began = time.monotonic()
                opened.go(fragment)
                for part in parts:
                    self.assertIn(part, opened.text())
                print(f"  {1000 * (time.monotonic() - began):5.0f} ms  {fragment.split('?')[0]:10} {question}")
        self.assertEqual(opened.errors, [])


class ManyRows(WithService):
    def test_many_rows(self):
        """The first page of 100, older ones, and a file with all."""
        self.made.decide_often(ROWS)
        opened = self.open()
        opened.go("#refused?namespace=load&since=1d")
        opened.page.wait_for_selector("table")
        self.assertEqual(opened.page.locator("tbody tr").count(), 100)
        opened.expect("in all")
        decision = "tbody a[href^='#decision'] >> nth=0"
        first = opened.page.get_attribute(decision, "href")
        self.press(opened, "Older")
        opened.expect("Page 2")
        self.assertNotEqual(opened.page.get_attribute(decision, "href"), first)
        self.press(opened, "Newer")
        opened.expect("Page 1")
        with opened.page.expect_download(timeout=60000) as waiting:
            self.press(opened, "Save as CSV")
        rows = list(csv.reader(io.StringIO(waiting.value.path().read_text())))
        self.assertEqual(len(rows), min(ROWS, 10000) + 1)
        self.assertEqual(rows[0][:3], ["Time", "Namespace and pod", "User"])
        # Those of before, which thousands of newer ones hide.
        for fragment, pods in {"#refused?user=user-1": ["llm-1", "llm-5"], "#refused?pod=llm-2": ["llm-2"],
                               "#refused?cluster=admission-webhook&user=user-2": ["llm-10", "llm-2"],
                               "#refused?model=acme%2Fdemo&pod=llm-1": ["llm-1"]}.items():
            opened.go(fragment)
            self.assertEqual(sorted(re.findall(r"inference/(\S+)", opened.text("tbody"))), pods, fragment)
        opened.go("#report?since=1d")
        opened.page.wait_for_function("() => document.body.innerText.includes('refused.')", timeout=60000)
        opened.go("#now")
        self.assertEqual("of the day are counted" in opened.text(), ROWS > 1000)
        for name, fragment in self.screens.items():
            with self.subTest(screen=name):
                opened.go("#now")
                began = time.monotonic()
                opened.go(fragment)
                print(f"  {1000 * (time.monotonic() - began):5.0f} ms  {name} after {ROWS} decisions")
                self.assertNotIn("cannot be shown", opened.text())
        self.assertEqual(opened.errors, [])


class Changing(WithService):
    """What changes while somebody looks."""

    def test_live_without_moving_what_is_read(self):
        opened = self.open(fragment="#refused")
        opened.settle()
        before = opened.text("tbody")
        self.made.review("llm-later", "acme/demo", "inference", "late")
        opened.expect("There are newer ones")
        self.assertEqual(opened.text("tbody"), before)
        self.press(opened, "There are newer ones: show them")
        opened.expect("llm-later")

    def test_offline_and_back(self):
        opened = self.open(fragment="#now")
        opened.settle()
        opened.context.set_offline(True)
        opened.page.wait_for_selector("#offline:not([hidden])")
        self.assertIn("does not answer", opened.text("body"))
        opened.page.evaluate("location.hash = '#refused'")
        opened.page.wait_for_selector(".failure")
        opened.context.set_offline(False)
        opened.go("#now")
        opened.page.wait_for_selector("#offline", state="hidden")
        opened.expect("store, clock and keys work")
        for name, fragment in self.screens.items():
            with self.subTest(screen=name):
                opened.go("#proof" if name != "proof" else "#now")
                opened.context.set_offline(True)
                opened.go(fragment)
                if name != "proof":  # which asks nothing before somebody presses Check
                    opened.expect("The service does not answer. The page tries again.")
                opened.context.set_offline(False)
                opened.go("#running" if name != "running" else "#now")
                opened.go(fragment)
                self.assertNotIn("does not answer", opened.text())

    def test_credential_that_ends(self):
        opened = self.open(token="leaver", fragment="#refused?namespace=inference")
        opened.settle()
        self.made.remove("leaver")
        opened.page.wait_for_selector("#sign-in")
        self.assertIn("does not accept the credential any more", opened.text())
        self.assertNotIn("llm-1", opened.text(), "what was shown is gone")
        opened.page.fill("#field-token", "assay_wrong")
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_selector(".failure")
        opened.page.fill("#field-token", self.made.token("auditor"))
        opened.page.keyboard.press("Enter")
        opened.expect("llm-1")
        self.assertIn("namespace=inference", opened.page.url, "where one was")
        for name, fragment in self.screens.items():
            if name == "proof":
                continue
            with self.subTest(screen=name):
                opened.go("#proof")
                opened.page.route("**/v1/**", lambda route: route.fulfill(
                    status=401, content_type="application/problem+json", body='{"code":"unauthenticated"}'))
                opened.page.evaluate("fragment => { location.hash = fragment; }", fragment)
                opened.page.wait_for_selector("#sign-in")
                opened.page.unroute("**/v1/**")
                opened.page.fill("#field-token", self.made.token("auditor"))
                opened.page.keyboard.press("Enter")
                opened.page.wait_for_selector("#title")
                opened.settle()
                self.assertIn(fragment, opened.page.url)

    def test_client_certificate(self):
        made = self.made
        made.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-days", "2", "-subj", "/CN=desk", "-keyout", "desk.key", "-out", "desk.crt")
        made.run("assay", "token", "new", "--principal", "browser", "--role", "auditor", "--role", "reader",
                 "--certificate", "desk.crt", "--out", "browser.json")
        made.run("assay", "trust", "change", "--put-principal", "browser.json", "--sequence", "auto", "--out",
                 "change.json", token="admin")
        made.sign("change", "operator-1", "operator-2")
        made.run("assay", "trust", "push", "change.signed.json", token="admin")
        pair = {"origin": f"https://127.0.0.1:{made.port}", "certPath": str(made.dir / "desk.crt"),
                "keyPath": str(made.dir / "desk.key")}
        opened = self.open(token=None, client_certificates=[pair])
        opened.page.goto(f"{opened.address}/console#refused")
        opened.expect("llm-1")
        self.assertIn("client certificate", opened.text("#session"))

    def test_envelope_is_reviewed_and_sent(self):
        opened = self.open(token="admin", fragment="#change")
        opened.settle()
        self.made.run("assay", "token", "new", "--principal", "reader", "--role", "reader", "--out", "again.json")
        self.made.run("assay", "trust", "change", "--put-principal", "again.json", "--sequence", "auto", "--out",
                      "again-change.json", token="admin")
        self.made.sign("again-change", "operator-1")
        opened.page.set_input_files("#field-envelope", self.made.dir / "again-change.signed.json")
        opened.expect('the credentials of "reader" are replaced by those above')
        self.made.run("assay", "trust", "change", "--remove-principal", "nobody", "--sequence", "auto", "--out",
                      "going.json", token="admin")
        for signers, people in ((["operator-1"], "1 of 2 people"), (["operator-1", "operator-2"], "2 of 2 people")):
            self.made.sign("going", *signers)
            opened.page.set_input_files("#field-envelope", self.made.dir / "going.signed.json")
            opened.expect(people)
            self.assertIn("take away the access of nobody", opened.text())
            self.assertIn("signed olga (operator)", opened.text())
            self.press(opened, "Send it")
            opened.page.wait_for_selector(".failure" if len(signers) == 1 else "text=The service has it")
        shown = self.made.run("assay", "key", "show", "keys/publisher.pem.pub", "-o", "json").stdout
        self.made.run("assay", "trust", "change", "--revoke", json.loads(shown)["key_id"], "--reason", "lost",
                      "--sequence", "auto", "--out", "revoke.json", token="admin")
        self.made.sign("revoke", "operator-1")
        opened.page.set_input_files("#field-envelope", self.made.dir / "revoke.signed.json")
        opened.expect("revoke the key")
        self.press(opened, "What would change?")
        opened.expect("newly refused")
        opened = self.open(token="desk", fragment="#change")
        opened.page.set_input_files("#field-envelope", self.made.dir / "policy-2.signed.json")
        opened.expect("Against what is in force")
        self.assertIn('"warn"', opened.text())

    def test_proofs(self):
        key = (self.made.dir / "log.vkey").read_text().strip()
        opened = self.open()
        opened.go(self.screens["proof"])
        opened.page.fill("#field-key", key)
        self.press(opened, "Check")
        opened.expect("every step holds")
        self.assertEqual(opened.page.locator(".steps li").count(), 8)
        with opened.page.expect_download() as waiting:
            self.press(opened, "Save the checkpoint")
        checkpoint = waiting.value.path().read_text()
        self.made.review("llm-proof", "acme/demo", "inference", "user")
        opened.page.fill("#field-older", checkpoint)
        self.press(opened, "Check")
        opened.expect("Nothing was changed since your older checkpoint")
        opened.expect("every step holds")

        opened.page.fill("#field-older", checkpoint.replace("e2e.example/log\n", "e2e.example/log\n1", 1))
        self.press(opened, "Check")
        opened.expect("not proven")
        opened.page.fill("#field-older", "")
        for wrong in ("name+00000000+AAAA", key.replace("e2e", "f3f")):
            opened.page.fill("#field-key", wrong)
            self.press(opened, "Check")
            opened.expect("not proven")
            self.assertIn("not checked", opened.text(".steps"))
        opened.page.fill("#field-key", key)
        for place, change in {"**/v1/log/entries/*": ('"decision.made"', '"decision.mode"'),
                              "**/proof*": ('"inclusion":["', '"inclusion":["00'),
                              "**/v1/decisions/*": ('"payload":"', '"payload":"e30')}.items():
            with self.subTest(changed=place):
                opened.page.route(place, self._replacing(*change))
                self.press(opened, "Check")
                opened.expect("not proven")
                opened.expect("does not hold")
                opened.page.unroute(place)

    @staticmethod
    def _replacing(before, after):
        def tamper(route):
            answer = route.fetch()
            assert before in answer.text()
            route.fulfill(response=answer, body=answer.text().replace(before, after))

        return tamper


if __name__ == "__main__":
    unittest.main()
