# SPDX-License-Identifier: Apache-2.0
"""A decision is proved to somebody who has the log's key alone, and no file proves what was not decided."""
import base64
import copy
import hashlib
import json
import os
import unittest

from cryptography.hazmat.primitives import serialization

import harness
import nodes
import pods
from chain import Service

MODEL = "acme/demo"
NAMESPACE = "exports"
LIFECYCLE = "https://assay.dev/lifecycle/v1"


def digest(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Service())
        run = cls.service.run
        (cls.service.dir / "model-a").mkdir()
        (cls.service.dir / "model-a/config.json").write_text("a")
        cls.service.sign_manifest("a", "--location", "pvc://exports/models", model=MODEL)
        cls.artifact = cls.service.artifact_of("a")
        run("assay", "attest", "create", "--stage", "evaluate", "--subject", "a.signed.json", "--metric",
            "accuracy=0.9", "--key", "keys/evaluator.pem", "--out", "evaluated.json")
        run("assay", "push", "evaluated.json", token="ci")
        cls.policy = {"name": "proved", "version": 1, "mode": "enforce", "match": {"namespaces": [NAMESPACE]},
                      "require": cls.conditions("0.8")}
        cls.service.activate(cls.policy)
        # What comes later must not be needed.
        cls.allowed = cls.decide()
        cls.service.run("assay", "log", "checkpoint", "--out", "early.checkpoint")
        cls.export(cls.allowed, "early.export")
        cls.denied = cls.decide("acme/other")
        cls.service.revoke_key("evaluator")
        cls.export(cls.allowed, "allowed.export")
        cls.export(cls.denied, "denied.export")

    @staticmethod
    def conditions(least):
        return [
            {"id": "manifest", "manifest": {"signers": {"at_least": 1, "identities": ["release"]}}},
            {"id": "evaluated", "statement": {
                "predicate_type": LIFECYCLE, "stage": "evaluate",
                "where": [{"pointer": "/metrics/accuracy/value", "op": ">=", "value": float(least)}]}}]

    @classmethod
    def decide(cls, model=MODEL):
        said = cls.service.run("assay", "decide", "--model", model, "--namespace", NAMESPACE, "-o", "json",
                               token="ci", check=False)
        return json.loads(said.stdout)["decision"]["id"]

    @classmethod
    def export(cls, decision, name):
        cls.service.run("assay", "decision", "export", decision, "--out", name, token="ci")

    def verify(self, name, *options, key=("--verifier-key-file", "log.vkey")):
        """Without a service: neither its address nor a network."""
        env = {name: value for name, value in self.service.env.items() if not name.startswith("ASSAY_")}
        command = ["assay", "verify", name, *key, *options]
        if os.geteuid() == 0:
            command = ["unshare", "--net", *command]
        done = harness.subprocess.run(command, cwd=self.service.dir, env=env, text=True, capture_output=True,
                                      timeout=60)
        harness.seen_codes.note(done.stdout + done.stderr)
        return done

    def test_both_answers_are_shown_offline(self):
        for name, said in (("allowed.export", "allow"), ("denied.export", "deny"), ("early.export", "allow")):
            with self.subTest(name):
                done = self.verify(name)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(said, done.stdout.splitlines()[1])
                self.assertIn("rests on the service's word:", done.stdout)
                self.assertIn("written by paula, approved by quentin", done.stdout)
        answer = json.loads(self.verify("allowed.export", "-o", "json").stdout)
        self.assertTrue(answer["verdict"]["allowed"])
        self.assertEqual(answer["statements"], 2)
        self.assertIn("first-trust", [one["what"] for one in answer["rests_on_the_service"]])

    def test_key_comes_from_the_user(self):
        self.assertEqual(self.verify("allowed.export", key=()).returncode, 2)
        self.service.run("assay", "key", "new", "--algorithm", "ed25519", "--out", "keys/other-log.pem")
        name, _, key = (self.service.dir / "log.vkey").read_text().strip().split("+", 2)
        raw = bytes([1]) + os.urandom(32)
        other = hashlib.sha256(name.encode() + b"\n" + raw).hexdigest()[:8]
        forged = f"{name}+{other}+{base64.b64encode(raw).decode()}"
        done = self.verify("allowed.export", key=("--verifier-key", forged))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("signature-missing", done.stderr)

    def test_policy_is_tried_on_the_case(self):
        for least, code in (("0.8", 0), ("0.95", 1)):
            tried = {**self.policy, "require": self.conditions(least)}
            (self.service.dir / "tried.json").write_text(json.dumps(tried))
            done = self.service.run("assay", "policy", "test", "tried.json", "--facts", "allowed.export",
                                    check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        decision = self.service.request("GET", f"/v1/decisions/{self.allowed}")[1]
        bare = self.service.request("GET", f"/v1/documents/{decision['facts']}")[1]
        (self.service.dir / "bare.json").write_text(json.dumps(bare))
        done = self.service.run("assay", "policy", "test", "tried.json", "--facts", "bare.json", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("assay decision export", done.stderr)

    def test_who_may_export(self):
        for token, status in (("nobody", 403), ("desk", 403), ("ci", 200)):
            path = f"/v1/decisions/{self.allowed}/export"
            self.assertEqual(self.service.request("GET", path, token=token)[0], status)
        self.assertEqual(self.service.request(
            "GET", "/v1/decisions/0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11/export")[0], 404)

    # --- attacks: each is one change of a good file

    def refuse(self, change, code="export-inconsistent"):
        file = json.loads((self.service.dir / "allowed.export").read_text())
        other = json.loads((self.service.dir / "denied.export").read_text())
        before = copy.deepcopy(file)
        change(file, other)
        self.assertNotEqual(file, before)
        (self.service.dir / "forged.export").write_text(json.dumps(file, sort_keys=True, separators=(",", ":")))
        done = self.verify("forged.export")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stderr, code)

    @staticmethod
    def replace_document(file, old, text):
        """A document under its new digest; whoever names it still names the old one."""
        del file["documents"][old]
        file["documents"][digest(text)] = text

    @staticmethod
    def find(file, part):
        return next(name for name, text in file["documents"].items() if part in text)

    def entry(self, file, kind):
        return next(entry for entry in file["entries"] if json.loads(entry["record"])["type"] == kind)

    def test_two_decisions_are_not_mixed(self):
        def decision_id(file, other):
            file["decision"] = other["decision"]

        def add_entry(file, other):
            file["entries"].append(self.entry(other, "decision.made"))
            file["documents"].update(other["documents"])

        def swap_entry(file, other):
            ours = self.entry(file, "decision.made")
            ours.update(self.entry(other, "decision.made"))
            file["decision"] = other["decision"]

        def swap_all_but_case(file, other):
            swap_entry(file, other)
            file["documents"].update(other["documents"])

        for change in (decision_id, add_entry, swap_entry, swap_all_but_case):
            with self.subTest(change.__name__):
                self.refuse(change)

    def test_documents(self):
        def changed_in_place(file, _):
            name = self.find(file, '"list":"manifests"')
            file["documents"][name] = file["documents"][name].replace(MODEL, "acme/evil")

        def changed_fact(file, _):
            name = self.find(file, '"list":"manifests"')
            self.replace_document(file, name, file["documents"][name].replace(MODEL, "acme/evil"))

        def extra(file, _):
            file["documents"][digest("{}")] = "{}"

        def no_text(file, _):
            file["documents"][digest("{}")] = {}

        for change, code in ((changed_in_place, "export-inconsistent"), (changed_fact, "export-inconsistent"),
                             (extra, "export-inconsistent"), (no_text, "schema-violation")):
            with self.subTest(change.__name__):
                self.refuse(change, code)
        names = json.loads((self.service.dir / "allowed.export").read_text())["documents"]
        for name in names:
            with self.subTest("without " + name):
                self.refuse(lambda file, _, name=name: file["documents"].pop(name))

    def test_log(self):
        def older_checkpoint(file, _):
            early = (self.service.dir / "early.checkpoint").read_text()
            for entry in file["entries"]:
                path = entry["proof"].split("\n\n", 1)[0]
                entry["proof"] = path + "\n\n" + early

        def mixed_checkpoints(file, _):
            early = json.loads((self.service.dir / "early.export").read_text())
            file["entries"][0] = early["entries"][0]

        def other_order(file, _):
            file["entries"].reverse()

        def changed_record(file, _):
            entry = self.entry(file, "trust.bootstrapped")
            entry["record"] = entry["record"].replace('"keys":', '"kexs":')

        def no_proof(file, _):
            file["entries"][0]["proof"] = "c2sp.org/tlog-proof@v1\nindex 0\n"

        def unsigned(file, _):
            for entry in file["entries"]:
                entry["proof"] = entry["proof"].rsplit("\n\n", 1)[0] + "\n\n"

        for change, code in ((older_checkpoint, "proof-invalid"), (mixed_checkpoints, "export-inconsistent"),
                             (other_order, "export-inconsistent"), (changed_record, "proof-invalid"),
                             (no_proof, "proof-invalid"), (unsigned, "malformed-checkpoint")):
            with self.subTest(change.__name__):
                self.refuse(change, code)
        entries = json.loads((self.service.dir / "allowed.export").read_text())["entries"]
        for i, entry in enumerate(entries):
            kind = json.loads(entry["record"])["type"]
            with self.subTest("without " + kind):
                self.refuse(lambda file, _, i=i: file["entries"].pop(i), "export-inconsistent|untrusted-signer")

    def test_form(self):
        for change, code in ((lambda file, _: file.update(format="assay-decision-export-v2"), "schema-violation"),
                             (lambda file, _: file.update(keys=[]), "schema-violation"),
                             (lambda file, _: file["entries"][0].update(extra=1), "schema-violation"),
                             (lambda file, _: file.update(entries=[]), "export-inconsistent")):
            self.refuse(change, code)
        with open(self.service.dir / "long.export", "w", encoding="ascii") as file:
            file.write('{"decision":"')
            file.truncate(1 << 30)
        done = self.verify("long.export")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("limit-exceeded", done.stderr)
        for name in ("model-a", "proved-1.json", "none"):
            done = self.verify(name)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn("SIGNATURE", done.stderr)


class Forger:
    """Somebody with all keys of the service: makes a log, its exports and mirrors as they like."""

    def __init__(self, service):
        self.service = service
        service.run("assay", "log", "mirror", "mirror", "--verifier-key-file", "log.vkey", token="ci")
        folder = service.dir / "mirror/tile/entries"
        data = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
        self.records = []
        while data:
            size = int.from_bytes(data[:2], "big")
            self.records.append(json.loads(data[2:2 + size]))
            data = data[2 + size:]

    def place(self, kind, which=-1):
        return [i for i, record in enumerate(self.records) if record["type"] == kind][which]

    @staticmethod
    def encoded(record):
        return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def leaf(self, index):
        return hashlib.sha256(b"\0" + self.encoded(self.records[index])).digest()

    def link(self):
        """Each record of the chain names the one before, and each decision the newest."""
        newest = None
        for index, record in enumerate(self.records):
            name = "newest" if record["type"] == "decision.made" else "previous"
            if "chain" in record["detail"]:
                record["detail"]["chain"].pop(name, None)
                if newest:
                    record["detail"]["chain"][name] = newest
                if name == "previous":
                    newest = {"index": index, "leaf": "sha256:" + self.leaf(index).hex()}

    def root(self, begin, end):
        if end - begin == 1:
            return self.leaf(begin)
        middle = begin + (1 << (end - begin - 1).bit_length() - 1)
        return hashlib.sha256(b"\1" + self.root(begin, middle) + self.root(middle, end)).digest()

    def path(self, index, begin, end):
        if end - begin == 1:
            return []
        middle = begin + (1 << (end - begin - 1).bit_length() - 1)
        inside, other = ((begin, middle), (middle, end)) if index < middle else ((middle, end), (begin, middle))
        return [*self.path(index, *inside), self.root(*other)]

    def key(self, name):
        return serialization.load_pem_private_key((self.service.dir / f"service/{name}.pem").read_bytes(), None)

    def checkpoint(self):
        name, key_hash, _ = (self.service.dir / "log.vkey").read_text().strip().split("+", 2)
        root = base64.b64encode(self.root(0, len(self.records))).decode()
        text = f"{name}\n{len(self.records)}\n{root}\n"
        signature = bytes.fromhex(key_hash) + self.key("log").sign(text.encode())
        return f"{text}\n\u2014 {name} {base64.b64encode(signature).decode()}\n"

    def sign(self, payload):
        """The envelope of a decision."""
        kind, text = "application/vnd.assay.decision+json", self.encoded(payload)
        pae = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(text), text)
        return {"payload": base64.b64encode(text).decode(), "payloadType": kind,
                "signatures": [{"keyid": "", "sig": base64.b64encode(self.key("service").sign(pae)).decode()}]}

    def with_document(self, documents, old, text):
        """The documents, with another text in the place of one, and all that name it made again."""
        documents = dict(documents)
        del documents[old]
        new = digest(text)
        documents[new] = text
        for record in self.records:
            record["documents"] = [new if one == old else one for one in record["documents"]]
        for name, other in list(documents.items()):
            payload = json.loads(other).get("payload") if '"payloadType"' in other else None
            inner = base64.b64decode(payload).decode() if payload else other
            if old in inner:
                inner = inner.replace(old, new)
                changed = json.dumps(self.sign(json.loads(inner)), sort_keys=True,
                                     separators=(",", ":")) if payload else inner
                documents = self.with_document(documents, name, changed)
        return documents

    def export(self, decision, documents, leave_out=()):
        note, entries = self.checkpoint(), []
        size = len(self.records)
        for index, record in enumerate(self.records):
            wanted = record["type"] != "decision.made" or record["detail"]["decision_id"] == decision
            if wanted and index not in leave_out:
                hashes = "".join(base64.b64encode(one).decode() + "\n" for one in self.path(index, 0, size))
                entries.append({"record": self.encoded(record).decode(),
                                "proof": f"c2sp.org/tlog-proof@v1\nindex {index}\n{hashes}\n{note}"})
        file = {"format": "assay-decision-export-v1", "decision": decision, "entries": entries,
                "documents": documents}
        (self.service.dir / "forged.export").write_text(json.dumps(file, sort_keys=True, separators=(",", ":")))

    def mirror(self):
        folder = self.service.dir / "forged"
        (folder / "tile/entries/000.p").mkdir(parents=True, exist_ok=True)
        data = b"".join(len(text).to_bytes(2, "big") + text for text in map(self.encoded, self.records))
        (folder / f"tile/entries/000.p/{len(self.records)}").write_bytes(data)
        (folder / "checkpoint").write_text(self.checkpoint())


