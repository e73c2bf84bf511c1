# SPDX-License-Identifier: Apache-2.0
"""A database that something else changed: refused or named, and what leads out (docs/recovery.md)."""
import http.client
import json
import shutil
import sqlite3
import ssl
import time
import unittest

import harness
import pods


class Admitting(harness.Service):
    """With a listener for an API server that has the secret. No policy selects a pod."""

    SECRET = "0123456789abcdef0123456789abcdef"

    def __init__(self):
        super().__init__(admission={"port": 0, "client_auth": "path",
                                    "path_secret_file": "admission.secret"})  # fmt: skip

    def _extend(self):
        (self.dir / "service/admission.secret").write_text(self.SECRET + "\n")

    def admitted(self, name):
        context = ssl.create_default_context(cafile=str(self.dir / "service/tls.crt"))
        context.check_hostname = False
        connection = http.client.HTTPSConnection("127.0.0.1", self.ready["admission_port"],
                                                 context=context, timeout=30)  # fmt: skip
        answer = self.request("POST", f"/{self.SECRET}/v1/admission/validate",
                              json.dumps(pods.review(pods.pod(name))), None, connection)  # fmt: skip
        connection.close()
        return answer[0] == 200 and answer[1]["response"]["allowed"]

    def unselected(self):
        """The number of such pods that the log speaks of."""
        items = self.request("GET", "/v1/audit/events?type=admission.")[1]["items"]
        return sum(item["detail"]["count"] for item in items)


