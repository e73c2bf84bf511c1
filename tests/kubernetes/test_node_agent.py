# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes/node-agent.yaml: its pods, and who may mount the socket's directory, and how."""
import json
import subprocess
import unittest

import cluster
from cluster import with_socket
from control_plane import until
from test_pods import Case

ALLOWED, OTHER, LEFT = "registering", "not-registering", "no-longer-registering"


class NodeAgent(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kube.install_node_agent()
        for name, labels in ((ALLOWED, {"assay.dev/register": "allowed"}), (OTHER, {})):
            cls.kube.namespace(name)
            cls.kube.patch("Namespace", name, {"metadata": {"labels": labels}}, namespace=None)

    def pod(self, name, namespace=ALLOWED):
        """No webhook is asked about it: it has no model and no GPU."""
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
                "spec": {"containers": [{"name": "server", "image": "registry.example.com/x:1"}]}}

    def create(self, made):
        return self.kube.create(made, dry_run=True)

    def test_runs_on_nodes_with_gpus_as_it_is_shipped(self):
        self.kube.must_apply("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: nvidia},"
                             " handler: nvidia}")
        self.kube.node("gpu-1", **{"nvidia.com/gpu.present": "true"})
        self.kube.node("plain-1")
        pods = until("the agent's pod", lambda: [
            made for made in self.kube.pods("assay-node-agent", "assay") if "nodeName" in made["spec"]])
        self.assertEqual([made["spec"]["nodeName"] for made in pods], ["gpu-1"])
        spec = pods[0]["spec"]
        self.assertEqual((spec["hostPID"], spec["runtimeClassName"]), (True, "nvidia"))
        self.assertFalse([volume for volume in spec["volumes"] if "kube-api-access" in volume["name"]])
        context = spec["containers"][0]["securityContext"]
        self.assertEqual(context["capabilities"], {"drop": ["ALL"], "add": ["DAC_READ_SEARCH", "LEASE"]})
        self.assertTrue(context["readOnlyRootFilesystem"])
        writable = {mount["name"] for mount in spec["containers"][0]["volumeMounts"]
                    if not mount.get("readOnly")}
        self.assertEqual(writable, {"socket", "evidence", "cache"})

        env = {one["name"]: one.get("value") for one in spec["containers"][0]["env"]}
        self.assertEqual(env["NVIDIA_VISIBLE_DEVICES"], "all")
        self.assertEqual(env["NVIDIA_DRIVER_CAPABILITIES"], "compute,utility")
        # Memory on a GPU that the agent does not use cannot be verified.
        self.assertIn("--device=opencl:all", spec["containers"][0]["args"])
        self.starts_with(spec["containers"][0]["args"])

    def starts_with(self, args):
        """The program takes these options, with places of this machine in them."""
        own = {"--server": self.service.env["ASSAY_SERVER"], "--node": "node-1",
               "--service-account-token": "tokens/worker-1", "--token-file": "tokens/worker-1",
               "--ca": "service/tls.crt", "--device": "cpu", "--evidence": "none",
               "--kubelet-dir": str(self.service.kubelet), "--metrics-port": "0",
               "--register-socket": str(self.service.dir / "shipped.sock")}
        names = [argument.partition("=")[0] for argument in args]
        self.assertLess(set(own), set(names))
        self.service.kubelet.mkdir(exist_ok=True)
        made = [f"{name}={own.get(name, value)}" if value else name
                for name, _, value in (argument.partition("=") for argument in args)]
        with subprocess.Popen(["assay", *made], cwd=self.service.dir, env=self.service.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as agent:
            first = agent.stdout.readline()
            agent.kill()
            self.assertTrue(first, agent.stderr.read())
        started = json.loads(first)
        self.assertEqual((started["event"], started["node"]), ("started", "node-1"))
        self.assertEqual(started["register_socket"], own["--register-socket"])

    def test_socket_is_mounted_read_only_by_those_who_may_register(self):
        self.assert_allowed(self.create(with_socket(self.pod("reads"), readOnly=True)))
        refused = self.create(with_socket(self.pod("reads", OTHER), readOnly=True))
        self.assertIn("assay.dev/register=allowed", refused.message)
        self.assert_allowed(self.create(with_socket(self.pod("data", OTHER), "/data")))

    def test_nobody_writes_where_the_socket_is(self):
        for path in ("/run/assay", "/run/assay/", "/run//assay", "/run/./assay", "/var/run/assay", "/run",
                     "/var/run", "/"):
            for containers in ("containers", "initContainers"):
                with self.subTest(path=path, containers=containers):
                    refused = self.create(with_socket(self.pod("writes"), path, containers))
                    self.assertIn("read-only", refused.message)
        self.assert_allowed(self.create(with_socket(self.pod("beside"), "/run/assays")))

    def test_a_directory_above_is_mounted_as_the_socket_is(self):
        """The socket is reached through it, and /run is a file system of its own."""
        whole = {"readOnly": True, "recursiveReadOnly": "Enabled"}
        for path in ("/", "/run", "/run/", "/var", "/var//run"):
            for containers in ("containers", "initContainers"):
                with self.subTest(path=path, containers=containers):
                    self.assert_allowed(self.create(with_socket(self.pod("above"), path, containers,
                                                                **whole)))
                    for given in ({"readOnly": True},
                                  {"readOnly": True, "recursiveReadOnly": "IfPossible"}):
                        refused = self.create(with_socket(self.pod("above"), path, containers, **given))
                        self.assertIn("recursiveReadOnly", refused.message)
                    refused = self.create(with_socket(self.pod("above", OTHER), path, containers,
                                                      **whole))
                    self.assertIn("assay.dev/register=allowed", refused.message)
        self.assert_allowed(self.create(with_socket(self.pod("logs", OTHER), "/var/log")))

    def test_the_socket_alone_is_not_mounted(self):
        refused = self.create(with_socket(self.pod("alone"), "/run/assay/register.sock", readOnly=True))
        self.assertIn("mount the directory", refused.message)

    def test_an_ephemeral_container_does_not_write_there_either(self):
        made = with_socket(self.pod("debugged"), readOnly=True)
        self.kube.must_create(made)
        change = {"spec": {"ephemeralContainers": [{
            "name": "debug", "image": "registry.example.com/debug:1",
            "volumeMounts": [{"name": "assay", "mountPath": "/x"}]}]}}
        refused = self.kube.patch("Pod", "debugged", change, ALLOWED, "ephemeralcontainers",
                                  cluster.STRATEGIC)
        self.assertIn("read-only", refused.message)
        change["spec"]["ephemeralContainers"][0]["volumeMounts"][0]["readOnly"] = True
        self.assert_allowed(self.kube.patch("Pod", "debugged", change, ALLOWED, "ephemeralcontainers",
                                            cluster.STRATEGIC))

    def test_a_pod_that_runs_stays_as_it_is_when_the_label_goes(self):
        self.kube.namespace(LEFT)
        self.label(LEFT, "allowed")
        self.kube.must_create(with_socket(self.pod("running", LEFT), readOnly=True))
        self.label(LEFT, None)
        changed = self.kube.patch("Pod", "running", {"metadata": {"labels": {"x": "y"}}}, LEFT)
        self.assert_allowed(changed)
        self.assert_allowed(self.debug("running", "plain", []))
        mounts = [{"name": "assay", "mountPath": "/x", "readOnly": True}]
        refused = self.debug("running", "joins", mounts)
        self.assertIn("assay.dev/register=allowed", refused.message)
        # What was added while the label was there stays too.
        self.label(LEFT, "allowed")
        self.assert_allowed(self.debug("running", "joins", mounts))
        self.label(LEFT, None)
        self.assert_allowed(self.debug("running", "later", []))

    def label(self, namespace, value):
        self.kube.patch("Namespace", namespace, {"metadata": {"labels": {"assay.dev/register": value}}},
                        namespace=None)

    def debug(self, name, container, mounts):
        """Adds an ephemeral container to a pod of the namespace that had the label."""
        change = {"spec": {"ephemeralContainers": [{
            "name": container, "image": "registry.example.com/debug:1", "volumeMounts": mounts}]}}
        return self.kube.patch("Pod", name, change, LEFT, "ephemeralcontainers", cluster.STRATEGIC)


if __name__ == "__main__":
    unittest.main()
