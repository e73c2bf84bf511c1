// SPDX-License-Identifier: Apache-2.0
#include "policy/releases.h"

#include <map>
#include <set>

namespace assay::policy {
namespace {

using Links = std::map<StatementId, ReleaseLink>;

std::optional<StatementId> parent_of(const Links& links, const StatementId& id) {
  const auto link = links.find(id);
  return link == links.end() ? std::nullopt : link->second.supersedes;
}

// The releases that count, and all that came before them.
std::set<StatementId> chain_of(const Links& links) {
  std::set<StatementId> chain;
  for (const auto& [id, link] : links) {
    std::optional<StatementId> next = link.counts ? std::optional(id) : std::nullopt;
    while (next && chain.insert(*next).second) {
      next = parent_of(links, *next);
    }
  }
  return chain;
}

}  // namespace

NewestRelease newest_release(std::span<const ReleaseLink> releases) {
  Links links;
  for (const ReleaseLink& release : releases) {
    links.emplace(release.id, release);
  }
  const std::set<StatementId> chain = chain_of(links);
  std::map<std::optional<StatementId>, StatementId> next;  // the release after each
  for (const StatementId& id : chain) {
    const auto [known, first] = next.emplace(parent_of(links, id), id);
    if (!first) {
      return {{}, std::pair(known->second, id)};
    }
  }
  for (const StatementId& id : chain) {
    if (!next.contains(id)) {
      return {id, {}};
    }
  }
  return {};
}

}  // namespace assay::policy
