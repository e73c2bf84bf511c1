// SPDX-License-Identifier: Apache-2.0
// One valid document of each type; tests change one thing in it.
#pragma once

#include <string>

#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/trust.h"
#include "tests/support/cut_file.h"
#include "tests/support/vectors.h"

namespace assay::test {

inline Digest digest_of(std::string_view text) { return sha256(as_bytes(text)); }
inline Timestamp at(const char* text) { return *parse_rfc3339(text); }

// SubjectPublicKeyInfo of an Ed25519 key with these bytes.
inline Bytes ed25519_spki(ByteView key) {
  Bytes spki = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
  spki.insert(spki.end(), key.begin(), key.end());
  return spki;
}

inline Manifest sample_manifest() {
  Manifest manifest;
  manifest.name = "acme/demo-llm";
  const TensorEntry tensor{"t", "U8", {3}, "b.safetensors", 61, 3, digest_of("t")};
  manifest.artifact.entries = {
      FileEntry{"a.bin", 9000, digest_of("a")},
      cut_file("b.safetensors", 64, {CutFormat::kSafetensors, 61, digest_of("header")}, {tensor}),
      tensor};
  manifest.artifact.parameters.ignore = {"*.tmp", "/.git"};
  manifest.locations = {"pvc://serving/models/demo-llm"};
  manifest.other_digests = {{"sha512", std::string(128, 'c')}};
  return manifest;
}

inline Lifecycle sample_lifecycle() {
  Lifecycle lifecycle;
  lifecycle.stage = "finetune";
  lifecycle.inputs = {{"base-model", "acme/base", {{"assay-tree-v1-sha256", std::string(64, '1')}}},
                      {"dataset", "", {{"sha256", std::string(64, '2')}}}};
  lifecycle.parameters = {{"epochs", 3}, {"tool", {{"name", "trainer"}}}};
  lifecycle.metrics = {{"eval/accuracy", {0.91, "1"}}};
  lifecycle.freshness = Json{{"challenge", std::string(64, '3')}};
  lifecycle.comment = "second run";
  return lifecycle;
}

inline std::vector<Subject> sample_subjects() {
  return {{"acme/demo-llm", {{"assay-tree-v1-sha256", std::string(64, '4')}}}};
}

inline TrustedKey sample_key(KeyPurpose purpose = KeyPurpose::kSigner, std::uint8_t seed = 7) {
  const Bytes der = ed25519_spki(Bytes(32, seed));
  return {KeyId(sha256(der)),
          SignatureAlgorithm::kEd25519,
          der,
          purpose,
          "eval-team@acme.example",
          {{"evaluate", std::string(kLifecyclePredicateType), "acme"}},
          at("2026-01-01T00:00:00Z"),
          at("2027-01-01T00:00:00Z"),
          std::nullopt};
}

inline Principal sample_principal() {
  return {"ci",
          {AccessRole::kSubmitter, AccessRole::kReader},
          {{CredentialKind::kToken, digest_of("token")},
           {CredentialKind::kClientCertificate, digest_of("spki")}},
          at("2027-01-01T00:00:00Z")};
}

inline Bytes bytes_of(const Json& json) { return to_bytes(json.dump()); }

}  // namespace assay::test
