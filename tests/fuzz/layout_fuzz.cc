// SPDX-License-Identifier: Apache-2.0
// Layouts: a layout that is read is written as the same text, keeps its digest, and is checked
// against an artifact in bounded work. A layout that fits and is by the closed
// table uses every entry whole.
#include <cstdlib>

#include "schemas/core/dtype.h"
#include "schemas/core/sha.h"
#include "schemas/layout_check.h"
#include "tests/fuzz/round_trip.h"

namespace {

using namespace assay;

Artifact artifact() {
  Artifact made;
  const auto add = [&](const char* name, std::vector<std::uint64_t> shape) {
    const std::uint64_t size = tensor_size("F32", shape).value();
    made.entries.push_back(
        TensorEntry{name, "F32", std::move(shape), "f", 0, size, sha256(as_bytes(name))});
  };
  add("a", {4, 6});
  add("b", {4, 6});
  add("experts.0.w2.weight", {2, 2});
  add("k_proj.weight", {2, 4});
  add("q_proj.weight", {2, 4});
  add("v_proj.weight", {2, 4});
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  fuzz::check_round_trip(parse_layout, [](const Layout& layout) { return to_json(layout); }, bytes);
  const auto layout = parse_layout(bytes);
  if (!layout) {
    return 0;
  }
  static const Artifact kArtifact = artifact();
  const bool fits = check_layout(*layout, layout->artifact, kArtifact).empty();
  const bool by_table = is_by_table(*layout, kArtifact).has_value();
  if (fits && by_table) {
    std::uint64_t bytes_of_tensors = 0;
    for (const LayoutRank& rank : layout->ranks) {
      for (const LayoutTensor& tensor : rank.tensors) {
        bytes_of_tensors += element_count(tensor.shape).value();
      }
    }
    if (bytes_of_tensors != 24 + 24 + 4 + 8 + 8 + 8) {
      std::abort();
    }
  }
  return 0;
}
