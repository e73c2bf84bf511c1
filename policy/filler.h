// SPDX-License-Identifier: Apache-2.0
// What init containers run that fill a volume with the model (PolicyDocument::fill_at_run).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/container_image.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// Returns the digest of a list of words. Workloads have it in the place of the list: a pod may have
// long lists, and secrets in them, and decisions keep workloads for ever.
[[nodiscard]] Digest run_list_digest(std::span<const std::string> list);

// Returns which lists (PolicyDocument::fillers) the policy compares with those of a container with
// this image.
struct BoundLists {
  bool command = false;
  bool args = false;
};
[[nodiscard]] BoundLists bound_lists(const PolicyDocument& policy, const std::string& image);

// Returns whether the image has one name (policy/volumes/volumes.h) with this digest.
[[nodiscard]] bool has_digest(const std::string& image, const std::string& digest);

// Returns in which list the init container differs from all that the policy lets its image run:
// "command", "args" or "command and args", of the entry with the fewest differences. Empty: in
// none, or the image has no entry. A list that is not known differs.
[[nodiscard]] std::string differing_list(const PolicyDocument& policy,
                                         const ContainerImage& container);

}  // namespace assay::policy
