# SPDX-License-Identifier: Apache-2.0
"""Either side ends and comes back; everybody comes at once; two clusters ask one service."""
import concurrent.futures
import unittest

import cluster
from cluster import pod
from control_plane import until
from test_pods import Case


class Outages(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared.verified_node()

    def test_service_ends_and_comes_back(self):
        made = self.kube.must_create(pod("before-outage"))
        self.service.stop()
        try:
            refused = self.kube.create(pod("during-outage"))
            bound = self.kube.bind_created(made, "node-1")
        finally:
            self.service.start()
        self.assertFalse(refused.ok, str(refused))
        self.assertIn("failed calling webhook", refused.message)
        self.assertFalse(bound.ok, str(bound))
        self.assert_allowed(self.kube.create(pod("during-outage")))
        self.assert_allowed(self.kube.bind_created(made, "node-1"))

    def test_service_is_killed(self):
        made = self.kube.must_create(pod("before-kill"))
        self.service.kill()
        self.service.start()
        self.assert_allowed(self.kube.bind_created(made, "node-1"))

    def test_api_server_ends_and_comes_back(self):
        made = self.kube.must_create(pod("before-restart"))
        self.kube.stop_api_server()
        self.kube.start_api_server()
        self.kube.wait_for_webhooks()
        self.assert_allowed(self.kube.bind_created(made, "node-1"))

    def test_hundred_pods_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(100) as everybody:
            answers = list(everybody.map(
                lambda number: self.kube.create(pod(f"crowd-{number}")), range(100)))
            for answer in answers:
                self.assert_allowed(answer)
            bound = everybody.map(
                lambda answer: self.kube.bind_created(answer.body, "node-1"), answers)
            for answer in bound:
                self.assert_allowed(answer)

    def test_bad_pods_in_a_crowd_are_told_apart(self):
        def create(number):
            bad = number % 2
            return self.kube.create(pod(f"mixed-{number}", claim=None if bad else cluster.CLAIM))
        with concurrent.futures.ThreadPoolExecutor(20) as everybody:
            answers = list(everybody.map(create, range(40)))
        self.assertEqual([answer.ok for answer in answers], [True, False] * 20)


class TwoClusters(Case):
    """Each shows its own certificate; names may be the same in both."""

    def test_pods_of_one_name(self):
        self.shared.verified_node()
        with cluster.Cluster(self.service, "kube-east.crt", "kube-east.key",
                             managers=False) as east:
            west_pod = self.kube.must_create(pod("twin"))
            east_pod = east.must_create(pod("twin"))
            # A uid that the other cluster knows is none of this one.
            uid = west_pod["metadata"]["uid"]
            self.assert_refused(east.bind("twin", "node-1", uid), "pod-unknown")
            east.node("node-1")
            self.assert_allowed(self.kube.bind_created(west_pod, "node-1"))
            self.assert_allowed(east.bind_created(east_pod, "node-1"))
            found = until("audit", lambda: east.admission_events(name="twin"))
            self.assertEqual(found[0]["verdict"], "allow")


if __name__ == "__main__":
    unittest.main()
