// SPDX-License-Identifier: Apache-2.0
// Signatures, attestations and bills of materials that are attached to a manifest: by the referrers
// of OCI 1.1, and by the tags that cosign wrote before (sha256-HEX.sig, .att, .sbom).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/oci/source.h"

namespace assay::oci {

inline constexpr std::size_t kMaxReferrers = 256;                             // of one manifest
inline constexpr std::uint64_t kMaxAttached = std::uint64_t{16} << 20;        // bytes of one
inline constexpr std::uint64_t kMaxAttachedBytes = std::uint64_t{256} << 20;  // of all

// One document, as it was attached. Nobody has verified it.
struct Attached {
  // "sigstore-bundle", "oms", "dsse", "cosign", "statement", "cyclonedx", "spdx"; "other" has no
  // bytes: its type is only named.
  std::string kind;
  std::string media_type;
  Digest blob;
  Digest manifest;  // that carries it
  Digest subject;   // that it is attached to
  std::string via;  // "referrers" or the tag
  Bytes bytes{};
  std::string signature{};    // of cosign: base64
  std::string certificate{};  // of cosign: PEM, with its chain; may be empty
  std::string log_entry{};    // of cosign: JSON of its entry in Rekor; may be empty
};

// Returns everything that is attached, each blob once, in the order of the source. Errors:
// subject-mismatch for a referrer whose manifest names another subject, and for a signature of
// cosign about another manifest; malformed-json for a bundle, envelope or statement that is none;
// limit-exceeded; those of fetch_manifest() and fetch_blob().
[[nodiscard]] Result<std::vector<Attached>> find_attached(Source& source, const Digest& subject);

// Returns what comes after the number in the name of its file: "oms.model.sig", "dsse.json".
[[nodiscard]] std::string_view file_suffix(std::string_view kind);

}  // namespace assay::oci
