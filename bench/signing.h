// SPDX-License-Identifier: Apache-2.0
// Keys that sign for benchmarks, and what ends one that cannot go on.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "attestation/dsse.h"
#include "attestation/keys.h"
#include "schemas/lifecycle.h"
#include "schemas/trust.h"

namespace assay::bench {

[[noreturn]] inline void stop(const assay::Error& error) {
  std::fprintf(stderr, "bench: %s\n", assay::to_string(error).c_str());
  std::exit(2);
}

template <typename T>
T must(assay::Result<T> result) {
  if (!result) {
    stop(result.error());
  }
  return *std::move(result);
}

struct Key {
  std::unique_ptr<assay::Signer> signer;
  assay::TrustedKey record;
};

inline Key make_key(assay::KeyPurpose purpose, const std::string& identity,
                    std::vector<assay::SignerRole> roles, assay::Timestamp now) {
  auto signer = must(assay::attestation::generate_key(assay::SignatureAlgorithm::kEd25519));
  assay::TrustedKey record{signer->key_id(),
                           signer->algorithm(),
                           signer->public_key(),
                           purpose,
                           identity,
                           std::move(roles),
                           now - std::chrono::hours(1),
                           now + std::chrono::hours(1000),
                           {}};
  return {std::move(signer), std::move(record)};
}

inline assay::Bytes sign(std::string_view type, std::string_view payload, const Key& key) {
  const assay::Signer* const signers[] = {key.signer.get()};
  const auto envelope =
      must(assay::attestation::sign_envelope(type, assay::as_bytes(payload), signers));
  return assay::to_bytes(assay::attestation::encode_envelope(envelope));
}

inline assay::SignerRole role(const std::string& stage) {
  return {stage, std::string(assay::kLifecyclePredicateType), "*"};
}

}  // namespace assay::bench
