// SPDX-License-Identifier: Apache-2.0
// Checks that a layout (schemas/layout.h) fits an artifact, and whether it is one of those that
// count without a signature. Pure functions.
#pragma once

#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/layout.h"

namespace assay {

// A check stops after this many faults.
inline constexpr std::size_t kMaxLayoutFaults = 16;

// Returns what is wrong with a layout, in the order of the document, then of the entries. Empty:
// each tensor of the layout follows from entries of the artifact, and each byte of each tensor
// entry is used exactly once, but for the entries in `replicated` and `dropped`. `id` is that of
// the artifact. `where` of a fault is the JSON pointer of an expression or of a tensor, or the
// label (label_of()) of an entry. Codes:
// - artifact-mismatch: the layout is about another artifact;
// - layout-entry-unknown, layout-shape: see pieces_of() (schemas/layout_pieces.h);
// - layout-bytes-unused: bytes of an entry are in no tensor, and `dropped` does not name it;
// - layout-bytes-repeated: bytes of an entry are in several places, and `replicated` does not name
//   it, or the places share some of their bytes only;
// - layout-claim-wrong: an entry in `dropped` is used whole or is in `replicated`, too, or no byte
//   of an entry in `replicated` is in several places;
// - limit-exceeded: there are more pieces or steps than schemas/layout_pieces.h allows.
[[nodiscard]] std::vector<Error> check_layout(const Layout& layout, const ArtifactId& id,
                                              const Artifact& artifact);

// Returns whether a layout that check_layout() found no fault with does only what the closed table
// of schemas/layout.md allows: it renames, joins and stacks tensors by their names, and casts F32.
// Such a layout cannot give a tensor the meaning of another one. Errors: layout-not-by-table, with
// the JSON pointer of the first tensor, entry list or name that the table does not allow.
[[nodiscard]] Status is_by_table(const Layout& layout, const Artifact& artifact);

}  // namespace assay
