# SPDX-License-Identifier: Apache-2.0
"""assay setup: a folder with what a first service needs."""
import json

import harness


class Setup(harness.TestCase):
    def test_what_it_makes_is_private_and_starts_a_service(self):
        said = self.assay("setup", "trial", "--port", "9443")
        self.assertEqual(said.out.count("\n"), 3)
        for path in ("token", *(f"keys/{name}.pem" for name in
                                ("operator-1", "operator-2", "publisher", "author", "approver"))):
            self.assertEqual((self.dir / "trial" / path).stat().st_mode & 0o777, 0o600, path)
        self.assertEqual((self.dir / "trial").stat().st_mode & 0o777, 0o700)
        self.assertIn("https://127.0.0.1:9443", (self.dir / "trial/env").read_text())
        trust = json.loads((self.dir / "trial/service/bootstrap.json").read_text())
        self.assertEqual(len({key["identity"] for key in trust["keys"]}), 5)

    def test_a_folder_that_exists_is_left_alone(self):
        (self.dir / "trial").mkdir()
        self.assertEqual(self.error("setup", "trial"), "conflict")
        self.assertEqual(list((self.dir / "trial").iterdir()), [])

    def test_names_and_ports_that_no_service_takes_are_refused_before_anything_is_made(self):
        self.assertEqual(self.error("setup", "trial", "--port", "70000"), "usage")
        self.error("setup", "trial", "--namespace", "A b")
        self.assertFalse((self.dir / "trial").exists())


if __name__ == "__main__":
    harness.main()
