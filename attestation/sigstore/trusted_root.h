// SPDX-License-Identifier: Apache-2.0
// The trusted root of a Sigstore deployment (trusted_root.json, version 0.1): its certificate
// authorities, logs and timestamp authorities, each with the time in which it counts. The caller
// brings the file; where it comes from is not this folder's concern.
// Source: https://github.com/sigstore/protobuf-specs, protos/sigstore_trustroot.proto
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/keys.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::attestation::sigstore {

inline constexpr std::size_t kMaxTrustedRootBytes = 1U << 20;
inline constexpr std::size_t kMaxAuthorities = 64;  // of each kind
inline constexpr std::size_t kMaxChain = 8;         // certificates of one authority
inline constexpr std::size_t kMaxLogKeyBytes = 4096;

// A closed range: both ends count.
struct TimeRange {
  Timestamp start;
  std::optional<Timestamp> end;

  [[nodiscard]] bool contains(Timestamp time) const {
    return time >= start && (!end || time <= *end);
  }
};

// A log of signatures (Rekor), or of certificates.
struct Log {
  std::string base_url;
  Bytes id;  // logId.keyId
  // Null when the algorithm is not supported: then nothing that this log signed counts.
  std::shared_ptr<const PublicKey> key;
  TimeRange valid_for;

  // Returns the host of base_url, with its port: the name under which the log signs checkpoints.
  [[nodiscard]] std::string_view host() const;
};

// An authority of certificates or of timestamps. The trust anchor is the self-issued certificate of
// its chain, or the last one when none is.
struct Authority {
  std::string uri;
  std::vector<x509::Certificate> anchors;
  std::vector<x509::Certificate> intermediates;  // CAs
  std::optional<x509::Certificate> leaf;         // of a timestamp authority: the one that signs
  TimeRange valid_for;
};

struct TrustedRoot {
  std::vector<Log> tlogs;
  std::vector<Log> ctlogs;
  std::vector<Authority> certificate_authorities;
  std::vector<Authority> timestamp_authorities;
};

// Parses a trusted root. Its media type must be that of version 0.1. Errors:
// malformed-trusted-root, also for an entry without the start of its validity, for one whose end is
// before its start, and for two logs of one kind with one id; unknown-member; limit-exceeded; those
// of parse_json() and Certificate::from_der().
[[nodiscard]] Result<TrustedRoot> parse_trusted_root(ByteView json);

}  // namespace assay::attestation::sigstore
