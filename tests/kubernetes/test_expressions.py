# SPDX-License-Identifier: Apache-2.0
"""The expressions of deploy/kubernetes/pod-conditions.yaml, evaluated with the CEL library of the API
server: one good request, one change a case. Needs Go and a few MB of modules, and no cluster."""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE.parents[1] / "deploy/kubernetes/pod-conditions.yaml"
AGENT, OTHERS = "assay-node-agent-status", "assay-verified-condition"
USER, GATE = "system:serviceaccount:assay:assay-node-agent", "assay.dev/verified"
CLAIM = "authentication.kubernetes.io/node-name"
DECISION = "decision 0190a1b2-0000-7000-8000-000000000001"

POD = {"metadata": {"name": "server", "labels": {"app": "x"}, "annotations": {"note": "x"}},
       "spec": {"nodeName": "node-1"},
       "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "False"}]}}
NODE, METADATA = "of its own node alone", "changes no labels"
CONDITIONS, WORDS = "sets no condition but", "True with the id of a decision"
STATUS, NOBODY = "changes nothing of a pod's status", "only the node agent of Assay"
FIELDS = {"phase": "Failed", "podIP": "10.0.0.2", "podIPs": [{"ip": "x"}], "hostIP": "x", "hostIPs": [{"ip": "x"}],
          "message": "x", "reason": "x", "qosClass": "x", "nominatedNodeName": "x", "startTime": "x", "resize": "x",
          "containerStatuses": [{"name": "x"}], "initContainerStatuses": [{}], "ephemeralContainerStatuses": [{}],
          "resourceClaimStatuses": [{}], "observedGeneration": 3, "extendedResourceClaimStatus": {"x": 1},
          "allocatedResources": {"cpu": "1"}, "resources": {}}


def condition(status="True", message=DECISION, kind=GATE):
    return {"type": kind, "status": status, "reason": "Test", "message": message}


def pod(*conditions, ready="False", metadata=None, without=(), **status):
    """POD with these conditions behind `Ready`, and with other members."""
    made = copy.deepcopy(POD)
    made["status"].update(status)
    made["status"]["conditions"][0]["status"] = ready
    made["status"]["conditions"].extend(conditions)
    made["metadata"].update(metadata or {})
    for place, name in without:
        del made[place][name]
    return made


def by(user=USER, nodes=("node-1",)):
    extra = {} if nodes is None else {"extra": {CLAIM: list(nodes)}}
    return {"userInfo": {"username": user, **extra}}


class Expressions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("go"):
            raise unittest.SkipTest("there is no Go")
        directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.program = os.path.join(directory, "expressions")
        built = subprocess.run(["go", "build", "-trimpath", "-o", cls.program, "."], cwd=HERE / "expressions",
                               env={**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}, text=True,
                               capture_output=True, check=False)
        if built.returncode != 0:
            raise unittest.SkipTest(f"Go does not build it: {built.stderr[-300:]}")

    def check(self, policy, *cases):
        """Each case: what comes of it, the new pod, the old one, and who asks."""
        requests = [{"policy": policy, "object": new, "oldObject": old, "request": who}
                    for _, new, old, who in cases]
        done = subprocess.run([self.program, str(FILE)], input=json.dumps(requests), text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for (wanted, new, *_), got in zip(cases, json.loads(done.stdout), strict=True):
            self.assertIn(wanted, got, new)
            self.assertEqual(got == "allow", wanted == "allow", (new, got))

    def agent(self, wanted, new, old=None, who=None):
        return wanted, new, old or pod(), who or by()

    def other(self, wanted, new, old=None, user="system:node:node-1"):
        return wanted, new, old or pod(), by(user)

    def test_agent_sets_its_condition(self):
        bare = {"metadata": {"name": "x"}, "spec": {"nodeName": "node-1"}, "status": {}}
        first = {**bare, "status": {"conditions": [condition()]}}
        self.check(AGENT, self.agent("allow", pod(condition())), self.agent("allow", pod(condition("False", "no"))),
                   self.agent("allow", pod(condition("False", "")), pod(condition())),
                   self.agent("allow", first, bare))  # fmt: skip

    def test_agent_stays_on_its_node(self):
        waiting = pod(without=[("spec", "nodeName")])
        self.check(AGENT, *(self.agent(NODE, pod(condition()), who=by(nodes=nodes)) for nodes in
                            (["node-2"], [""], [], ["node-1", "node-2"], ["node-1x"], None)),
                   self.agent(NODE, waiting, waiting), self.agent(NODE, waiting, waiting, by(nodes=[""])))  # fmt: skip

    def test_agent_sets_no_other_condition(self):
        gone = pod(condition())
        gone["status"]["conditions"].pop(0)
        self.check(AGENT, self.agent(CONDITIONS, pod(condition(), ready="True")),
                   self.agent(CONDITIONS, pod(ready="True")), self.agent(CONDITIONS, gone),
                   self.agent(CONDITIONS, pod(condition(), condition(kind="DisruptionTarget"))))  # fmt: skip

    def test_agent_says_true_with_a_decision_or_false(self):
        wordless = pod(condition())
        del wordless["status"]["conditions"][1]["message"]
        self.check(AGENT, *(self.agent(WORDS, pod(condition(message=text))) for text in
                            ("", "fine", f"{DECISION} x", f"\n{DECISION}", f"{DECISION}\n",
                             DECISION.replace("-7", "-4"))),
                   self.agent(WORDS, wordless), self.agent(WORDS, pod(condition("Unknown"))),
                   self.agent(WORDS, pod(condition("true"))), self.agent(WORDS, pod(condition(), condition())),
                   self.agent(WORDS, pod(), pod(condition())))  # fmt: skip

    def test_agent_changes_nothing_else(self):
        for metadata in ({"labels": {"app": "y"}}, {"labels": {}}, {"annotations": {"note": "x", "more": "x"}},
                         {"finalizers": ["a/b"]}, {"ownerReferences": [{"uid": "x"}]}):  # fmt: skip
            self.check(AGENT, self.agent(METADATA, pod(condition(), metadata=metadata)))
        self.check(AGENT, self.agent(METADATA, pod(condition(), without=[("metadata", "labels")])),
                   self.agent(STATUS, pod(condition(), without=[("status", "podIP")])),
                   *(self.agent(STATUS, pod(condition(), **{name: value})) for name, value in FIELDS.items()))  # fmt: skip

    def test_others_are_not_bounded_by_the_policy_of_the_agent(self):
        self.check(AGENT, self.other("allow", pod(condition(kind="X"), phase="Failed")))

    def test_nobody_else_touches_the_condition(self):
        held = pod(condition())
        for user in ("system:node:node-1", "admin", f"{USER}x", "system:serviceaccount:other:assay-node-agent"):
            self.check(OTHERS, self.other(NOBODY, pod(condition()), user=user), self.other(NOBODY, pod(), held, user),
                       self.other(NOBODY, pod(condition(message="x")), held, user))  # fmt: skip
        self.check(OTHERS, self.agent("allow", pod(condition())))

    def test_others_go_on_with_the_rest(self):
        moved = pod(condition(), ready="True", phase="Succeeded")
        moved["status"]["conditions"].insert(0, {"type": "A", "status": "True"})
        nothing = {"metadata": {}, "spec": {}}
        self.check(OTHERS, self.other("allow", moved, pod(condition())), self.other("allow", pod(ready="True")),
                   self.other("allow", nothing, nothing),
                   self.other("allow", pod(without=[("status", "conditions")])))  # fmt: skip


if __name__ == "__main__":
    unittest.main()
