// SPDX-License-Identifier: Apache-2.0
// Types for ids that must not be mixed up. Each type wraps a digest or a number and converts only
// explicitly.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay {

// A digest that identifies a thing of one kind. `Tag` makes ids of different kinds different types.
template <typename Tag>
class DigestId {
 public:
  explicit DigestId(Digest digest) : digest_(std::move(digest)) {}

  // Parses "sha256:<hex>" or "sha384:<hex>". Errors: invalid-digest.
  [[nodiscard]] static Result<DigestId> parse(std::string_view text) {
    ASSAY_ASSIGN(Digest digest, Digest::parse(text));
    return DigestId(std::move(digest));
  }
  [[nodiscard]] const Digest& digest() const { return digest_; }
  [[nodiscard]] std::string text() const { return digest_.text(); }
  auto operator<=>(const DigestId&) const = default;

 private:
  Digest digest_;
};

// SHA-256 of a stored document's exact bytes.
using DocumentId = DigestId<struct DocumentTag>;
// SHA-256 of the DSSE pre-authentication encoding of (payloadType, payload).
using StatementId = DigestId<struct StatementTag>;
// SHA-256 of a public key's SubjectPublicKeyInfo DER.
using KeyId = DigestId<struct KeyTag>;

// Root of an artifact's assay-tree-v1. Text form: "assay-tree-v1-sha256:<hex>".
class ArtifactId {
 public:
  explicit ArtifactId(Digest root) : root_(std::move(root)) {}

  // Parses the text form. Plain "sha256:<hex>" is refused, because it means a hash of bytes.
  // Errors: invalid-digest.
  [[nodiscard]] static Result<ArtifactId> parse(std::string_view text);
  [[nodiscard]] const Digest& root() const { return root_; }
  [[nodiscard]] std::string text() const;
  // Returns "assay-tree-v1-sha256": the algorithm name in the digest map of an in-toto subject.
  [[nodiscard]] std::string digest_name() const;
  auto operator<=>(const ArtifactId&) const = default;

 private:
  Digest root_;
};

// Position in the log, from 0.
using LeafIndex = std::uint64_t;
// Number of leaves of the log.
using TreeSize = std::uint64_t;

}  // namespace assay

template <typename Tag>
struct std::hash<assay::DigestId<Tag>> {
  std::size_t operator()(const assay::DigestId<Tag>& id) const noexcept {
    return std::hash<assay::Digest>{}(id.digest());
  }
};

template <>
struct std::hash<assay::ArtifactId> {
  std::size_t operator()(const assay::ArtifactId& id) const noexcept {
    return std::hash<assay::Digest>{}(id.root());
  }
};
