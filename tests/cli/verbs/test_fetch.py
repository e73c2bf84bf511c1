# SPDX-License-Identifier: Apache-2.0
"""assay fetch: images from a layout on disk and from a registry, and what registries do wrong."""
import base64
import gzip
import json
import tarfile

import harness
import registry
from harness import TROUBLE, YES
from registry import DSSE, INDEX, MANIFEST, Images, Registry, bundle, digest_of, link, tar_of
from tls_server import make_certificate

OMS = bundle("https://model_signing/signature/v1.0")
ENVELOPE = b'{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[]}'
FILES = (("config.json", b"{}"), ("weights/part-1", b"w" * 5000))


class TestCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.images = Images()

    def serve(self, **options):
        server = Registry(self.images, **options)
        self.addCleanup(server.close)
        server.realm = f"http://127.0.0.1:{server.port}/token"
        return server

    def nothing_written(self):
        left = [path.name for path in self.dir.iterdir() if path.name.startswith("out")]
        self.assertEqual(left, [])

    def content(self, path):
        return (self.dir / "out" / path).read_bytes()

    def modelcar(self, *layers):
        """A container image with a model below /models, and links elsewhere."""
        base = tar_of(("bin/busybox", b"elf"), link("bin/sh", "busybox"),
                      link("bin/ls", "bin/busybox", tarfile.LNKTYPE), link("dev/null", "", b"3"))
        return self.images.image(base, *(layers or [tar_of(
            ("models/config.json", b"{}"), ("./models/weights/part-1", b"w" * 5000))]))


