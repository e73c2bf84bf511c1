// SPDX-License-Identifier: Apache-2.0
// assay scitt: signed statements of SCITT, as others make them.
#include <memory>
#include <utility>
#include <vector>

#include "attestation/scitt/statement.h"
#include "attestation/x509/certificate.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/printable.h"
#include "schemas/core/sha.h"

namespace assay::cli {

namespace {

namespace scitt = attestation::scitt;
namespace x509 = attestation::x509;

constexpr std::uint64_t kMaxPublicKey = 65536;

struct ScittOptions {
  std::string file;
  std::string key;
  std::string anchors;
  std::string purpose = std::string(x509::kCodeSigning);
  std::string at;
  std::string payload;
};

Json about(const scitt::SignedStatement& statement) {
  const Bytes& payload = statement.message.payload;
  Json json = {{"issuer", statement.issuer},
               {"subject", statement.subject},
               {"content_type", statement.message.content_type},
               {"payload_sha256", sha256(payload).hex()},
               {"payload_bytes", payload.size()},
               {"receipts", statement.receipts.size()}};
  if (statement.issued_at) {
    json["issued_at"] = *statement.issued_at;
  }
  if (statement.payload_hash) {
    json["payload_is_hash"] = {{"cose_algorithm", *statement.payload_hash},
                               {"of_type", statement.preimage_type},
                               {"location", statement.payload_location}};
  }
  return json;
}

// Says who signed, by the key or by the chain.
Result<Json> signer_of(const scitt::SignedStatement& statement, const ScittOptions& options,
                       Timestamp now) {
  if (!options.key.empty()) {
    ASSAY_ASSIGN(const Bytes pem, client::read_file(options.key, kMaxPublicKey));
    Result<attestation::PublicKey> key = attestation::PublicKey::from_pem(as_text(pem));
    if (!key) {
      return std::unexpected(about_public_key(key.error(), as_text(pem), options.key));
    }
    // The file does not say how an RSA key signs, and the message does.
    ASSAY_ASSIGN(const attestation::PublicKey used,
                 attestation::PublicKey::from_der(
                     key->der(),
                     key->rsa_numbers() ? statement.message.scheme.algorithm : key->algorithm()));
    ASSAY_TRY(scitt::verify_by_key(statement, used));
    return Json{{"key_id", used.id().text()}};
  }
  ASSAY_ASSIGN(const Bytes file, client::read_file(options.anchors, x509::kMaxCertificateFile));
  ASSAY_ASSIGN(const std::vector<x509::Certificate> anchors, x509::parse_certificates(file));
  ASSAY_ASSIGN(
      const x509::VerifiedPath path,
      scitt::verify_by_chain(statement, anchors, {.time = now, .purpose = options.purpose}));
  return Json{{"certificate", path.leaf().digest().text()},
              {"certificate_subject", path.leaf().subject()},
              {"anchor", path.anchor().digest().text()},
              {"anchor_subject", path.anchor().subject()}};
}

void print_statement(const Json& json) {
  for (const char* name : {"issuer", "subject", "content_type", "payload_sha256"}) {
    print_line(std::string(name) + ": " + printable(json.at(name).get<std::string>()));
  }
  for (const auto& [name, value] : json.at("signed_by").items()) {
    print_line("signed by " + name + ": " + printable(value.get<std::string>()));
  }
}

Result<Exit> verify_scitt(const Context& context, const ScittOptions& options) {
  if (options.key.empty() == options.anchors.empty()) {
    return fail(ErrorCode::kUsage,
                "Say whose signature counts: give --key with a public key, or --anchors with "
                "certificates");
  }
  Timestamp now = context.clock.now();
  if (!options.at.empty()) {
    ASSAY_ASSIGN(now, parse_rfc3339(options.at));
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(options.file, scitt::kMaxStatement));
  const auto statement = scitt::parse_statement(bytes);
  if (!statement) {
    return refuse(context, statement.error(), {{"verified", false}});
  }
  Json json = about(*statement);
  const Result<Json> signer = signer_of(*statement, options, now);
  if (!signer && (is_refusal(signer.error()) || signer.error().where.empty())) {
    json["verified"] = false;
    return refuse(context, signer.error(), std::move(json));
  }
  if (!signer) {
    return std::unexpected(signer.error());
  }
  json["verified"] = true;
  json["signed_by"] = *signer;
  if (!options.payload.empty()) {
    ASSAY_TRY(client::write_file(options.payload, statement->message.payload));
  }
  if (context.json()) {
    print_json(json);
  } else {
    print_statement(json);
  }
  return Exit::kYes;
}

void add_scitt_verify(const Command& group, Context& context) {
  auto options = std::make_shared<ScittOptions>();
  const Command verb = group.add("verify", "Verify a signed statement by a key or by its chain");
  verb.argument("FILE", options->file, "signed statement (COSE_Sign1)");
  verb.option("--key", options->key, "FILE", "public key (PEM) of the signer");
  verb.option("--anchors", options->anchors, "FILE",
              "certificates (PEM or DER) at which the chain of the statement may end");
  verb.option("--purpose", options->purpose, "OID",
              "extended key usage that the signer's certificate must have, or any (default code "
              "signing)");
  verb.option("--at", options->at, "TIME",
              "judge validity of certificates at this RFC 3339 time instead of now");
  verb.option("--payload", options->payload, "FILE", "write the payload to this file");
  verb.note(
      "issuer and subject are what the statement says of itself. Who signed it is under signed_by. "
      "Receipts in the statement are counted and not verified.");
  verb.example("assay scitt verify statement.cose --anchors ca.pem",
               "verify a statement that carries its certificates");
  verb.action([options, &context] { return verify_scitt(context, *options); });
}

}  // namespace

void add_scitt(const Command& root, Context& context) {
  const Command group = root.add("scitt", "Signed statements of SCITT");
  add_scitt_verify(group, context);
}

}  // namespace assay::cli
