# SPDX-License-Identifier: Apache-2.0
"""Images for tests: as a layout on disk, and in a registry on this machine that can misbehave."""
import base64
import gzip
import hashlib
import http.server
import io
import json
import ssl
import tarfile
import threading

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
IMAGE_CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MODEL = "application/vnd.cncf.model."
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
DSSE = "application/vnd.dsse.envelope.v1+json"
COSIGN = "application/vnd.dev.cosign.simplesigning.v1+json"


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def tar_of(*members, packed=True):
    """An archive of (name, content) pairs, or of TarInfo objects."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            about = tarfile.TarInfo(member[0])
            about.size = len(member[1])
            archive.addfile(about, io.BytesIO(member[1]))
    return gzip.compress(out.getvalue(), mtime=0) if packed else out.getvalue()


def link(name, target, kind=tarfile.SYMTYPE):
    about = tarfile.TarInfo(name)
    about.type = kind
    about.linkname = target
    return about


class Images:
    """Blobs and manifests of one repository; `tags` are by name."""

    def __init__(self):
        self.blobs = {}  # digest to bytes
        self.manifests = {}  # digest to (media type, bytes)
        self.tags = {}
        self.subjects = {}  # digest to descriptors of what refers to it

    def blob(self, content, media_type, **members):
        digest = digest_of(content)
        self.blobs[digest] = content
        return {"mediaType": media_type, "digest": digest, "size": len(content), **members}

    def put(self, document, media_type=MANIFEST, tag=None):
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        digest = digest_of(content)
        self.manifests[digest] = (media_type, content)
        if tag:
            self.tags[tag] = digest
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def image(self, *layers, config_type=IMAGE_CONFIG, tag=None, **members):
        """`layers` are descriptors, or bytes of LAYER."""
        layers = [self.blob(one, LAYER) if isinstance(one, bytes) else one for one in layers]
        return self.put({"schemaVersion": 2, "mediaType": MANIFEST,
                         "config": self.blob(b"{}", config_type), "layers": layers, **members},
                        tag=tag)

    def model_pack(self, *files, tag=None):
        """Raw layers of (path, content)."""
        layers = [self.blob(content, MODEL + "weight.v1.raw",
                            annotations={"org.cncf.model.filepath": path})
                  for path, content in files]
        return self.image(*layers, config_type=MODEL + "config.v1+json", tag=tag,
                          artifactType=MODEL + "manifest.v1+json")

    def attach(self, subject, content, media_type, **members):
        """A manifest with one layer that refers to `subject`."""
        made = self.image(self.blob(content, media_type, **members), subject=subject,
                          config_type="application/vnd.oci.empty.v1+json")
        self.subjects.setdefault(subject["digest"], []).append(made)
        return made

    def cosign(self, subject, signature="MEUC", about=None):
        payload = json.dumps({"critical": {"image": {
            "docker-manifest-digest": about or subject["digest"]}}}).encode()
        layer = self.blob(payload, COSIGN, annotations={
            "dev.cosignproject.cosign/signature": signature,
            "dev.sigstore.cosign/certificate": "-----BEGIN CERTIFICATE-----\n"})
        return self.image(layer, tag="sha256-" + subject["digest"][7:] + ".sig")

    def referrers(self, digest):
        return json.dumps({"schemaVersion": 2, "mediaType": INDEX,
                           "manifests": self.subjects.get(digest, [])}).encode()

    def fall_back(self):
        """Lists of referrers under tags, for registries that have no list."""
        for digest in self.subjects:
            self.put(self.referrers(digest), INDEX, tag="sha256-" + digest[7:])

    def layout(self, directory):
        """Writes an OCI image layout; every manifest is in its index."""
        blobs = directory / "blobs" / "sha256"
        blobs.mkdir(parents=True)
        for digest, content in self.blobs.items():
            (blobs / digest[7:]).write_bytes(content)
        listed = []
        names = {digest: tag for tag, digest in self.tags.items()}
        for digest, (media_type, content) in self.manifests.items():
            (blobs / digest[7:]).write_bytes(content)
            one = {"mediaType": media_type, "digest": digest, "size": len(content)}
            if digest in names:
                one["annotations"] = {"org.opencontainers.image.ref.name": names[digest]}
            listed.append(one)
        (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        (directory / "index.json").write_text(
            json.dumps({"schemaVersion": 2, "manifests": listed}))


def bundle(predicate_type):
    """A Sigstore bundle around a statement; nobody verifies it here."""
    payload = base64.b64encode(json.dumps({"predicateType": predicate_type}).encode()).decode()
    return json.dumps({"mediaType": BUNDLE, "dsseEnvelope": {"payload": payload}}).encode()


class Registry:
    """Serves Images below /v2/acme/llama. `answers` replaces an answer by (status, headers, body)
    for a path. `token`: what must be sent as a bearer token, after a challenge."""

    def __init__(self, images, certificate=None, lists_referrers=True, token=None):
        self.images = images
        self.answers = {}
        self.requests = []  # (path, headers)
        self.lists_referrers = lists_referrers
        self.token = token
        self.realm = None
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.requests.append((self.path, dict(self.headers)))
                status, headers, body = owner.answer(self.path, self.headers)
                self.send_response(status)
                if "Content-Length" not in headers:
                    headers = {**headers, "Content-Length": str(len(body))}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = int(headers["Content-Length"]) != len(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{certificate}.crt", f"{certificate}.key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def answer(self, path, headers):
        plain = path.split("?")[0]
        if plain in self.answers:
            found = self.answers[plain]
            return found(headers) if callable(found) else found
        if plain == "/token":
            return 200, {}, json.dumps({"token": self.token}).encode()
        if self.token and headers.get("Authorization") != f"Bearer {self.token}":
            challenge = f'Bearer realm="{self.realm}",service="here",scope="repository:x:pull,push"'
            return 401, {"WWW-Authenticate": challenge}, b"{}"
        prefix, _, rest = plain.partition("/acme/llama/")
        kind, _, name = rest.partition("/")
        if prefix != "/v2":
            return 404, {}, b"{}"
        if kind == "manifests":
            digest = self.images.tags.get(name, name)
            if digest in self.images.manifests:
                media_type, content = self.images.manifests[digest]
                return 200, {"Content-Type": media_type}, content
        elif kind == "blobs" and name in self.images.blobs:
            return 200, {"Content-Type": "application/octet-stream"}, self.images.blobs[name]
        elif kind == "referrers" and self.lists_referrers:
            return 200, {"Content-Type": INDEX}, self.images.referrers(name)
        return 404, {}, b"{}"
