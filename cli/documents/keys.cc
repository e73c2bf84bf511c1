// SPDX-License-Identifier: Apache-2.0
#include "cli/documents/keys.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "attestation/keys.h"
#include "attestation/pkcs11/token_signer.h"
#include "attestation/pkcs11/uri.h"
#include "attestation/private_key.h"
#include "attestation/sigstore/trusted_root.h"
#include "cli/documents/documents.h"
#include "cli/documents/secrets.h"
#include "cli/output.h"
#include "client/answers.h"
#include "client/files.h"
#include "schemas/key_advice.h"

namespace assay::cli {

namespace {

// Keys on the command line are trusted for as long as times can be written.
Timestamp end_of_time() {
  return Timestamp(std::chrono::sys_days(std::chrono::year(9999) / std::chrono::December / 31));
}

TrustedKey trust_fully(const attestation::PublicKey& key, const SigningContext& context) {
  const std::string predicate_type = context.predicate_type.empty() ? "*" : context.predicate_type;
  return {.id = key.id(),
          .algorithm = key.algorithm(),
          .public_key = key.der(),
          .purpose = context.purpose,
          .identity = key.id().text(),
          .roles = {SignerRole{"*", predicate_type, "*"}},
          .not_before = Timestamp(),
          .not_after = end_of_time(),
          .revoked = std::nullopt};
}

Result<TrustedKey> pem_key(const std::string& path, const SigningContext& context) {
  ASSAY_ASSIGN(const Bytes pem, client::read_file(path, 65536));
  Result<attestation::PublicKey> key = attestation::PublicKey::from_pem(as_text(pem));
  if (!key) {
    return std::unexpected(about_public_key(std::move(key).error(), as_text(pem), path));
  }
  return trust_fully(*key, context);
}

// Without padding in the file; RFC 4648 section 5.
Result<Bytes> part_of(const Json& key, const char* name) {
  std::string text = client::text_at(key, name);
  text.append((4 - text.size() % 4) % 4, '=');
  return base64_decode_any(text);
}

// A key of a JSON Web Key Set (RFC 7517), in the forms in which the service publishes its own.
// Nothing for a key of another form.
Result<std::optional<attestation::PublicKey>> key_in_set(const Json& item) {
  using Key = std::optional<attestation::PublicKey>;
  const std::string type = client::text_at(item, "kty");
  if (type == "OKP" && client::text_at(item, "crv") == "Ed25519") {
    ASSAY_ASSIGN(const Bytes point, part_of(item, "x"));
    Bytes spki = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
    spki.insert(spki.end(), point.begin(), point.end());
    ASSAY_ASSIGN(attestation::PublicKey key, attestation::PublicKey::from_der(spki));
    return Key(std::move(key));
  }
  if (type == "EC") {
    ASSAY_ASSIGN(const Bytes x, part_of(item, "x"));
    ASSAY_ASSIGN(const Bytes y, part_of(item, "y"));
    ASSAY_ASSIGN(attestation::PublicKey key, attestation::PublicKey::from_point(x, y));
    return Key(std::move(key));
  }
  if (type == "RSA") {
    ASSAY_ASSIGN(const Bytes n, part_of(item, "n"));
    ASSAY_ASSIGN(const Bytes e, part_of(item, "e"));
    ASSAY_ASSIGN(attestation::PublicKey key, attestation::PublicKey::from_rsa({n, e}));
    return Key(std::move(key));
  }
  return Key();
}

Result<std::vector<TrustedKey>> read_jwks(const std::string& path, const SigningContext& context) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
  ASSAY_ASSIGN(const Json json, parse_json(ByteView(bytes)));
  std::vector<TrustedKey> keys;
  for (const Json& item : client::list_at(json, "keys")) {
    auto key = key_in_set(item);
    if (!key) {
      return fail(ErrorCode::kInvalidEncoding, "The key set holds a malformed key", path);
    }
    if (!*key) {
      continue;
    }
    keys.push_back(trust_fully(**key, context));
    if (item.contains("not_after")) {
      ASSAY_ASSIGN(keys.back().not_after, parse_rfc3339(client::text_at(item, "not_after")));
    }
  }
  if (keys.empty()) {
    return fail(ErrorCode::kUsage, "The file holds no keys that are used here", path);
  }
  return keys;
}

}  // namespace

namespace {

Result<std::unique_ptr<Signer>> load_from_token(const std::string& text,
                                                const std::string& passphrase_file) {
  ASSAY_ASSIGN(const attestation::pkcs11::Uri uri, attestation::pkcs11::parse_uri(text));
  SecretBytes pin;
  if (uri.pin_source.empty()) {
    ASSAY_ASSIGN(pin, read_passphrase(passphrase_file,
                                      "PIN for " + attestation::pkcs11::path_of(uri), false));
  }
  return attestation::pkcs11::load_token_key(text, pin);
}

}  // namespace

