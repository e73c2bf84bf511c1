# SPDX-License-Identifier: Apache-2.0
"""Nodes whose names are not known beforehand: a pattern, and ServiceAccount tokens of the real API
server that say which node a worker runs on."""
import json
import unittest

import test_examples
from control_plane import until

SPACE = "node-agents"
PLATFORM = ("--simulator-platform", "44" * 16)  # another machine than node-1


class Pools(test_examples.Section):
    """One service account for all workers: pods of the DaemonSet run as `default`."""

    def test_nodes_that_come_and_go(self):
        for name in ("pool-a-1", "pool-a-2"):
            self.kube.node(name, pool="a", **{"assay.dev/attested": "true"})
        self.service.publish_at("pools", "pvc://pools/llama", model="acme/pools")
        self.hold("Nodes that come and go")
        token = self.token_on("pool-a-1")
        self.assertIn("pool-a-1", self.enrolled("pool-a-1", token))
        # The token of one node is none for another, and no token none at all.
        self.assertIn("identity-token-rejected", self.refused("pool-a-2", token))
        self.assertIn("identity-token-missing", self.refused("pool-a-2", None))
        self.assertIn("node-not-registered", self.refused("elsewhere-1", token))

    def register(self, text):
        registration = json.loads(text)
        keys = self.kube.request("GET", "/openid/v1/jwks").body
        registration["service_account"]["jwks"] = keys
        (self.service.dir / "pool.json").write_text(json.dumps(registration))
        self.service.change_trust("--register", "pool.json")

    def token_on(self, node):
        """A token for our audience, bound to the pod of the DaemonSet on the node."""
        def running():
            return next((pod for pod in self.kube.pods("assay-worker", SPACE)
                         if pod["spec"].get("nodeName") == node), None)
        made = until(f"a worker's pod on {node}", running)
        answer = self.kube.request(
            "POST", f"/api/v1/namespaces/{SPACE}/serviceaccounts/default/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
                "audiences": [self.service.config["log"]["origin"]], "expirationSeconds": 600, "boundObjectRef": {
                    "apiVersion": "v1", "kind": "Pod", "name": made["metadata"]["name"],
                    "uid": made["metadata"]["uid"]}}})
        self.assert_allowed(answer)
        path = self.service.dir / f"{node}.token"
        path.write_text(answer.body["status"]["token"])
        path.chmod(0o600)
        return path

    def worker(self, node, token):
        options = ("--service-account-token", str(token)) if token else ()
        return self.service.worker(node, "node-agents", options=PLATFORM + options)

    def enrolled(self, node, token):
        with self.worker(node, token) as worker:
            return worker.wait("enrolled")["node"]

    def refused(self, node, token):
        with self.worker(node, token) as worker:
            self.assertEqual(worker.end(), 2, str(worker))
            return str(worker)


if __name__ == "__main__":
    unittest.main()
