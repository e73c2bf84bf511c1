// SPDX-License-Identifier: Apache-2.0
// Finds the newest release of a model name. The releases of a name (schemas/release.h) form a
// chain, because each names the release before it.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "schemas/core/ids.h"

namespace assay::policy {

// One release. A release counts when it is not withdrawn and its signers are believed. A release
// that does not count only joins the releases before and after it.
struct ReleaseLink {
  StatementId id;
  std::optional<StatementId> supersedes;
  bool counts;
};

// At most one member is set. Neither is set when no release counts.
struct NewestRelease {
  std::optional<StatementId> id;                            // the newest release that counts
  std::optional<std::pair<StatementId, StatementId>> fork;  // two releases in one place, ascending
};

// Returns the newest of the releases that count. The releases that count and those before them must
// form one chain; a second release in the same place, or a second first release, is a fork. Other
// releases are ignored: a release that does not count makes no fork, unless one that counts follows
// it. A release that `supersedes` names but `releases` lacks is taken for a first release that does
// not count. The order of `releases` does not matter.
[[nodiscard]] NewestRelease newest_release(std::span<const ReleaseLink> releases);

}  // namespace assay::policy