void add_signing_options(const Command& verb, SigningFlags& flags, bool required) {
  verb.option(
      "--key", flags.keys, "FILE",
      "private key to sign with: a file, or a pkcs11: URI (docs/keys.md); may be given again for "
      "more signatures");
  if (required) {
    verb.required();
  }
  verb.option(
      "--passphrase-file", flags.passphrase_file, "FILE",
      "file of mode 0600 with the passphrase of an encrypted key, or the PIN of a token; asked for "
      "on the terminal otherwise");
  verb.option("--keyid", flags.keyid, "FORM",
              "keyid of the signatures: none, sha256, ssh, tuf, or the text itself (default none, "
              "which other DSSE software takes; see docs/dsse.md)");
}

Result<std::unique_ptr<Signer>> load_signer(const std::string& path,
                                            const std::string& passphrase_file) {
  client::protect_process();
  if (attestation::pkcs11::is_uri(path)) {
    return load_from_token(path, passphrase_file);
  }
  bool encrypted = false;
  {
    ASSAY_ASSIGN(const SecretBytes pem, client::read_key_file(path));
    encrypted = attestation::is_encrypted_pem(as_text(pem.view()));
  }
  SecretBytes passphrase;
  if (encrypted) {
    ASSAY_ASSIGN(passphrase, read_passphrase(passphrase_file, "Passphrase of " + path, false));
  }
  return attestation::load_private_key(path, passphrase);
}

Result<std::vector<std::unique_ptr<Signer>>> load_signers(const SigningFlags& flags) {
  std::vector<std::unique_ptr<Signer>> signers;
  for (const std::string& path : flags.keys) {
    ASSAY_ASSIGN(std::unique_ptr<Signer> signer, load_signer(path, flags.passphrase_file));
    signers.push_back(std::move(signer));
  }
  return signers;
}

std::vector<const Signer*> borrow(const std::vector<std::unique_ptr<Signer>>& signers) {
  std::vector<const Signer*> borrowed;
  borrowed.reserve(signers.size());
  for (const auto& signer : signers) {
    borrowed.push_back(signer.get());
  }
  return borrowed;
}

Result<std::string> sign_payload(std::string_view payload_type, ByteView payload,
                                 std::span<const Signer* const> signers, std::string_view keyid) {
  ASSAY_ASSIGN(const PayloadKind kind, check_payload(payload_type, payload));
  const Payload own{kind, std::string(payload_type), Bytes(payload.begin(), payload.end())};
  ASSAY_TRY(check_envelope_length(own, nullptr, signers.size()));
  ASSAY_ASSIGN(const attestation::Envelope envelope,
               attestation::sign_envelope(payload_type, payload, signers, keyid));
  return attestation::encode_envelope(envelope);
}

Result<Exit> sign_and_write(const Context& context, const Statement& statement,
                            const SigningFlags& flags, const std::string& out, Json about) {
  ASSAY_ASSIGN(std::string document, encode_statement(statement));
  return sign_and_write(context, kStatementPayloadType, std::move(document), flags, out,
                        std::move(about));
}

Result<Exit> sign_and_write(const Context& context, std::string_view payload_type,
                            std::string document, const SigningFlags& flags, const std::string& out,
                            Json about) {
  const std::string id = attestation::statement_id(payload_type, as_bytes(document)).text();
  if (!flags.keys.empty()) {
    ASSAY_ASSIGN(const auto signers, load_signers(flags));
    ASSAY_ASSIGN(document,
                 sign_payload(payload_type, as_bytes(document), borrow(signers), flags.keyid));
  }
  document += "\n";
  if (out.empty() || out == "-") {
    print_document(document);
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(out, document));
  if (context.json()) {
    about["id"] = id;
    about["file"] = out;
    about["signed"] = !flags.keys.empty();
    print_json(about);
  } else {
    print_line(id);
    message(context, "wrote " + out);
  }
  return Exit::kYes;
}

Error about_public_key(Error error, std::string_view content, const std::string& path) {
  const auto advice = public_key_advice(content, path);
  return {error.code,
          advice
              ? *advice
              : std::move(error).detail +
                    "; a public key in PEM is expected, such as the .pub file of 'assay key new'",
          path};
}

void add_trust_options(const Command& verb, TrustFlags& flags) {
  verb.option("--key", flags.keys, "FILE",
              "public key (PEM) that is trusted for this; may be given again");
  verb.option("--trust", flags.trust, "FILE",
              "trusted keys with what each may say, as 'assay trust show -o json' prints them");
  verb.option("--threshold", flags.threshold, "N",
              "how many different identities must have signed (default 1)");
  verb.option("--at", flags.at, "TIME",
              "judge validity periods at this RFC 3339 time instead of now; a revoked key counts "
              "for nothing all the same");
}

