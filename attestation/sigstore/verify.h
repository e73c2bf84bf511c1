// SPDX-License-Identifier: Apache-2.0
// Verifies a sigstore bundle offline.
// Source: https://github.com/sigstore/architecture-docs/blob/main/client-spec.md section 4
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attestation/keys.h"
#include "attestation/sigstore/artifact.h"
#include "attestation/sigstore/bundle.h"
#include "attestation/sigstore/identity.h"
#include "attestation/sigstore/trusted_root.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay::attestation::sigstore {

inline constexpr std::string_view kInTotoPayload = "application/vnd.in-toto+json";

// The signer is an identity in a certificate of the root's authorities.
struct Keyless {
  const TrustedRoot& root;
  const WantedIdentity& identity;
};

// Whether log entries and timestamps beside a managed key are verified.
enum class KeyEvidence : std::uint8_t {
  kRequired,   // at least one log entry; all entries and timestamps verify under `root`
  kNotLooked,  // the key alone counts; the result names no entry and no time
};

// The signer has a key that the caller knows.
struct ManagedKey {
  const PublicKey& key;
  KeyEvidence evidence;
  const TrustedRoot* root;  // not null for kRequired
};

struct VerifyOptions {
  std::variant<Keyless, ManagedKey> signer;
  // The artifact that must be signed: its bytes by a message signature, or one of the subjects of
  // an in-toto statement in an envelope. Null for any envelope: then the caller judges the payload,
  // and a message signature is refused.
  const Artifact* artifact = nullptr;
  // The present time. Nothing may have been signed after it (five minutes of difference between
  // clocks are allowed). It proves nothing about when a signature was made.
  Timestamp now;
};

enum class TimeSource : std::uint8_t { kLog, kTimestampAuthority };

// A time that was proven, and at which certificates were judged.
struct CountedTime {
  Timestamp time;
  TimeSource source;
  std::string name;  // address of the log or of the authority
};

struct CountedEntry {
  std::string log;      // its address
  std::uint64_t index;  // as the bundle says; that of the proof when nothing else is proven
  std::string kind;
  std::string version;
  bool is_proven;  // by an inclusion proof; else by the log's promise alone
};

struct VerifiedBundle {
  std::optional<Identity> identity;  // nothing for a managed key
  KeyId key_id;                      // of the key that signed
  std::vector<CountedTime> times;
  std::vector<CountedEntry> entries;
  std::optional<std::string> certificate_log;  // that vouches for the certificate
};

// Verifies a bundle, as client-spec.md section 4 says, and stricter where it leaves a choice:
// every log entry and every timestamp in the bundle must verify and count at its time; a
// certificate needs at least one entry and one proven time, and its path is valid at each of them;
// no certificate of the bundle is self-issued; version 0.3 has one certificate.
//
// Errors: identity-mismatch; artifact-mismatch; signing-time-missing; log-entry-missing;
// untrusted-signer when the bundle is signed with the other kind of key than is wanted, or without
// a message or envelope to compare; signature-invalid; unsupported-key for a key whose algorithm is
// not supported, or needs more of the artifact than was given; malformed-bundle; those of
// verify_timestamp(), verify_log_entry(), check_entry_body(), verify_scts(), verify_path() and
// WantedIdentity::check().
[[nodiscard]] Result<VerifiedBundle> verify_bundle(const Bundle& bundle,
                                                   const VerifyOptions& options);

}  // namespace assay::attestation::sigstore
