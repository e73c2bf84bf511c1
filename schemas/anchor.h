// SPDX-License-Identifier: Apache-2.0
// What the appraisal of evidence rests on: the root certificate that its signatures lead to, the
// plug-in that verified it, or the keys of the verifier elsewhere whose result it is. Each has a
// form of its own, so that the digest of a file can never be taken for that of a certificate.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay {

class Anchor {
 public:
  // A root certificate, by the digest of its DER. Text form: "sha256:<hex>".
  [[nodiscard]] static Anchor root(Digest certificate) { return {Kind::kRoot, certificate}; }
  // A verifier that is loaded from a file, by the SHA-256 of the file. Text form: "plugin:<hex>".
  [[nodiscard]] static Anchor plugin(Digest file) { return {Kind::kPlugin, file}; }

  // A verifier elsewhere, by the SHA-256 of the JCS of its pinned key set. Text form: "jwks:<hex>".
  [[nodiscard]] static Anchor key_set(Digest keys) { return {Kind::kKeySet, keys}; }

  // Parses any of the text forms. Errors: invalid-digest.
  [[nodiscard]] static Result<Anchor> parse(std::string_view text);
  // Reads what stored() returned. Errors: data-loss.
  [[nodiscard]] static Result<Anchor> from_stored(ByteView bytes);

  [[nodiscard]] bool is_root() const { return kind_ == Kind::kRoot; }
  [[nodiscard]] bool is_plugin() const { return kind_ == Kind::kPlugin; }
  [[nodiscard]] const Digest& digest() const { return digest_; }
  [[nodiscard]] std::string text() const;
  // Returns the bytes to keep in a database: the digest of a root as it is, any other
  // behind a byte that says what it is, so that they differ in length.
  [[nodiscard]] Bytes stored() const;

  bool operator==(const Anchor&) const = default;
  auto operator<=>(const Anchor&) const = default;

 private:
  enum class Kind : std::uint8_t { kRoot, kPlugin, kKeySet };
  Anchor(Kind kind, const Digest& digest) : kind_(kind), digest_(digest) {}

  Kind kind_;
  Digest digest_;
};

}  // namespace assay
