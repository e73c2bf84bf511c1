// SPDX-License-Identifier: Apache-2.0
// Transparency log proofs (https://c2sp.org/tlog-proof): a text that shows offline that an entry is
// in a log, with the log's checkpoint in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"

namespace assay {

struct TlogProof {
  LeafIndex index;
  std::vector<Digest> path;  // SHA-256, from the leaf's sibling upwards
  std::string checkpoint;    // the signed note, byte for byte
  bool operator==(const TlogProof&) const = default;
};

[[nodiscard]] std::string encode(const TlogProof& proof);
// Parses a proof without a line of extra data, which nothing signs. Verifies neither the path nor
// the note. Errors: proof-invalid for any other form.
[[nodiscard]] Result<TlogProof> parse_tlog_proof(std::string_view text);

}  // namespace assay