class OnDisk(TestCase):
    def fetch(self, reference, *options, code=YES):
        if not (self.dir / "layout").exists():
            self.images.layout(self.dir / "layout")
        if isinstance(reference, dict):
            reference = "oci://example.com/acme/llama@" + reference["digest"]
        return self.assay("fetch", reference, "--layout", "layout", "--out", "out", *options, "-o",
                          "json", code=code)

    def test_manifest_and_what_is_attached(self):
        image = self.images.model_pack(*FILES)
        self.images.attach(image, OMS, registry.BUNDLE)
        self.images.attach(image, bundle("https://example.com/x"), registry.BUNDLE)
        self.images.attach(image, ENVELOPE, DSSE)
        self.images.attach(image, b"{}", "application/vnd.cyclonedx+json")
        self.images.attach(image, b"?", "application/x-thing")
        self.images.cosign(image)
        got = self.fetch(image).json()
        self.assertEqual(got["manifest"], image["digest"])
        self.assertEqual(got["artifact_type"], registry.MODEL + "manifest.v1+json")
        self.assertEqual(digest_of(self.content("manifest.json")), image["digest"])
        kinds = [(one["kind"], one.get("file"), one["via"]) for one in got["attached"]]
        self.assertEqual(kinds, [
            ("oms", "attached/001.model.sig", "referrers"),
            ("sigstore-bundle", "attached/002.sigstore.json", "referrers"),
            ("dsse", "attached/003.dsse.json", "referrers"),
            ("cyclonedx", "attached/004.cdx.json", "referrers"),
            ("other", None, "referrers"),
            ("cosign", "attached/005.cosign.json", "sha256-" + image["digest"][7:] + ".sig")])
        self.assertEqual(self.content("attached/001.model.sig"), OMS)
        self.assertEqual(self.content("attached/005.cosign.json.sig"), b"MEUC\n")
        self.assertFalse((self.dir / "out/model").exists())

    def test_files_of_a_model_pack(self):
        image = self.images.model_pack(*FILES)
        got = self.fetch(image, "--files").json()
        self.assertEqual(got["files"], {"number": 2, "bytes": 5002})
        for path, content in FILES:
            self.assertEqual(self.content("model/" + path), content)
        made = self.assay("hash", "out/model", "-o", "json").json()
        self.assertEqual(made["bytes"], 5002)

    def test_files_of_archives_in_a_model_pack(self):
        for number, (suffix, packed) in enumerate((("tar", False), ("tar+gzip", True))):
            with self.subTest(suffix):
                layer = self.images.blob(tar_of(("a/b", b"x" * 700), packed=packed),
                                         registry.MODEL + "weight.config.v1." + suffix)
                image = self.images.image(layer, config_type=registry.MODEL + "config.v1+json")
                self.images.layout(self.dir / f"layout{number}")
                self.assay("fetch", "oci://x.example/y@" + image["digest"], "--layout",
                           f"layout{number}", "--out", f"out{number}", "--files")
                self.assertEqual((self.dir / f"out{number}/model/a/b").read_bytes(), b"x" * 700)

    def test_files_of_a_modelcar(self):
        image = self.modelcar()
        self.fetch(image, "--files")
        for path, content in FILES:
            self.assertEqual(self.content("model/" + path), content)
        self.assertFalse((self.dir / "out/model/bin").exists())

    def test_a_later_layer_replaces_a_file(self):
        image = self.modelcar(tar_of(("models/a", b"old"), ("models/b", b"b")),
                              tar_of(("models/a", b"new")))
        got = self.fetch(image, "--files").json()
        self.assertEqual((self.content("model/a"), got["files"]["number"]), (b"new", 2))

    def test_long_names(self):
        path = "/".join(["d" * 90] * 4) + "/" + "f" * 120
        image = self.modelcar(tar_of(("models/" + path, b"x")))
        self.fetch(image, "--files")
        self.assertEqual(self.content("model/" + path), b"x")

    def test_tags_are_taken_when_asked_for(self):
        image = self.images.model_pack(*FILES, tag="2.0")
        refused = self.fetch("oci://example.com/acme/llama:2.0", code=TROUBLE)
        self.assertIn('"usage"', refused.err)
        self.nothing_written()
        got = self.fetch("oci://example.com/acme/llama:2.0", "--tag").json()
        self.assertEqual(got["reference"], "oci://example.com/acme/llama@" + image["digest"])
        self.assertIn("not-found", self.assay(
            "fetch", "oci://example.com/acme/llama:3", "--tag", "--layout", "layout", "--out",
            "out2", code=TROUBLE).err)

    def test_an_index_leads_to_an_image(self):
        images = [{**self.images.model_pack(("a", name)), "platform": {
            "os": "linux", "architecture": name.decode()}} for name in (b"amd64", b"arm64")]
        seen = {**self.images.image(b"", config_type="a/b"), "platform": {
            "os": "unknown", "architecture": "unknown"},
            "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}  # fmt: skip
        index = self.images.put({"schemaVersion": 2, "manifests": [*images, seen]}, INDEX)
        self.images.attach(index, ENVELOPE, DSSE)
        self.images.attach(images[1], OMS, registry.BUNDLE)
        self.assertIn("model-reference-ambiguous", self.fetch(index, code=TROUBLE).err)
        self.nothing_written()
        got = self.fetch(index, "--platform", "linux/arm64", "--files").json()
        self.assertEqual((got["reference"][-71:], got["manifest"]),
                         (index["digest"], images[1]["digest"]))
        self.assertEqual([one["kind"] for one in got["attached"]], ["dsse", "oms"])
        self.assertEqual(self.content("model/a"), b"arm64")
        self.assertEqual(digest_of(self.content("index.json")), index["digest"])

    def test_indexes_lead_nowhere(self):
        index = self.images.model_pack(*FILES)
        for _ in range(6):
            index = self.images.put({"schemaVersion": 2, "manifests": [index]}, INDEX)
        self.assertIn("limit-exceeded", self.fetch(index, code=TROUBLE).err)
        self.nothing_written()

    def test_files_that_are_refused(self):
        bomb = gzip.compress(b"\0" * (80 << 20), 9)
        tar = tar_of(("models/a", b"x" * 600), packed=False)
        fifo = link("models/f", "", tarfile.FIFOTYPE)
        folder = link("models/a", "", tarfile.DIRTYPE)
        table = [
            ("a path that leads out", [tar_of(("models/../../x", b"x"))], "invalid-path"),
            ("an absolute path", [tar_of(("/models/x", b"x"))], "invalid-path"),
            ("a link", [tar_of(link("models/x", "/etc/passwd"))], "unsupported-file-type"),
            ("a hard link", [tar_of(link("models/x", "bin/sh", tarfile.LNKTYPE))],
             "unsupported-file-type"),
            ("a device", [tar_of(link("models/x", "", tarfile.CHRTYPE))], "unsupported-file-type"),
            ("a pipe", [tar_of(fifo)], "unsupported-file-type"),
            ("a link in place of the model", [tar_of(link("models", "/etc"))],
             "unsupported-file-type"),
            ("a path twice", [tar_of(("models/x", b"x"), ("./models/x", b"y"))], "invalid-path"),
            ("a file that was a directory", [tar_of(("models/a/b", b"x")),
                                             tar_of(("models/a", b"x"))], "invalid-path"),
            ("a directory that was a file", [tar_of(("models/a", b"x")), tar_of(folder)],
             "invalid-path"),
            ("a file below a file", [tar_of(("models/a", b"x"), ("models/a/b", b"x"))],
             "invalid-path"),
            ("a file that is deleted", [tar_of(("models/a", b"x")),
                                        tar_of(("models/.wh.a", b""))], "invalid-encoding"),
            ("a model that is deleted", [tar_of(("models/a", b"x")), tar_of((".wh.models", b""))],
             "invalid-encoding"),
            ("all that is deleted", [tar_of(("models/a", b"x")), tar_of((".wh..wh..opq", b""))],
             "invalid-encoding"),
            ("an archive that is cut", [gzip.compress(tar[:700])], "invalid-encoding"),
            ("a wrong checksum", [gzip.compress(b"x" + tar[1:])], "invalid-encoding"),
            ("something after its end", [gzip.compress(tar + b"x")], "invalid-encoding"),
            ("a stream that is cut", [gzip.compress(tar)[:-9]], "invalid-encoding"),
            ("no gzip", [b"models"], "invalid-encoding"),
            ("garbage after gzip", [gzip.compress(tar) + b"more"], "invalid-encoding"),
            ("a bomb", [bomb], "limit-exceeded"),
            ("no file", [tar_of(("other/a", b"x"))], "not-found"),
            ("a layer of another type", [self.images.blob(
                b"x", "application/vnd.oci.image.layer.v1.tar+zstd")], "unsupported-media-type"),
            ("a layer without a path", [self.images.blob(b"x", registry.MODEL + "doc.v1.raw")],
             "unsupported-media-type"),
        ]  # fmt: skip
        for number, (what, layers, code) in enumerate(table):
            with self.subTest(what):
                image = self.images.image(*layers)
                self.images.layout(self.dir / f"layout{number}")
                got = self.assay("fetch", "oci://x.example/y@" + image["digest"], "--layout",
                                 f"layout{number}", "--out", "out", "--files", code=TROUBLE)
                self.assertIn(f"error: {code}:", got.err)
                self.nothing_written()

    def test_paths_of_raw_layers_are_checked(self):
        for path in ("../x", "/x", "a//b", ""):
            with self.subTest(path):
                images = Images()
                image = images.model_pack((path, b"x"))
                where = self.dir / f"layout-{len(list(self.dir.iterdir()))}"
                images.layout(where)
                got = self.assay("fetch", "oci://x.example/y@" + image["digest"], "--layout", where,
                                 "--out", "out", "--files", code=TROUBLE)
                self.assertIn("error: invalid-path:", got.err)
                self.nothing_written()

    def test_too_many_bytes(self):
        image = self.images.model_pack(*FILES)
        self.assertIn("limit-exceeded", self.fetch(image, "--files", "--max-size", "5001",
                                                   code=TROUBLE).err)
        self.fetch(image, "--files", "--max-size", "5002")

    def test_a_layout_whose_bytes_changed(self):
        image = self.images.model_pack(*FILES)
        self.images.layout(self.dir / "layout")
        weights = digest_of(FILES[1][1])
        blob = self.dir / "layout/blobs/sha256" / weights[7:]
        for what, content in (("other", b"v" * 5000), ("short", b"w" * 4999), ("long", b"w" * 5001)):
            with self.subTest(what):
                blob.write_bytes(content)
                got = self.fetch(image, "--files", code=TROUBLE)
                self.assertIn("content-mismatch", got.err)
                self.assertIn(weights, got.err)
                self.nothing_written()
        blob.unlink()
        blob.symlink_to("/etc/passwd")
        self.assertIn("file-unreadable", self.fetch(image, "--files", code=TROUBLE).err)

    def test_what_is_there_is_not_touched(self):
        image = self.images.model_pack(*FILES)
        self.write("out/mine", "x")
        self.assertIn("conflict", self.fetch(image, code=TROUBLE).err)
        self.assertEqual([one.name for one in (self.dir / "out").iterdir()], ["mine"])
        (self.dir / "out/mine").unlink()
        self.fetch(image)

    def test_attached_to_something_else(self):
        image = self.images.model_pack(*FILES)
        self.images.cosign(image, about="sha256:" + "0" * 64)
        self.assertIn("subject-mismatch", self.fetch(image, code=TROUBLE).err)
        self.nothing_written()

    def test_no_layout(self):
        (self.dir / "layout").mkdir()
        image = {"digest": "sha256:" + "0" * 64}
        self.assertIn("not-found", self.fetch(image, code=TROUBLE).err)
        (self.dir / "layout/oci-layout").write_text('{"imageLayoutVersion":"2.0.0"}')
        self.assertIn("schema-violation", self.fetch(image, code=TROUBLE).err)

    def test_references(self):
        for text in ("example.com/a@sha256:" + "0" * 64, "oci://example.com/acme/llama",
                     "oci://example.com/a@sha256:0", "oci://example.com/a@md5:" + "0" * 32,
                     "oci://Example.com/A@sha256:" + "0" * 64, "oci://"):
            with self.subTest(text):
                self.fetch(text, code=TROUBLE)
                self.nothing_written()


class OverHttp(TestCase):
    """A registry on this machine, without TLS."""

    def fetch(self, server, image, *options, code=YES):
        reference = f"oci://127.0.0.1:{server.port}/acme/llama@{image['digest']}"
        return self.assay("fetch", reference, "--plain-http", "--out", "out", *options, "-o",
                          "json", code=code)

    def test_referrers_by_list_and_by_tag(self):
        image = self.images.model_pack(*FILES)
        self.images.attach(image, ENVELOPE, DSSE)
        self.images.fall_back()
        for number, listed in enumerate((True, False)):
            with self.subTest(listed=listed):
                server = self.serve(lists_referrers=listed)
                reference = f"oci://127.0.0.1:{server.port}/acme/llama@{image['digest']}"
                got = self.assay("fetch", reference, "--plain-http", "--files", "--out",
                                 f"out{number}", "-o", "json").json()
                self.assertEqual([one["kind"] for one in got["attached"]], ["dsse"])
                self.assertEqual(
                    (self.dir / f"out{number}/model/weights/part-1").read_bytes(),
                    FILES[1][1])

    def test_pages_of_referrers(self):
        image = self.images.model_pack(*FILES)
        first = self.images.attach(image, ENVELOPE, DSSE)
        second = self.images.attach(image, OMS, registry.BUNDLE)
        server = self.serve()
        path = "/v2/acme/llama/referrers/" + image["digest"]

        def page(one, link):
            body = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [one]})
            return 200, {"Content-Type": INDEX, **link}, body.encode()

        server.answers[path] = page(first, {"Link": '</more>; rel="next"'})
        server.answers["/more"] = page(second, {})
        got = self.fetch(server, image).json()
        self.assertEqual([one["kind"] for one in got["attached"]], ["dsse", "oms"])
        server.answers["/more"] = page(second, {"Link": '</more>; rel="next"'})
        got = self.assay("fetch", got["reference"], "--plain-http", "--out", "out2", code=TROUBLE)
        self.assertIn("limit-exceeded", got.err)

    def test_what_a_registry_does_wrong(self):
        image = self.images.model_pack(*FILES)
        content = self.images.manifests[image["digest"]][1]
        weights = digest_of(FILES[1][1])
        other = self.images.model_pack(("other", b"x"))
        stranger = self.images.attach(other, ENVELOPE, DSSE)
        manifest = "/v2/acme/llama/manifests/" + image["digest"]
        blob = "/v2/acme/llama/blobs/" + weights
        listed = "/v2/acme/llama/referrers/" + image["digest"]
        of = {"Content-Type": MANIFEST}

        def index(one):
            body = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [one]})
            return 200, {"Content-Type": INDEX}, body.encode()

        table = [
            ("another manifest", manifest, (200, of, content + b" "), "content-mismatch"),
            ("another media type", manifest, (200, {"Content-Type": INDEX}, content),
             "unsupported-media-type"),
            ("a web page", manifest, (200, {"Content-Type": "text/html"}, b"<html>"),
             "content-mismatch"),
            ("a huge manifest", manifest, (200, of, b" " * (5 << 20)), "limit-exceeded"),
            ("no manifest", manifest, (404, {}, b"{}"), "not-found"),
            ("no right to it", manifest, (403, {}, b"{}"), "unauthenticated"),
            ("too many requests", manifest, (429, {}, b"{}"), "unavailable"),
            ("a redirect of a manifest elsewhere", manifest,
             (307, {"Location": "https://elsewhere.example/x"}, b""), "connection-failed"),
            ("a redirect that never ends", blob, (307, {"Location": blob}, b""),
             "connection-failed"),
            ("a redirect to no web server", blob, (307, {"Location": "file:///etc/passwd"}, b""),
             "connection-failed"),
            ("a redirect to plain HTTP", blob, (302, {"Location": "http://elsewhere.example/x"},
                                                b""), "connection-failed"),
            ("a redirect that looks like this machine", blob,
             (302, {"Location": "http://127.0.0.1:80@elsewhere.example/x"}, b""),
             "connection-failed"),
            ("a redirect to nowhere", blob, (302, {}, b""), "connection-failed"),
            ("another blob", blob, (200, {}, b"v" * 5000), "content-mismatch"),
            ("a short blob", blob, (200, {}, b"w" * 4999), "content-mismatch"),
            ("a long blob", blob, (200, {}, b"w" * 5001), "content-mismatch"),
            ("a body that is cut", blob, (200, {"Content-Length": "5000"}, b"w" * 10),
             "connection-failed"),
            ("a referrer of something else", listed, index(stranger), "subject-mismatch"),
            ("a referrer that is not there", listed,
             index({**stranger, "digest": "sha256:" + "1" * 64}), "not-found"),
            ("a referrer of another size", listed, index({**stranger, "size": 7}),
             "content-mismatch"),
            ("a huge referrer", listed, index({**stranger, "size": 1 << 40}), "limit-exceeded"),
            ("a referrer with another hash", listed,
             index({**stranger, "digest": "sha512:" + "1" * 128}), "invalid-digest"),
            ("a list that is none", listed, (200, {"Content-Type": INDEX}, b"[]"),
             "schema-violation"),
            ("a challenge that is none", manifest, (401, {"WWW-Authenticate": '"'}, b""),
             "schema-violation"),
            ("a challenge without an end", manifest, (401, {"WWW-Authenticate": 'Bearer realm="'},
                                                      b""), "schema-violation"),
            ("a challenge of another kind", manifest, (401, {"WWW-Authenticate": "Negotiate"}, b""),
             "unauthenticated"),
        ]  # fmt: skip
        for what, path, answer, code in table:
            with self.subTest(what):
                server = self.serve()
                server.answers[path] = answer
                got = self.fetch(server, image, "--files", code=TROUBLE)
                self.assertIn(f'"code":"{code}"', got.err.replace(" ", ""))
                self.nothing_written()
        server = self.serve()
        self.fetch(server, image, "--files")  # as it should be

    def test_manifests_that_are_read_as_two_things(self):
        config = self.images.blob(b"{}", registry.IMAGE_CONFIG)
        image = {"schemaVersion": 2, "config": config, "layers": []}
        table = [
            ("both", {**image, "manifests": []}, MANIFEST, "unsupported-media-type"),
            ("says the other", {**image, "mediaType": INDEX}, MANIFEST, "unsupported-media-type"),
            ("a list with layers", {"schemaVersion": 2, "manifests": [], "layers": []}, INDEX,
             "unsupported-media-type"),
            ("schema 1", {**image, "schemaVersion": 1}, MANIFEST, "schema-violation"),
            ("no config", {"schemaVersion": 2, "layers": []}, MANIFEST, "schema-violation"),
            ("no layers", {"schemaVersion": 2, "config": config}, MANIFEST, "schema-violation"),
            ("negative size", {**image, "layers": [{**config, "size": -1}]}, MANIFEST,
             "schema-violation"),
            ("too many layers", {**image, "layers": [config] * 4097}, MANIFEST, "limit-exceeded"),
            ("no media type", {**image, "layers": [{**config, "mediaType": "x"}]}, MANIFEST,
             "schema-violation"),
            ("annotations of numbers", {**image, "annotations": {"a": 1}}, MANIFEST,
             "schema-violation"),
            ("Docker's first", image, "application/vnd.docker.distribution.manifest.v1+json",
             "unsupported-media-type"),
        ]  # fmt: skip
        server = self.serve()
        for what, document, media_type, code in table:
            with self.subTest(what):
                made = self.images.put(document, media_type)
                got = self.fetch(server, made, code=TROUBLE)
                self.assertIn(f'"code":"{code}"', got.err.replace(" ", ""))
                self.nothing_written()

    def test_a_blob_may_lie_elsewhere_and_gets_no_credential(self):
        image = self.images.model_pack(*FILES)
        server = self.serve(token="t0ken")
        other = self.serve()
        weights = digest_of(FILES[1][1])
        server.answers["/v2/acme/llama/blobs/" + weights] = (
            307, {"Location": f"http://127.0.0.1:{other.port}/cdn"}, b"")
        other.answers["/cdn"] = (200, {}, FILES[1][1])
        self.fetch(server, image, "--files")
        self.assertEqual(self.content("model/weights/part-1"), FILES[1][1])
        self.assertNotIn("Authorization", other.requests[0][1])

    def test_the_token_dance(self):
        image = self.images.model_pack(*FILES)
        auth = base64.b64encode(b"me:secret").decode()
        server = self.serve(token="t0ken")
        host = f"127.0.0.1:{server.port}"
        self.write_json("docker.json", {"auths": {host: {"auth": auth}}})
        self.assertIn("key-unusable", self.fetch(server, image, "--registry-auth", "docker.json",
                                                 code=TROUBLE).err)
        (self.dir / "docker.json").chmod(0o600)
        self.fetch(server, image, "--registry-auth", "docker.json")
        asked = [one for one in server.requests if one[0].startswith("/token")]
        self.assertEqual(len(asked), 1)
        self.assertEqual(asked[0][0], "/token?scope=repository:acme/llama:pull&service=here")
        self.assertEqual(asked[0][1]["Authorization"], f"Basic {auth}")
        others = [one[1].get("Authorization") for one in server.requests if one not in asked]
        self.assertEqual(set(others), {None, "Bearer t0ken"})

    def test_a_token_server_elsewhere_must_be_named(self):
        image = self.images.model_pack(*FILES)
        server = self.serve(token="t0ken")
        other = self.serve()
        other.token = "t0ken"
        server.realm = f"http://127.0.0.1:{other.port}/token"
        got = self.fetch(server, image, code=TROUBLE)
        self.assertIn("unauthenticated", got.err)
        self.assertEqual(other.requests, [])
        self.nothing_written()
        self.fetch(server, image, "--auth-host", f"127.0.0.1:{other.port}")

    def test_other_credentials(self):
        image = self.images.model_pack(*FILES)
        server = self.serve(token="t0ken")
        self.write("token", "t0ken\n").chmod(0o600)
        self.fetch(server, image, "--registry-token-file", "token")
        self.assertFalse([one for one in server.requests if one[0].startswith("/token")])
        host = f"127.0.0.1:{server.port}"
        self.write_json("helped.json", {"credHelpers": {host: "thing"}}).chmod(0o600)
        self.write_json("empty.json", {"auths": {host: {}}}).chmod(0o600)
        for file in ("helped.json", "empty.json"):
            got = self.assay("fetch", f"oci://{host}/acme/llama@{image['digest']}", "--plain-http",
                             "--out", "out2", "--registry-auth", file, code=TROUBLE)
            self.assertIn("schema-violation", got.err)
        wrong = self.serve(token="another")
        wrong.answers["/token"] = (200, {}, b'{"token":"no"}')
        got = self.assay("fetch", f"oci://127.0.0.1:{wrong.port}/acme/llama@{image['digest']}",
                         "--plain-http", "--out", "out2", code=TROUBLE)
        self.assertIn("unauthenticated", got.err)

    def test_plain_http_is_for_this_machine(self):
        for host in ("registry.example.com", "127.0.0.1.example.com", "10.0.0.1:5000"):
            got = self.assay("fetch", f"oci://{host}/a/b@sha256:" + "0" * 64, "--plain-http",
                             "--out", "out", code=TROUBLE)
            self.assertIn("error: usage:", got.err)
            self.nothing_written()


class OverTls(TestCase):
    def test_a_certificate_is_checked(self):
        make_certificate(self.dir / "server")
        make_certificate(self.dir / "other")
        image = self.images.model_pack(*FILES)
        server = self.serve(certificate=str(self.dir / "server"))
        reference = f"oci://localhost:{server.port}/acme/llama@{image['digest']}"
        for options in ((), ("--registry-ca", "other.crt"), ("--plain-http",)):
            with self.subTest(options):
                got = self.assay("fetch", reference, "--out", "out", *options, code=TROUBLE)
                self.assertIn("error: connection-failed:", got.err)
                self.nothing_written()
        self.assay("fetch", reference, "--out", "out", "--files", "--registry-ca", "server.crt")
        self.assertEqual(self.content("model/config.json"), b"{}")


if __name__ == "__main__":
    harness.main()
