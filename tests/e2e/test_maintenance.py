# SPDX-License-Identifier: Apache-2.0
"""Maintenance of the database by hand that changes no row is harmless, or refused with the way out."""
import json
import sqlite3
import time
import unittest

import harness

HARMLESS = ("VACUUM", "ANALYZE", "PRAGMA optimize", "REINDEX", "PRAGMA wal_checkpoint(TRUNCATE)",
            "CREATE INDEX theirs ON jobs (result); DROP INDEX theirs")  # fmt: skip


class Maintenance(unittest.TestCase):
    def database(self, service):
        return sqlite3.connect(service.dir / "service/assay.db", isolation_level=None)

    def by_hand(self, service, sql):
        database = self.database(service)
        try:
            database.executescript(sql)
        finally:
            database.close()

    def tables_of_statistics(self, service):
        database = self.database(service)
        rows = database.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'sqlite_stat*'")
        names = [name for (name,) in rows]
        database.close()
        return names

    def expect_whole(self, service, after):
        status, answer = service.request("GET", "/v1/manifests")
        self.assertEqual((status, len(answer.get("items", []))), (200, 1), (after, answer))
        status, answer = service.request("POST", "/v1/challenges:statement")
        self.assertLess(status, 300, (after, answer))
        self.assertEqual(service.request("GET", "/readyz", token=None)[0], 200, after)

    def lines(self, service, event):
        """The lines of the log about `event`."""
        text = (service.dir / "assayd.log").read_bytes().decode()  # all of it is UTF-8
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def until_ready_is(self, service, status):
        harness.wait_until(f"/readyz becomes {status}", lambda: service.request(
            "GET", "/readyz", token=None)[0] == status, 30)

    def refused_start(self, service):
        """Starts the service, which refuses; returns what it says on standard error."""
        done = service.run("assayd", "run", "--config", "service/assayd.json", check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        said = [line for line in done.stderr.splitlines() if line.startswith("assayd: ")]
        line = json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))
        self.assertEqual(line["event"], "start_failed")
        self.assertEqual(said, ["assayd: " + line["what"]], "the log says the same")
        return line["what"]

    def repair(self, service):
        done = service.run("assayd", "repair", "service/assayd.json", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_maintenance_beside_the_service_changes_nothing(self):
        with harness.Service() as service:
            self.assertEqual(service.request("POST", "/v1/manifests", service.manifest())[0], 201)
            for sql in HARMLESS:
                self.by_hand(service, sql)
                self.expect_whole(service, sql)
                self.expect_whole(service, sql + " once more")
            self.assertEqual(self.tables_of_statistics(service), [], "they would go stale")
            copy = sqlite3.connect(service.dir / "copy.db")
            with self.database(service) as database:
                database.backup(copy)
            copy.close()
            self.expect_whole(service, ".backup")
            with self.assertRaisesRegex(sqlite3.OperationalError, "locked"):
                self.by_hand(service, "PRAGMA busy_timeout=1; PRAGMA journal_mode=DELETE")
            self.expect_whole(service, "journal_mode")
            self.assertEqual(self.lines(service, "store_unreadable"), [])
            # The process dies before what VACUUM moved is in the file.
            self.by_hand(service, "PRAGMA wal_autocheckpoint=0; VACUUM")
            service.kill()
            service.start()
            self.expect_whole(service, "a crash")
            service.stop()
            done = service.run("assayd", "check", "--deep", "service/assayd.json", check=False)
            self.assertEqual((done.returncode, json.loads(done.stdout)), (0, {"findings": []}))

    def test_maintenance_while_stopped_changes_nothing(self):
        with harness.Service() as service:
            self.assertEqual(service.request("POST", "/v1/manifests", service.manifest())[0], 201)
            for sql in (*HARMLESS, "PRAGMA journal_mode=DELETE",
                        "PRAGMA auto_vacuum=FULL; VACUUM"):  # fmt: skip
                service.stop()
                self.by_hand(service, sql)
                service.start()
                self.expect_whole(service, sql)
                self.assertEqual(self.tables_of_statistics(service), [], sql)
            service.stop()
            self.by_hand(service, "ANALYZE")
            self.assertEqual(self.tables_of_statistics(service)[0], "sqlite_stat1")
            self.repair(service)
            self.assertEqual(self.tables_of_statistics(service), [])

    def test_foreign_index_makes_the_service_not_ready_and_repair_takes_it_away(self):
        with harness.Service() as service:
            self.assertEqual(service.request("POST", "/v1/manifests", service.manifest())[0], 201)
            self.by_hand(service, "CREATE INDEX theirs ON jobs (result)")
            self.until_ready_is(service, 503)  # nobody asked anything else
            status, answer = service.request("GET", "/v1/manifests")
            self.assertEqual((status, answer["code"]), (500, "data-loss"))
            [line] = self.lines(service, "store_unreadable")
            self.assertEqual(line["code"], "data-loss")
            self.assertIn("index theirs", line["what"])
            self.assertIn("assayd repair", line["what"])
            service.stop()
            self.assertIn("index theirs", self.refused_start(service))
            self.repair(service)
            service.start()
            self.expect_whole(service, "the repair")

    def test_name_that_is_no_text_is_said_in_utf_8_in_both_places(self):
        with harness.Service() as service:
            service.stop()
            name = b"my\xff\x1b"
            sql = b'CREATE INDEX "' + name + b'" ON jobs (result)'
            self.by_hand(service, "CREATE INDEX theirs ON jobs (result);"
                         "PRAGMA writable_schema=ON; UPDATE sqlite_schema "
                         f"SET name = CAST(x'{name.hex()}' AS TEXT), "
                         f"sql = CAST(x'{sql.hex()}' AS TEXT) WHERE name = 'theirs'")
            self.assertIn("index my\\xff\\x1b", self.refused_start(service))

    def test_marks_of_the_file_that_were_changed_are_refused_with_the_way_out(self):
        with harness.Service() as service:
            self.assertEqual(service.request("POST", "/v1/manifests", service.manifest())[0], 201)
            for mark in ("user_version=0", "user_version=77", "application_id=1"):
                service.stop()
                self.by_hand(service, "PRAGMA " + mark)
                self.assertIn("assayd repair", self.refused_start(service), mark)
                self.repair(service)
                service.start()
                self.expect_whole(service, mark)


if __name__ == "__main__":
    unittest.main()
