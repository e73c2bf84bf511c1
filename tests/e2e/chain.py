# SPDX-License-Identifier: Apache-2.0
"""What the tests of the chain share: a table of attacks, each with the honest neighbour of it."""
import collections
import json

import nodes
import pods

# What somebody was told. `allowed` is true when what was tried went through.
Said = collections.namedtuple("Said", "allowed text")


class Row(collections.namedtuple("Row", "case attack code neighbour")):
    """`attack` and `neighbour` are the names of methods that return a Said; `case` is a number of
    the list of attacks that this table grew from; `code` (a pattern) is in the refusal."""

    @property
    def test_name(self):
        return f"test_{self.case:02}_{self.attack}"


def rows_of(table):
    """Decorates a test case: one test a row."""
    def make(row):
        def test(self):
            said = getattr(self, row.attack)()
            self.assertFalse(said.allowed, f"{row.attack} went through: {said.text}")
            self.assertRegex(said.text, row.code)
            said = getattr(self, row.neighbour)()
            self.assertTrue(said.allowed, f"{row.neighbour} was refused: {said.text}")
        test.__doc__ = f"{row.attack}: {row.code}; {row.neighbour}: allowed"
        return test

    def decorate(case):
        for row in map(Row._make, table):
            setattr(case, row.test_name, make(row))
        return case
    return decorate


class Service(nodes.NodeService):
    """With a second publisher, and an API server of another role."""

    def _extend(self):
        super()._extend()
        for number, name in enumerate(("second", "third", "fourth"), 2):
            self.key(f"publisher-{number}", "publisher", name, "--namespace", "acme")
        self.key("stranger", "publisher", "stranger", "--namespace", "strangers")
        self.client("orchestrator", "decider")

    def client(self, name, role):
        """A principal with a client certificate: NAME.crt, NAME.key."""
        self.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                 "-keyout", f"{name}.key", "-out", f"{name}.crt")
        (self.dir / f"{name}.key").chmod(0o600)
        self.run("assay", "token", "new", "--principal", name, "--role", role, "--certificate",
                 f"{name}.crt", "--out", f"tokens/{name}.json")

    def sign_manifest(self, name, *options, model=pods.MODEL, key="publisher", directory="model-a"):
        """A manifest of `directory`, pushed; what the service said."""
        self.run("assay", "manifest", "create", directory, "--name", model, "--out",
                 f"{name}.json", *options)
        self.run("assay", "sign", f"{name}.json", "--key", f"keys/{key}.pem", "--out",
                 f"{name}.signed.json")
        return self.run("assay", "push", f"{name}.signed.json", "-o", "json", token="ci")

    def artifact_of(self, name):
        statement = json.loads((self.dir / f"{name}.json").read_text())
        return "assay-tree-v1-sha256:" + statement["subject"][0]["digest"]["assay-tree-v1-sha256"]

    def revoke_key(self, name):
        shown = self.run("assay", "key", "show", f"keys/{name}.pem.pub", "-o", "json").stdout
        self.change_trust("--revoke", json.loads(shown)["key_id"], "--reason", "lost")

    def review(self, made, **options):
        """What validation says of an object."""
        return Said(*self.ask(pods.review(made, **options)))

    def admit(self, made):
        """A pod with a uid, after its creation was allowed."""
        made = made if "uid" in made["metadata"] else pods.stored(made)
        said = self.review(made)
        if not said.allowed:
            raise AssertionError(said.text)
        return made

    def bind(self, made, node="node-1", uid=None, **options):
        metadata = made["metadata"]
        return self.review(pods.binding(metadata["name"], node, uid or pods.uid_of(made),
                                        metadata["namespace"], **options))

    def admission(self, review, *options, client="kube"):
        """The finished `assay admission test` of the API server, or of another client."""
        (self.dir / "review.json").write_text(json.dumps(review))
        return self.run("assay", "admission", "test", "-f", "review.json", "--server",
                        f"https://127.0.0.1:{self.ready['admission_port']}", "--cert",
                        f"{client}.crt", "--cert-key", f"{client}.key", *options, check=False)


def said_by(done):
    """Of a finished command."""
    return Said(done.returncode == 0, done.stdout + done.stderr)
