// SPDX-License-Identifier: Apache-2.0
// What the appraisal of evidence rests on: the root certificate that its signatures lead to, or the
// plug-in that verified it. The two have forms of their own, so that the digest of a file can never
// be taken for that of a certificate.
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

  // Parses either text form. Errors: invalid-digest.
  [[nodiscard]] static Result<Anchor> parse(std::string_view text);
  // Reads what stored() returned. Errors: data-loss.
  [[nodiscard]] static Result<Anchor> from_stored(ByteView bytes);

  [[nodiscard]] bool is_plugin() const { return kind_ == Kind::kPlugin; }
  [[nodiscard]] const Digest& digest() const { return digest_; }
  [[nodiscard]] std::string text() const;
  // Returns the bytes to keep in a database: the digest of a root as it is, that of a plug-in
  // behind one byte, so that the two differ in length.
  [[nodiscard]] Bytes stored() const;

  bool operator==(const Anchor&) const = default;
  auto operator<=>(const Anchor&) const = default;

 private:
  enum class Kind : std::uint8_t { kRoot, kPlugin };
  Anchor(Kind kind, const Digest& digest) : kind_(kind), digest_(digest) {}

  Kind kind_;
  Digest digest_;
};

}  // namespace assay