class Recovery(unittest.TestCase):
    def sql(self, service, *statements):
        """As somebody with the file in hand could, who puts the triggers back afterwards."""
        database = sqlite3.connect(service.dir / "service/assay.db")
        triggers = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        before = set(database.execute(triggers))
        for statement in statements:
            database.execute(statement)
        for name, sql in before - set(database.execute(triggers)):
            database.execute("DROP TRIGGER IF EXISTS " + name)
            database.execute(sql)
        database.commit()
        database.close()

    def files_end_at(self, service, size):
        service.run("prlimit", "--pid", str(service.process.pid), f"--fsize={size}:unlimited")

    def seconds_until_ready(self, service):
        """How long it takes from the moment at which the disk has room again."""
        self.files_end_at(service, "unlimited")
        start = time.monotonic()
        harness.wait_until("it is ready by itself", lambda: service.request(
            "GET", "/readyz", token=None)[0] == 200, 20)
        return time.monotonic() - start

    def assayd(self, service, *command):
        return service.run("assayd", *command, "service/assayd.json", check=False)

    def findings(self, service, *options):
        done = self.assayd(service, "check", *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = json.loads(done.stdout)["findings"]
        self.assertEqual(done.returncode, 1 if found else 0)
        return {(finding["check"], finding["id"].split(" ")[0]) for finding in found}

    def refused_start(self, service, code):
        with self.assertRaises(AssertionError) as caught:
            service.start()
        self.assertIn(code, str(caught.exception))

    def revoke(self, service, key):
        key_id = json.loads((service.dir / f"keys/{key}.json").read_text())["id"]
        self.change_trust(service, "--revoke", key_id, "--reason", "stolen")

    def change_trust(self, service, *options):
        service.run("assay", "trust", "change", *options, "--sequence", "1", "--out", "change.json")
        service.run("assay", "sign", "change.json", "--key", "keys/operator-1.pem",
                    "--key", "keys/operator-2.pem", "--out", "change.signed.json")
        service.run("assay", "trust", "push", "change.signed.json", token="admin")

    @staticmethod
    def edit(part, old, new):
        return ("UPDATE governance SET document = CAST(replace(CAST(document AS TEXT), "
                f"'{old}', '{new}') AS BLOB) WHERE part = '{part}'")

    def test_document_of_trust_changed_while_stopped_refuses_the_start(self):
        with harness.Service() as service:
            service.stop()
            whole = service.dir / "whole.db"
            shutil.copy(service.dir / "service/assay.db", whole)
            for statement in (self.edit("trust", '"publisher"', '"operator"'),
                              self.edit("trust", '"roles":[]', '"roles":["admin"]'),
                              self.edit("trust", '"epochs":[0,', '"epochs":[7,'),
                              self.edit("policies", '"epoch":0', '"epoch":7'),
                              "DELETE FROM governance"):
                self.sql(service, statement)
                self.refused_start(service, "data-loss")
                part = "policies" if "'policies'" in statement else "trust"
                self.assertIn(("trust", part), self.findings(service))
                shutil.copy(whole, service.dir / "service/assay.db")
            service.start()
            self.assertEqual(self.findings(service, "--deep"), set(), "beside the service")

    def test_document_of_trust_changed_while_running_changes_nothing(self):
        with harness.Service() as service:
            self.sql(service, self.edit("trust", '"roles":[]', '"roles":["admin","auditor"]'))
            self.assertEqual(service.request("GET", "/v1/audit/events", token="nobody")[0], 403)
            self.assertIn(("trust", "trust"), self.findings(service))

    def test_damaged_and_missing_rows_are_named_and_made_again(self):
        with harness.Service() as service:
            envelope = service.manifest()
            status, _ = service.request("POST", "/v1/manifests", envelope)
            self.assertEqual(status, 201)
            listed = service.request("GET", "/v1/manifests")
            self.assertEqual(self.findings(service, "--deep"), set())
            self.sql(service, "DROP TRIGGER statements_keep_update",
                     "UPDATE statements SET name = 'acme/other'")
            status, answer = service.request("GET", "/v1/manifests")
            self.assertEqual((status, answer["code"]), (500, "data-loss"))
            self.assertIn(("row", "statement"), self.findings(service))
            service.stop()
            repaired = self.assayd(service, "repair")
            self.assertEqual(repaired.returncode, 0, repaired.stderr)
            self.assertEqual(json.loads(repaired.stdout)["made"], {"statements": 1})
            self.assertEqual(self.findings(service, "--deep"), set())
            service.start()
            again = service.request("GET", "/v1/manifests")
            self.assertEqual(again[0], 200)
            self.assertEqual(again[1].get("items"), listed[1].get("items"))
            # The record map knows that it was there, and the log which one it was.
            service.stop()
            self.sql(service, "PRAGMA foreign_keys = OFF", "DROP TRIGGER statements_keep_delete",
                     "DELETE FROM statement_subjects", "DELETE FROM statement_inputs",
                     "DELETE FROM statement_locations",
                     "DELETE FROM statement_signers", "DELETE FROM statement_envelopes",
                     "DELETE FROM statements")
            self.assertIn(("missing-row", "statements"), self.findings(service))
            self.assertIn(("missing-row", "statement"), self.findings(service, "--deep"))
            self.assertEqual(self.assayd(service, "repair").returncode, 0)
            self.assertEqual(self.findings(service, "--deep"), set())
            service.start()
            self.assertEqual(service.request("GET", "/v1/manifests")[1].get("items"),
                             listed[1].get("items"))

    def test_parts_of_a_decision_s_case_are_followed_running_and_offline(self):
        with harness.Service() as service:
            status, answer = service.request("POST", "/v1/decisions", json.dumps(
                {"point": "create", "workload": {"namespace": "a"}}))
            self.assertIn(status, (200, 201), answer)
            self.assertEqual(self.findings(service, "--deep"), set())
            database = sqlite3.connect(service.dir / "service/assay.db")
            (part,) = database.execute(
                "SELECT lower(hex(id)) FROM documents WHERE CAST(bytes AS TEXT) LIKE '{%evaluator%'").fetchone()
            database.close()
            self.sql(service, "DROP TRIGGER documents_keep_delete",
                     f"DELETE FROM documents WHERE id = x'{part}'")
            self.assertIn(("case-part", "sha256:" + part), self.findings(service, "--deep"))
            service.stop()
            self.assertIn(("case-part", "sha256:" + part), self.findings(service, "--deep"))

    def envelope(self, service, path):
        """The status and the parsed answer to a question for the signed bytes."""
        connection = service.connect()
        connection.request("GET", path, headers={
            "Authorization": f"Bearer {service.token('ci')}",
            "Accept": "application/vnd.dsse.envelope.v1+json"})  # fmt: skip
        answer = connection.getresponse()
        data = json.loads(answer.read())
        connection.close()
        return answer.status, data

    def test_row_whose_bytes_are_gone_is_data_loss_and_not_absent(self):
        with harness.Service() as service:
            stored = service.request("POST", "/v1/manifests", service.manifest())[1]
            decision = service.request("POST", "/v1/decisions", json.dumps(
                {"point": "create", "workload": {"namespace": "a"}}))[1]
            decision = decision.get("decision", decision)["id"]
            [row] = service.request("GET", "/v1/decisions")[1]["items"]
            envelope = stored["envelopes"][0]
            paths = [f"/v1/manifests/{stored['id']}", f"/v1/decisions/{decision}",
                     f"/v1/documents/{envelope}"]  # fmt: skip
            for path in paths:
                self.assertEqual(self.envelope(service, path)[0], 200, path)
            ids = ", ".join(f"x'{one.split(':')[1]}'" for one in (envelope, row["envelope"]))
            service.stop()
            self.sql(service, "DROP TRIGGER documents_keep_update",
                     f"UPDATE documents SET bytes = x'' WHERE id IN ({ids})")
            service.start()
            for path in paths:
                status, answer = self.envelope(service, path)
                self.assertEqual((status, answer.get("code")), (500, "data-loss"), path)
            service.stop()
            self.sql(service, "DROP TRIGGER documents_keep_delete",
                     f"DELETE FROM documents WHERE id IN ({ids})")
            service.start()
            for path in paths[:2]:
                status, answer = self.envelope(service, path)
                self.assertEqual((status, answer.get("code")), (500, "data-loss"), path)
            status, answer = service.request("POST", f"/v1/decisions/{decision}:replay")
            self.assertEqual((status, answer["code"]), (500, "data-loss"))
            status, answer = service.request("GET", paths[2])
            self.assertEqual((status, answer["code"]), (404, "not-found"), "nobody names it here")

    def test_a_database_that_lost_writes_goes_on_under_another_name(self):
        with harness.Service() as service:
            service.stop()
            shutil.copy(service.dir / "service/assay.db", service.dir / "old.db")
            service.start()
            self.assertEqual(service.request("POST", "/v1/manifests", service.manifest())[0], 201)
            signed = service.tree_size()
            service.stop()
            shutil.copy(service.dir / "old.db", service.dir / "service/assay.db")
            self.refused_start(service, "store-behind-anchor")
            told = self.assayd(service, "restore")
            self.assertEqual(told.returncode, 1)
            self.assertEqual(json.loads(told.stdout)["records_lost"], 1)
            same = self.assayd(service, "restore", "--accept-loss")
            self.assertEqual(same.returncode, 2, "the same origin would fork")
            self.assertIn("new origin", same.stderr)
            self.refused_start(service, "store-behind-anchor")
            config = json.loads((service.dir / "service/assayd.json").read_text())
            config["log"]["origin"] = "e2e.example/log/2"
            (service.dir / "service/assayd.json").write_text(json.dumps(config))
            done = self.assayd(service, "restore", "--accept-loss")
            self.assertEqual(done.returncode, 0, done.stderr)
            service.start()
            self.assertEqual(service.tree_size(), signed, "the lost record, and one that says so")
            self.assertEqual(self.findings(service, "--deep"), set())
            events = service.request("GET", "/v1/audit/events?type=log.reopened")[1]["items"]
            self.assertEqual(len(events), 1)

    def test_an_interrupted_restore_is_finished_by_the_next_and_hides_nothing(self):
        with harness.Service() as service:
            service.stop()
            path = service.dir / "service/assayd.json"
            config = json.loads(path.read_text())
            service.run("assayd", "rotate", "service", "--config", "service/assayd.json",
                        "--new-key", "service/service-2.pem")
            config["service_key_file"] = "service-2.pem"
            path.write_text(json.dumps(config))
            shutil.copy(service.dir / "service/assay.db", service.dir / "old.db")
            service.start()
            self.assertEqual(service.request("POST", "/v1/manifests", service.manifest())[0], 201)
            service.stop()
            shutil.copy(service.dir / "old.db", service.dir / "service/assay.db")
            config["log"]["origin"] = "e2e.example/log/2"
            path.write_text(json.dumps(config))
            told = json.loads(self.assayd(service, "restore").stdout)
            self.assertEqual((told["needed"], told["records_lost"]), (True, 1))
            # The new anchor cannot be written.
            (service.dir / "service/anchor.new").mkdir()
            self.assertEqual(self.assayd(service, "restore", "--accept-loss").returncode, 2)
            (service.dir / "service/anchor.new").rmdir()
            self.refused_start(service, "invalid-config")
            self.assertIn("restore", service.log_tail())
            self.assertEqual(json.loads(self.assayd(service, "restore").stdout), told)
            for needed in (True, False):
                done = self.assayd(service, "restore", "--accept-loss")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout), {**told, "needed": needed, "done": True})
            service.start()
            events = service.request("GET", "/v1/audit/events?type=log.reopened")[1]["items"]
            self.assertEqual([event["detail"] for event in events],
                             [{"previous_origin": "e2e.example/log", "size": told["size"],
                               "signed_size": told["signed_size"], "differs": False}])
            self.assertEqual(self.findings(service, "--deep"), set())

    def test_a_disk_without_room_is_read_and_comes_back(self):
        with harness.Service() as service:
            self.assertEqual(service.request("POST", "/v1/manifests", service.manifest())[0], 201)
            listed = service.request("GET", "/v1/manifests")[1]["items"]
            service.stop()
            (service.dir / "assayd.log").unlink()
            # No file may grow beyond 4 KiB: the index of the write-ahead log has 32.
            service.start("prlimit", "--fsize=4096:unlimited")
            self.assertEqual(service.request("GET", "/v1/manifests")[1]["items"], listed)
            self.assertEqual(service.request("GET", "/readyz", token=None)[0], 503)
            status, answer = service.request("POST", "/v1/manifests", service.manifest("b"))
            self.assertEqual((status, answer["code"]), (503, "storage"))
            self.assertEqual(service.request("GET", "/v1/manifests")[1]["items"], listed)
            # It looks once a second; a busy machine gets three chances to show that.
            seconds = self.seconds_until_ready(service)
            for name in ("c", "d"):
                if seconds > 2:
                    self.files_end_at(service, 4096)
                    self.assertEqual(
                        service.request("POST", "/v1/manifests", service.manifest(name))[0], 503)
                    seconds = self.seconds_until_ready(service)
            self.assertLessEqual(seconds, 2)
            again = (service.dir / "b.signed.json").read_bytes()
            self.assertEqual(service.request("POST", "/v1/manifests", again)[0], 201)

    def test_pods_that_no_policy_selects_are_admitted_on_a_full_disk(self):
        with Admitting() as service:
            self.assertTrue(service.admitted("before"))
            service.stop()
            (service.dir / "assayd.log").unlink()
            service.start("prlimit", "--fsize=4096:unlimited")
            self.assertEqual(service.request("POST", "/v1/manifests", service.manifest())[0], 503)
            for number in range(20):
                self.assertTrue(service.admitted(f"full-{number}"))
            self.files_end_at(service, "unlimited")
            # What was admitted meanwhile is written when the disk takes it.
            harness.wait_until("they are written", lambda: service.unselected() >= 21, 20)
            self.assertEqual(service.unselected(), 21)

    def test_a_lost_revocation_is_never_accepted(self):
        with harness.Service() as service:
            service.stop()
            shutil.copy(service.dir / "service/assay.db", service.dir / "old.db")
            service.start()
            self.revoke(service, "publisher")
            service.stop()
            shutil.copy(service.dir / "old.db", service.dir / "service/assay.db")
            self.refused_start(service, "store-behind-anchor")
            config = json.loads((service.dir / "service/assayd.json").read_text())
            config["log"]["origin"] = "e2e.example/log/2"
            (service.dir / "service/assayd.json").write_text(json.dumps(config))
            done = self.assayd(service, "restore", "--accept-loss")
            self.assertEqual(done.returncode, 2)
            self.assertIn("revo", done.stderr)

    def test_a_lost_change_of_trust_is_told_and_never_accepted(self):
        with harness.Service() as service:
            service.stop()
            shutil.copy(service.dir / "service/assay.db", service.dir / "old.db")
            service.start()
            # Its token was stolen and is replaced: nothing is revoked.
            shutil.copy(service.dir / "tokens/ci", service.dir / "tokens/stolen")
            (service.dir / "tokens/ci").unlink()
            service.principal("ci", "submitter", "reader", "decider", "auditor")
            self.change_trust(service, "--put-principal", "tokens/ci.json")
            self.assertEqual(service.request("GET", "/v1/manifests", token="stolen")[0], 401)
            service.stop()
            shutil.copy(service.dir / "old.db", service.dir / "service/assay.db")
            config = json.loads((service.dir / "service/assayd.json").read_text())
            config["log"]["origin"] = "e2e.example/log/2"
            (service.dir / "service/assayd.json").write_text(json.dumps(config))
            told = json.loads(self.assayd(service, "restore").stdout)
            self.assertEqual((told["revocations_lost"], told["trust_changes_lost"],
                              told["policy_changes_lost"]), (0, 1, 0))
            done = self.assayd(service, "restore", "--accept-loss")
            self.assertEqual(done.returncode, 2)
            self.assertIn("changes of trust: 1", done.stderr)


if __name__ == "__main__":
    unittest.main()
