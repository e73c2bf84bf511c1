// SPDX-License-Identifier: Apache-2.0
// Verdicts on signed CBOR and on documents of reference values.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "attestation/corim/reference_document.h"
#include "attestation/cose/sign1.h"
#include "tests/attestation/support.h"
#include "tests/attestation/verdict_rows.h"
#include "tests/support/corim.h"

namespace assay::attestation::verdicts {
namespace {

using assay::test::code_of;
using assay::test::from_hex;
using assay::test::kAlgorithms;
using assay::test::signer;

// --- messages of the working group

Bytes base64url(const Json& text) {
  std::string padded = text.get<std::string>();
  padded.append((4 - padded.size() % 4) % 4, '=');
  return base64_decode_any(padded).value();
}

// The key of a vector; nullopt for a curve that is not supported here.
std::optional<PublicKey> key_of(const Json& vector) {
  const Json& key = vector["input"]["sign0"]["key"];
  if (key["crv"] == "P-256" || key["crv"] == "P-384" || key["crv"] == "P-521") {
    return std::move(PublicKey::from_point(base64url(key["x"]), base64url(key["y"]))).value();
  }
  if (key["crv"] != "Ed25519") {
    return std::nullopt;
  }
  Bytes der = from_hex("302a300506032b6570032100");
  const Bytes bytes = from_hex(key["x_hex"]);
  der.insert(der.end(), bytes.begin(), bytes.end());
  return std::move(PublicKey::from_der(der)).value();
}

Bytes message_of(const Json& vector) {
  std::string hex = vector["output"]["cbor"].get<std::string>();
  for (char& c : hex) {
    c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return from_hex(hex);
}

std::string judged(const std::string& name) {
  const Json vector = assay::test::load_vectors("cose/" + name + ".json");
  const auto message = cose::parse_sign1(message_of(vector));
  if (!message) {
    return code_of(message);
  }
  const auto key = key_of(vector);
  const Json external = vector["input"]["sign0"].value("external", Json(""));
  return key ? code_of(cose::verify_sign1(*message, *key, from_hex(external)))
             : "unsupported curve";
}

// --- documents of reference values

Bytes own_corim() {
  assay::test::CorimSpec spec;
  spec.triples = {{.digests = {{"mrtd", assay::test::sha384_of(1)}}}};
  return assay::test::make_corim(spec);
}

std::string own_json() {
  return Json{{"evidence_type", "tdx"},
              {"tag_id", "acme.example/json"},
              {"tag_version", 1},
              {"sets", {{{"label", "one"}, {"values", {{"mrtd", {std::string(96, 'a')}}}}}}}}
      .dump();
}

// Reads a document and verifies its signature, if it has one, by `key`.
std::string judged(ByteView bytes, const Signer& key) {
  const auto document = corim::read_reference_document(bytes);
  if (!document || !document->envelope) {
    return document ? "ok:unsigned" : code_of(document);
  }
  const PublicKey half = std::move(PublicKey::from_der(key.public_key())).value();
  return code_of(cose::verify_sign1(*document->envelope, half));
}

VerdictRow signed_by(SignatureAlgorithm algorithm) {
  const Signer& key = signer(algorithm);
  const Bytes bytes = corim::sign_reference_document(own_corim(), key).value();
  return {"CoRIM signed with " + std::string(name(algorithm)), "ok", judged(bytes, key)};
}

// The one place of `what` in a signed document changes in its last bit.
Bytes with_change(Bytes bytes, ByteView what) {
  const auto found = std::search(bytes.begin(), bytes.end(), what.begin(), what.end());
  found[static_cast<std::ptrdiff_t>(what.size()) - 1] ^= 1;
  return bytes;
}

}  // namespace

VerdictRows cose_messages() {
  // RFC 9052 allows the algorithm in the unprotected header (sign-pass-01), where anybody can
  // change it; here it counts from the protected header alone. The tag is optional (sign-pass-03).
  const std::vector<std::pair<const char*, const char*>> expected = {
      {"ecdsa-sig-01", "ok"},                 // ES256
      {"ecdsa-sig-02", "ok"},                 // ES384
      {"ecdsa-sig-03", "ok"},                 // ES512
      {"ecdsa-sig-04", "signature-invalid"},  // ES512 with a P-256 key
      {"eddsa-sig-01", "ok"},                 // Ed25519
      {"eddsa-sig-02", "unsupported curve"},  // Ed448
      {"sign-pass-01", "malformed-cose"},
      {"sign-pass-02", "ok"},
      {"sign-pass-03", "ok"},
      {"sign-fail-01", "malformed-cose"},     // another tag
      {"sign-fail-02", "signature-invalid"},  // another payload
      {"sign-fail-03", "malformed-cose"},     // an algorithm that does not exist
      {"sign-fail-04", "malformed-cose"},     // an algorithm named by a text
      {"sign-fail-06", "signature-invalid"},  // a protected parameter more
      {"sign-fail-07", "signature-invalid"},  // a protected parameter less
      {"ecdsa-01", "malformed-cose"},         // COSE_Sign
      {"ecdsa-02", "malformed-cose"},
      {"ecdsa-03", "malformed-cose"},
      {"ecdsa-04", "malformed-cose"},
      {"eddsa-01", "malformed-cose"},
      {"eddsa-02", "malformed-cose"}};
  VerdictRows rows;
  for (const auto& [name, code] : expected) {
    rows.push_back({name, code, judged(name)});
  }
  return rows;
}

VerdictRows foreign_reference_documents() {
  VerdictRows rows;
  for (const char* name :
       {"cca-endorsements.cbor", "cca-realm-endorsements.cbor", "psa-endorsements.cbor"}) {
    const auto path = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/corim" / name;
    const Bytes bytes = to_bytes(assay::test::read_file(path));
    rows.push_back(
        {name, "reference-class-mismatch", judged(bytes, signer(SignatureAlgorithm::kEd25519))});
  }
  return rows;
}

VerdictRows own_reference_documents() {
  const Signer& key = signer(SignatureAlgorithm::kEcdsaP256);
  const Bytes plain = own_corim();
  const Bytes good = corim::sign_reference_document(plain, key).value();
  const Bytes json = to_bytes(own_json());
  const Bytes signed_json = corim::sign_reference_document(json, key).value();
  const Bytes other_type = cose::sign1(plain, {"application/cbor"}, key).value();
  const Bytes digest = assay::test::sha384_of(1);
  VerdictRows rows;
  for (const SignatureAlgorithm algorithm : kAlgorithms) {
    rows.push_back(signed_by(algorithm));
  }
  const auto add = [&](const char* what, const char* expected, ByteView bytes, const Signer& by) {
    rows.push_back({what, expected, judged(bytes, by)});
  };
  add("CoRIM, not signed", "ok:unsigned", plain, key);
  add("JSON form, signed", "ok", signed_json, key);
  add("JSON form, not signed", "ok:unsigned", json, key);
  add("by another key", "signature-invalid", good, signer(SignatureAlgorithm::kEcdsaP256, 1));
  add("by a key of another algorithm", "signature-invalid", good,
      signer(SignatureAlgorithm::kEd25519));
  add("a value changed", "signature-invalid", with_change(good, digest), key);
  add("the last byte missing", "malformed-cbor", ByteView(good).first(good.size() - 1), key);
  add(
      "a byte more", "malformed-cbor",
      [&] {
        Bytes more = good;
        more.push_back(0);
        return more;
      }(),
      key);
  add("signed as another content type", "malformed-cose", other_type, key);
  add("signed twice", "malformed-cose",
      cose::sign1(good, {std::string(corim::kSignedType)}, key).value(), key);
  return rows;
}

}  // namespace assay::attestation::verdicts
