// SPDX-License-Identifier: Apache-2.0
// Which anchor of evidence a condition accepts. Internal to policy.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "schemas/anchor.h"

namespace assay::policy {

// Returns true for the vendor's anchor and for those that the condition names, by their text forms.
// A plug-in and the keys of a verifier elsewhere are nobody's root, whatever the fact says of the
// vendor, so they count only when named.
[[nodiscard]] inline bool accepts_anchor(const std::vector<std::string>& named,
                                         const std::optional<Anchor>& anchor, bool is_vendor) {
  if (!anchor) {
    return false;
  }
  return (is_vendor && anchor->is_root()) ||
         std::find(named.begin(), named.end(), anchor->text()) != named.end();
}

}  // namespace assay::policy
