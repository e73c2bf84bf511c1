// SPDX-License-Identifier: Apache-2.0
// What a model was made from, as signed statements say it.
//
// A name is what binds a signer: a statement counts for a thing only if it calls the thing by a
// name that the thing already has. The model has the name that the caller asked for. Others have
// the names by which counted statements call their inputs. So a signer who is trusted for names of
// their own adds nothing to the models of others (docs/lineage.md, "Whose word counts").
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/bom/hashes.h"
#include "cli/bom/statements.h"

namespace assay::bom {

struct Thing {
  std::string role;                // "model" for the first; else of an input, or "dependency"
  std::vector<std::string> names;  // the first is what the document calls it; may be empty
  Digests digests;
  Digests stated{};                       // those without what manifests add
  std::vector<std::string> licences{};    // of counted statements, each once
  std::vector<std::size_t> statements{};  // those about it that count
  std::vector<std::size_t> made_from{};   // positions of things, ascending
  bool known = false;                     // a counted statement says how it came to be
};

struct Trace {
  std::vector<Thing> things;  // the model first
  // Statements of which something could not be read. What went into their subjects is not all here.
  std::vector<std::size_t> unread;
};

// Follows statements from the model upwards. Errors: limit-exceeded beyond kMaxBomStatements or
// kMaxBomThings.
[[nodiscard]] Result<Trace> trace(const std::string& name, const ArtifactId& artifact,
                                  std::span<const BomStatement> statements);

}  // namespace assay::bom