class HostileService(unittest.TestCase):
    """What a service may say that has all its keys, and who finds out."""

    def setUp(self):
        self.service = self.enterContext(Service())
        (self.service.dir / "model-a").mkdir()
        (self.service.dir / "model-a/config.json").write_text("a")
        self.service.sign_manifest("a", "--location", "pvc://exports/models", model=MODEL)
        self.service.activate({"name": "proved", "version": 1, "mode": "enforce", "match": {},
                               "require": [{"id": "manifest", "manifest": {"signers": {"at_least": 1}}}]})
        self.service.revoke_key("evaluator")  # the newest change of trust
        said = self.service.run("assay", "decide", "--model", MODEL, "--namespace", NAMESPACE, "-o", "json",
                                token="ci", check=False)
        self.decision = json.loads(said.stdout)["decision"]["id"]
        self.service.run("assay", "decision", "export", self.decision, "--out", "true.export", token="ci")
        true = json.loads((self.service.dir / "true.export").read_text())
        self.documents = true["documents"]
        self.shown = {json.loads(entry["record"])["type"] for entry in true["entries"]}
        self.forger = Forger(self.service)
        # Nothing but what the decision rests on, as in the true file.
        self.unused = [i for i, record in enumerate(self.forger.records) if record["type"] not in self.shown]

    def verdict(self, *leave_out, log=0):
        self.forger.export(self.decision, self.documents, {*self.unused, *leave_out})
        done = self.service.run("assay", "verify", "forged.export", "--verifier-key-file", "log.vkey",
                                check=False)
        self.forger.mirror()
        seen = self.service.run("assay", "log", "verify", "forged", "--verifier-key-file", "log.vkey",
                                check=False)
        self.assertEqual(seen.returncode, log, seen.stderr)
        return done.returncode, done.stderr

    def record(self):
        return self.forger.records[self.forger.place("decision.made")]

    def test_true_export_is_proven(self):
        self.assertEqual(self.verdict()[0], 0, self.verdict()[1])
        done = self.service.run("assay", "verify", "forged.export", "--verifier-key-file", "log.vkey", "--key",
                                "keys/publisher.pem.pub", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("leave out the keys", done.stderr)

    def test_newest_change_is_not_left_out(self):
        change = self.forger.place("trust.changed")
        code, said = self.verdict(change)
        self.assertEqual(code, 1)
        self.assertIn("leaves out a change of trust", said)
        # A record that names an older change passes alone; everybody who has the log sees it.
        before = self.forger.place("policy.activated")
        self.record()["detail"]["chain"]["newest"] = {
            "index": before, "leaf": "sha256:" + self.forger.leaf(before).hex()}
        self.assertEqual(self.verdict(log=1)[0], 1)
        self.assertIn("does not name the newest", self.service.run(
            "assay", "log", "verify", "forged", "--verifier-key-file", "log.vkey", check=False).stderr)

    def test_log_says_what_the_decision_says(self):
        for member, value in (("verdict", "deny"), ("reasons", ["manifest-missing"]), ("namespace", "other"),
                              ("point", "bind"), ("node", "n"), ("more", 1)):
            with self.subTest(member):
                detail = self.record()["detail"]
                before = copy.deepcopy(detail)
                detail[member] = value
                code, said = self.verdict()
                self.assertEqual(code, 1)
                self.assertIn("says other things", said)
                detail.clear()
                detail.update(before)
        self.record()["subject"] = ["other"]
        self.assertEqual(self.verdict()[0], 1)

    def test_first_trust_is_the_first_entry(self):
        self.forger.records.insert(0, self.forger.records.pop(1))
        self.forger.link()
        self.unused = [i for i, record in enumerate(self.forger.records) if record["type"] not in self.shown]
        code, said = self.verdict()
        self.assertEqual(code, 1)
        self.assertIn("first trust is not the first entry", said)

    @staticmethod
    def changed(member, change):
        if "withdrawn" in member:
            change(member["withdrawn"])
        return member

    def test_withdrawals_are_not_talked_away(self):
        manifest = next(record for record in self.forger.records if record["type"] == "manifest.accepted")
        statement = next(one for one in manifest["subject"] if one.startswith("sha256:"))
        self.service.change_trust("--withdraw", statement, "--withdraw-reason", "vulnerable", "--reason", "a hole")
        said = self.service.run("assay", "decide", "--model", self.service.artifact_of("a"), "--namespace",
                                NAMESPACE, "-o", "json", token="ci", check=False)
        self.decision = json.loads(said.stdout)["decision"]["id"]
        self.service.run("assay", "decision", "export", self.decision, "--out", "true.export", token="ci")
        true = json.loads((self.service.dir / "true.export").read_text())
        self.documents, self.forger = true["documents"], Forger(self.service)
        self.unused = [i for i, record in enumerate(self.forger.records) if record["type"] not in self.shown]
        self.assertEqual(self.verdict()[0], 0, self.verdict()[1])
        name = next(name for name, text in self.documents.items() if '"withdrawn":{' in text)
        for change in (lambda fact: fact.update(by=["nobody"], signers_only=True),
                       lambda fact: fact.update(since="2020-01-01T00:00:00.000Z"),
                       lambda fact: fact.update(reason="other")):
            part = json.loads(self.documents[name], object_hook=lambda one: self.changed(one, change))
            self.forger = Forger(self.service)
            documents = self.forger.with_document(self.documents, name,
                                                  json.dumps(part, sort_keys=True, separators=(",", ":")))
            self.forger.export(self.decision, documents, self.unused)
            done = self.service.run("assay", "verify", "forged.export", "--verifier-key-file", "log.vkey",
                                    check=False)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("other things of its withdrawal", done.stderr)

    def test_decision_is_about_its_case(self):
        old = self.record()["documents"][0]
        signed = json.loads(base64.b64decode(json.loads(self.documents[old])["payload"]))
        for change in ({"request": {**signed["request"], "namespace": "other"}}, {"evaluator": 1}, {"more": 1}):
            with self.subTest(change):
                envelope = json.dumps(self.forger.sign({**signed, **change}), sort_keys=True,
                                      separators=(",", ":"))
                documents = {**self.documents, digest(envelope): envelope}
                del documents[old]
                self.record()["documents"][0] = digest(envelope)
                self.forger.export(self.decision, documents, self.unused)
                done = self.service.run("assay", "verify", "forged.export", "--verifier-key-file", "log.vkey",
                                        check=False)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("says other things", done.stderr)


class Rotated(unittest.TestCase):
    """A verifier that has the log's first key follows the records to the newest one."""

    def test_keys_of_the_service_and_of_the_log_are_replaced(self):
        service = self.enterContext(harness.Service())
        decisions = []
        for kind in ("service", "log", None):
            status, answer = service.request(
                "POST", "/v1/decisions", json.dumps({"point": "create", "workload": {"namespace": "a"}}))
            self.assertIn(status, (200, 201), answer)
            decisions.append(answer["decision"]["id"])
            if kind:
                service.stop()
                service.run("assayd", "rotate", kind, "--config", "service/assayd.json", "--new-key",
                            f"service/{kind}-2.pem")
                service.config.update({"service_key_file": "service-2.pem"} if kind == "service" else {
                    "log": {"origin": "e2e.example/log", "key_file": "log-2.pem"}})
                (service.dir / "service/assayd.json").write_text(json.dumps(service.config))
                service.start()
        for decision in decisions:
            service.run("assay", "decision", "export", decision, "--out", "one.export", token="ci")
            done = service.run("assay", "verify", "one.export", "--verifier-key-file", "log.vkey", check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
