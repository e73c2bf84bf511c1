// SPDX-License-Identifier: Apache-2.0
// Computes which roots the tensors of a layout (schemas/layout.h) must have, from the files of the
// model on this node. Computed tensors are hashed block by block and never stored, by the engine
// that has the bytes (gpu_hash/derive.h).
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/artifact.h"
#include "schemas/layout.h"
#include "worker/recipe/verified_entries.h"

namespace assay::worker {

// Returns the roots of the tensors, by rank and position. check_layout() must have found no fault.
// A tensor that is an entry with unchanged bytes takes the root from the manifest, and no file is
// read. `room` is at most that of the engine; the parts of it are multiples of kEntryWindow.
// Errors: content-mismatch with the label of an entry whose bytes are not those of the manifest;
// those of EntryBytes::region(), pieces_of() and the engine; cancelled.
[[nodiscard]] Result<std::vector<std::vector<Digest>>> expected_roots(
    const Layout& layout, const Artifact& artifact, EntryBytes& bytes, gpu_hash::Engine& engine,
    const std::stop_token& stop, const std::optional<gpu_hash::DeriveRoom>& room = {});

}  // namespace assay::worker
