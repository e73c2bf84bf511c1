// SPDX-License-Identifier: Apache-2.0
// What a bill of materials is made from: signed statements, each with those who stand behind it.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/ids.h"
#include "schemas/statement.h"

namespace assay::bom {

// Somebody whose signature on a statement counts: the key is trusted for the statement and not
// revoked, and the signature is not withdrawn.
struct BomSigner {
  std::string identity;
  std::string key_id;
  std::string signed_at{};  // RFC 3339; empty: unknown
};

// A statement that is left out because nobody stands behind it any more.
struct LeftOut {
  std::string id;
  std::string why;
  bool operator==(const LeftOut&) const = default;
};

struct BomStatement {
  std::string id;
  Statement statement;
  std::vector<BomSigner> signers;  // at least one
  std::string accepted_at{};       // RFC 3339; empty: no service said so
  std::string log_index{};         // decimal; empty: no service said so
};

// Limits on one bill of materials. Beyond them there is none, rather than a part of one.
inline constexpr std::size_t kMaxBomStatements = 2000;
inline constexpr std::size_t kMaxBomThings = 2000;

}  // namespace assay::bom
