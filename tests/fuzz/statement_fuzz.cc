// SPDX-License-Identifier: Apache-2.0
// Statements: what is read is written, and reads back as the same; so do manifests (whose root must
// follow from their entries) and lifecycle, placement and release predicates inside.
#include <cstdlib>

#include "schemas/core/json_foreign.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/release.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_manifest(const Manifest& manifest) {
  const Statement statement = to_statement(manifest).value();
  const Manifest again = manifest_from(statement).value();
  require(again.artifact == manifest.artifact && again.name == manifest.name &&
          again.locations == manifest.locations && again.other_digests == manifest.other_digests);
  require(statement.subjects.front().artifact().has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto statement = parse_statement(ByteView(data, size));
  if (!statement) {
    return 0;
  }
  const auto text = encode_statement(*statement);
  if (!text) {
    // Integers that were kept apart would become something else.
    require(large_integers_as_text(statement->predicate) != statement->predicate);
    return 0;
  }
  const std::string& encoded = *text;
  const Statement again = parse_statement(as_bytes(encoded)).value();
  require(encode_statement(again).value() == encoded);
  if (const auto manifest = manifest_from(*statement)) {
    check_manifest(*manifest);
  }
  if (const auto placement = placement_from(*statement)) {
    const Placement written = placement_from(to_statement(*placement).value()).value();
    require(written.name == placement->name && written.artifact == placement->artifact &&
            written.locations == placement->locations);
  }
  if (const auto release = release_from(*statement)) {
    const Release written = release_from(to_statement(*release).value()).value();
    require(written.name == release->name && written.version == release->version &&
            written.artifact == release->artifact && written.supersedes == release->supersedes);
  }
  if (const auto lifecycle = lifecycle_from(*statement)) {
    const Statement written = to_statement(*lifecycle, statement->subjects).value();
    require(lifecycle_from(written).value().stage == lifecycle->stage);
  }
  return 0;
}
