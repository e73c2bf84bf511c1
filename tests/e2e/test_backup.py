# SPDX-License-Identifier: Apache-2.0
"""A copy of a service's database, made while it runs, and put back."""
import json
import sqlite3
import stat
import unittest

import harness


class Backup(unittest.TestCase):
    def assayd(self, service, command, *options):
        return service.run("assayd", command, "service/assayd.json", *options, check=False)

    def backup(self, service, name="copy.db"):
        done = self.assayd(service, "backup", "--to", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def put(self, service, name="a"):
        self.assertEqual(service.request("POST", "/v1/manifests", service.manifest(name))[0], 201)

    def refused_start(self, service, code):
        with self.assertRaises(AssertionError) as caught:
            service.start()
        self.assertIn(code, str(caught.exception))

    def test_a_copy_of_a_running_service_goes_on_where_it_was_made(self):
        with harness.Service() as service:
            self.put(service)
            made = self.backup(service)
            self.assertEqual(made["size"], service.tree_size())
            copy = service.dir / "copy.db"
            self.assertEqual(made["bytes"], copy.stat().st_size)
            self.assertEqual(stat.S_IMODE(copy.stat().st_mode), 0o600)
            self.assertEqual([path.name for path in service.dir.glob("copy.db*")], ["copy.db"])
            listed = service.request("GET", "/v1/manifests")[1]["items"]
            service.stop()
            (service.dir / "service/assay.db").write_bytes(b"lost")
            told = self.assayd(service, "restore", "--from", "copy.db")
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertFalse(json.loads(told.stdout)["needed"])
            self.assertEqual((service.dir / "service/assay.db.before-restore").read_bytes(), b"lost")
            service.start()
            self.assertEqual(service.request("GET", "/v1/manifests")[1]["items"], listed)
            self.put(service, "b")

    def test_a_copy_whose_last_writes_are_in_its_write_ahead_log_is_taken_whole(self):
        with harness.Service() as service:
            self.put(service)
            size = service.tree_size()
            service.process.kill()
            service.process.wait()
            for suffix in ("", "-wal"):
                (service.dir / f"other.db{suffix}").write_bytes(
                    (service.dir / f"service/assay.db{suffix}").read_bytes())
            told = self.assayd(service, "restore", "--from", "other.db")
            self.assertEqual(told.returncode, 0, told.stderr)
            service.start()
            self.assertEqual(service.tree_size(), size)

    def test_a_copy_that_lacks_what_was_acknowledged_says_so_and_does_not_start(self):
        with harness.Service() as service:
            self.backup(service)
            self.put(service)
            service.stop()
            told = self.assayd(service, "restore", "--from", "copy.db")
            self.assertEqual(told.returncode, 1, told.stderr)
            self.assertEqual(json.loads(told.stdout)["records_lost"], 1)
            self.refused_start(service, "store-behind-anchor")
            again = self.assayd(service, "restore", "--from", "copy.db")
            self.assertEqual(again.returncode, 2)
            self.assertIn("conflict", again.stderr)

    def test_refusals_change_nothing(self):
        with harness.Service() as service:
            self.put(service)
            self.backup(service)
            there = self.assayd(service, "backup", "--to", "copy.db")
            self.assertEqual(there.returncode, 2)
            self.assertIn("conflict", there.stderr)
            running = self.assayd(service, "restore", "--from", "copy.db")
            self.assertEqual(running.returncode, 2)
            self.assertIn("unavailable", running.stderr)
            service.stop()
            before = (service.dir / "service/assay.db").read_bytes()
            for name, sql in (("copy.db", "DELETE FROM record_map"), ("service/assay.db", None)):
                database = sqlite3.connect(service.dir / name)
                database.execute(sql or "UPDATE versions SET value = value + 1")
                database.commit()
                database.close()
                command = ("restore", "--from") if sql else ("backup", "--to")
                damaged = self.assayd(service, *command, "copy.db" if sql else "other.db")
                self.assertEqual(damaged.returncode, 2)
                self.assertIn("the database is damaged", damaged.stderr)
                if sql:
                    self.assertEqual((service.dir / "service/assay.db").read_bytes(), before)
            self.assertFalse(list(service.dir.glob("other.db*")))
            missing = self.assayd(service, "restore", "--from", "nosuch.db")
            self.assertEqual(missing.returncode, 2)
            self.assertIn("not-found", missing.stderr)


if __name__ == "__main__":
    unittest.main()
