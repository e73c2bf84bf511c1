# SPDX-License-Identifier: Apache-2.0
"""The services of vendors, with what a simulator wrote: Intel's PCS, NVIDIA's RIM service and OCSP
responder, AMD's KDS. `server` is a tls_server.Server."""
import base64
import hashlib
import json
import urllib.parse

from cryptography import x509
from cryptography.x509 import ocsp
from tls_server import Answer, problem

V4 = "/certification/v4"


def serve_intel(server, bundle):
    def signed(path, member, text, header):
        body = '{"%s":%s,"signature":"%s"}' % (member, bundle[text], bundle[f"{text}_signature"])
        chain = urllib.parse.quote(bundle[f"{text}_issuer_chain"], safe="")
        server.answers[f"GET {path}"] = Answer(200, body.encode(), headers={header: chain})

    signed(f"/tdx{V4}/tcb", "tcbInfo", "tcb_info", "TCB-Info-Issuer-Chain")
    signed(f"/tdx{V4}/qe/identity", "enclaveIdentity", "qe_identity",
           "SGX-Enclave-Identity-Issuer-Chain")  # fmt: skip
    chain = urllib.parse.quote(bundle["pck_crl_issuer_chain"], safe="")
    server.answers[f"GET /sgx{V4}/pckcrl"] = Answer(
        200, bytes.fromhex(bundle["pck_crl"]), "application/pkix-crl",
        headers={"SGX-PCK-CRL-Issuer-Chain": chain})  # fmt: skip
    server.answers[f"GET /sgx{V4}/rootcacrl"] = Answer(
        200, bytes.fromhex(bundle["root_ca_crl"]), "application/pkix-crl")  # fmt: skip


def serve_amd(server, collateral, product="Milan"):
    server.answers[f"GET /vcek/v1/{product}/crl"] = Answer(
        200, bytes.fromhex(collateral["crl"]), "application/pkix-crl")  # fmt: skip


def _question(chain):
    """What a request about the first certificate names: its serial number and its issuer."""
    first, issuer = (x509.load_pem_x509_certificate(f"{part}-----END CERTIFICATE-----\n".encode())
                     for part in chain.split("-----END CERTIFICATE-----\n")[:2])  # fmt: skip
    return first.serial_number, hashlib.sha1(issuer.subject.public_bytes()).digest()


def serve_nvidia(server, collateral):
    answers = {_question(text): base64.b64decode(collateral[f"ocsp/{name[6:]}"])
               for name, text in collateral.items() if name.startswith("chain/")}  # fmt: skip

    def respond(body):
        asked = ocsp.load_der_ocsp_request(body)
        der = answers.get((asked.serial_number, asked.issuer_name_hash))
        return Answer(200, der, "application/ocsp-response") if der else problem(404, "not-found")

    server.answers["POST /"] = respond
    for name, xml in collateral.items():
        if name.startswith("rim/"):
            server.answers[f"GET /v1/{name}"] = Answer(200, {
                "id": name[4:], "rim": base64.b64encode(xml.encode()).decode(),
                "sha256": hashlib.sha256(xml.encode()).hexdigest()})  # fmt: skip


def sources(server):
    """Options of 'assay endorsements fetch'."""
    base = f"https://localhost:{server.port}"
    return ("--pcs", base, "--rim-service", base, "--ocsp", base, "--kds", base,
            "--cacert", "server.crt")  # fmt: skip


def load(path):
    return json.loads(path.read_text())
