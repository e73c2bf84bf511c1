// SPDX-License-Identifier: Apache-2.0
// The member `names` of a policy: which artifact a bare model name stands for. A bare name is a
// reference without an artifact id.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

enum class NameRule : std::uint8_t {
  kOnlyArtifact,  // the one artifact that is published under the name; several are ambiguous
  kRelease,       // the artifact of the newest release (schemas/release.h)
  kPinned,        // the artifact that the policy itself gives
  kNone,          // nothing: a reference needs an artifact id
};
[[nodiscard]] std::string_view name(NameRule rule);  // "only-artifact", "release", ...

struct NamePolicy {
  NameRule rule = NameRule::kOnlyArtifact;
  std::map<std::string, ArtifactId> pinned{};  // by model name; not empty exactly with kPinned
  bool operator==(const NamePolicy&) const = default;
};

// Reads the member `names` of a policy that was checked with its schema; absent means
// kOnlyArtifact. Errors: those of check_model_name();
// invalid-digest. Error::where is the place in the policy.
[[nodiscard]] Result<NamePolicy> names_from_json(const Json& policy);
// Writes the member; null for the default.
[[nodiscard]] Json to_json(const NamePolicy& names);

}  // namespace assay