namespace {

Result<attestation::TrustedRoots> roots_in(const Json& trust) {
  attestation::TrustedRoots roots;
  for (const Json& item : client::list_at(trust, "trusted_roots")) {
    ASSAY_ASSIGN(const std::string text, canonical_json(member_at(item, "document")));
    ASSAY_ASSIGN(auto root, attestation::sigstore::parse_trusted_root(as_bytes(text)));
    if (!roots.emplace(text_at(item, "name"), std::move(root)).second) {
      return fail(ErrorCode::kUsage, "The trust file has two trusted roots of one name",
                  text_at(item, "name"));
    }
  }
  return roots;
}

// `assay trust show -o json`, a bootstrap file and `assay key describe` have this form.
Result<TrustedSigners> read_trust_file(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
  ASSAY_ASSIGN(const Json json, parse_json(ByteView(bytes)));
  TrustedSigners trusted;
  if (json.is_object() && (json.contains("public_key") || json.contains("certificate"))) {
    ASSAY_ASSIGN(TrustedKey key, trusted_key_from_json(json));
    trusted.keys.push_back(std::move(key));
    return trusted;
  }
  const Json* list = json.is_array() ? &json : nullptr;
  if (json.is_object() && json.contains("keys") && json.at("keys").is_array()) {
    list = &json.at("keys");
  }
  if (list == nullptr) {
    return fail(ErrorCode::kUsage, "A trust file holds {\"keys\":[...]}", path);
  }
  for (const Json& item : *list) {
    ASSAY_ASSIGN(TrustedKey key, trusted_key_from_json(item));
    trusted.keys.push_back(std::move(key));
  }
  ASSAY_ASSIGN(trusted.roots, roots_in(json));
  return trusted;
}

}  // namespace

Result<TrustedSigners> load_trusted_signers(const TrustFlags& flags,
                                            const SigningContext& context) {
  if (!flags.jwks.empty() && flags.keys.empty() && flags.trust.empty() && flags.threshold > 0) {
    ASSAY_ASSIGN(auto keys, read_jwks(flags.jwks, context));
    return TrustedSigners{std::move(keys), {}};
  }
  if (!flags.jwks.empty() || flags.keys.empty() == flags.trust.empty()) {
    return fail(ErrorCode::kUsage,
                "Say whose signature counts: give --key with a public key, or --trust with a file "
                "of trusted keys");
  }
  if (flags.threshold == 0) {
    return fail(ErrorCode::kUsage, "The threshold must be 1 or more");
  }
  if (!flags.trust.empty()) {
    ASSAY_ASSIGN(TrustedSigners trusted, read_trust_file(flags.trust));
    if (trusted.keys.empty()) {
      return fail(ErrorCode::kUsage, "The trust file holds no keys", flags.trust);
    }
    return trusted;
  }
  TrustedSigners trusted;
  for (const std::string& path : flags.keys) {
    ASSAY_ASSIGN(TrustedKey key, pem_key(path, context));
    trusted.keys.push_back(std::move(key));
  }
  return trusted;
}

Result<JudgedAt> times_of(const TrustFlags& flags, const Clock& clock) {
  const Timestamp now = clock.now();
  if (flags.at.empty()) {
    return JudgedAt{now, now};
  }
  ASSAY_ASSIGN(const Timestamp at, parse_rfc3339(flags.at));
  return JudgedAt{at, std::max(at, now)};
}

Result<std::vector<attestation::VerifiedSignature>> check_signatures(
    const attestation::Envelope& envelope, const TrustedSigners& trusted,
    const SigningContext& context, std::uint64_t threshold, const JudgedAt& times) {
  ASSAY_ASSIGN(auto verified, attestation::verify_signatures(envelope, trusted.keys));
  ASSAY_ASSIGN(auto more, attestation::verify_certificates(envelope, trusted.keys, trusted.roots,
                                                           times.signed_at));
  std::ranges::move(more, std::back_inserter(verified));
  return attestation::require_signers(verified, context, threshold, times.signed_at, times.now);
}

Json signers_json(std::span<const attestation::VerifiedSignature> signatures) {
  Json list = Json::array();
  for (const attestation::VerifiedSignature& signature : signatures) {
    Json signer = {{"key_id", signature.key.id.text()}, {"identity", signature.key.identity}};
    if (signature.certificate) {
      signer["certificate"] = to_json(*signature.certificate);
    }
    list.push_back(std::move(signer));
  }
  return list;
}

}  // namespace assay::cli
