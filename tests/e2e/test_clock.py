# SPDX-License-Identifier: Apache-2.0
"""The time that a store remembers is the program's own: nobody else sets it."""
import sqlite3
import unittest

import harness


class Clock(unittest.TestCase):
    def test_altered_time_of_the_last_write_is_not_believed(self):
        with harness.Service() as service:
            service.stop()
            database = sqlite3.connect(service.dir / "service/assay.db")
            (time,) = database.execute("SELECT time FROM last_write").fetchone()
            self.assertGreater(time, 0)
            database.execute("UPDATE last_write SET time = time + 1000000000000")
            database.commit()
            database.close()
            with self.assertRaises(AssertionError) as refused:
                service.start()
            self.assertIn("what is stored of the last write was changed", str(refused.exception))
            service.run("assayd", "repair", "service/assayd.json")
            service.start()
            self.assertNotIn("clock_set_back", service.log_tail())
            self.assertEqual(service.request("GET", "/v1/log/checkpoint")[0], 200)


if __name__ == "__main__":
    unittest.main()
