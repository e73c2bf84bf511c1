// SPDX-License-Identifier: Apache-2.0
// What init containers run that fill a volume with the model.
#include "policy/filler.h"

#include <string_view>

#include "policy/volumes/volumes.h"
#include "schemas/core/bytes.h"
#include "schemas/core/sha.h"

namespace assay::policy {
namespace {

using List = std::optional<std::vector<std::string>>;

bool differs(const List& wanted, const std::optional<Digest>& found) {
  return wanted && found != run_list_digest(*wanted);
}

}  // namespace

// Each word behind its length, so that no two lists have the same bytes.
Digest run_list_digest(std::span<const std::string> list) {
  std::string bytes;
  for (const std::string& word : list) {
    bytes += std::to_string(word.size()) + ":" + word;
  }
  return sha256(as_bytes(bytes));
}

bool has_digest(const std::string& image, const std::string& digest) {
  return has_one_name(image) && image.ends_with("@" + digest);
}

BoundLists bound_lists(const PolicyDocument& policy, const std::string& image) {
  BoundLists bound;
  for (const Filler& filler : policy.fillers) {
    if (has_digest(image, filler.image)) {
      bound.command = bound.command || filler.command;
      bound.args = bound.args || filler.args;
    }
  }
  return bound;
}

std::string differing_list(const PolicyDocument& policy, const ContainerImage& container) {
  constexpr std::string_view kBoth = "command and args";
  std::string fewest;
  for (const Filler& filler : policy.fillers) {
    if (!has_digest(container.image, filler.image)) {
      continue;
    }
    const bool command = differs(filler.command, container.command);
    const bool args = differs(filler.args, container.args);
    if (!command && !args) {
      return {};
    }
    if (fewest.empty() || fewest == kBoth) {
      fewest = command && args ? kBoth : command ? "command" : "args";
    }
  }
  return fewest;
}

}  // namespace assay::policy
