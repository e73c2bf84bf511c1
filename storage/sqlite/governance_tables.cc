// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/governance_tables.h"

#include <algorithm>
#include <array>

#include "schemas/core/merkle.h"
#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/log_tables.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/trust_tables.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kKeptStates = 16;

struct Link {
  Digest leaf;
  ChainLink link;
};

std::unexpected<Error> broken(LeafIndex index) {
  return fail(ErrorCode::kDataLoss,
              "the chain of trust and policy records is broken; see docs/recovery.md",
              "log record " + std::to_string(index));
}

Result<std::optional<LeafIndex>> newest_record(Connection& connection, TreeSize size) {
  std::optional<LeafIndex> newest;
  for (const std::string_view type :
       {event::kTrustBootstrapped, event::kTrustChanged, event::kPolicyActivated,
        event::kPolicyDeactivated, event::kStatementWithdrawn}) {
    Query query = connection.query(Sql::kRecordLastOfType);
    ASSAY_ASSIGN(const bool found, query.bind(type).next());
    if (found && query.count(0) < size) {
      newest = std::max(newest.value_or(0), query.count(0));
    }
  }
  return newest;
}

// The record, proven to be in the tree of `state`.
Result<Link> load_link(Connection& connection, const LogState& state, LeafIndex index) {
  ASSAY_ASSIGN(const Bytes bytes, load_record(connection, index));
  Digest leaf = merkle_leaf(HashAlgorithm::kSha256, bytes);
  ASSAY_ASSIGN(const auto ranges, inclusion_ranges(index, state.size));
  ASSAY_ASSIGN(const auto path, load_ranges(connection, ranges));
  if (!verify_inclusion(leaf, index, state.size, path, state.root)) {
    return broken(index);
  }
  const auto record = parse_log_record(bytes);
  if (!record) {
    return broken(index);
  }
  ASSAY_ASSIGN(ChainLink link, link_of(*record));
  return Link{std::move(leaf), std::move(link)};
}

}  // namespace

Result<Governance> load_governance(Connection& connection) {
  Governance rows;
  ASSAY_ASSIGN(const auto keys, load_keys(connection));
  for (const TrustedKey& key : keys) {
    ASSAY_TRY(rows.put_key(key));
  }
  ASSAY_ASSIGN(const auto principals, load_principals(connection));
  for (const Principal& principal : principals) {
    ASSAY_TRY(rows.put_principal(principal));
  }
  ASSAY_ASSIGN(const auto appraisals, load_appraisals(connection));
  for (const Appraisal& appraisal : appraisals) {
    ASSAY_TRY(rows.put_appraisal(appraisal));
  }
  ASSAY_ASSIGN(const auto tags, load_reference_tags(connection));
  for (const ReferenceTag& tag : tags) {
    ASSAY_TRY(rows.put_reference_tag(tag));
  }
  ASSAY_ASSIGN(const auto registrations, load_registrations(connection));
  for (const Registration& registration : registrations) {
    ASSAY_TRY(rows.put_registration(registration));
  }
  ASSAY_ASSIGN(const auto revoked, load_revoked_nodes(connection));
  for (const auto& [name, revocation] : revoked) {
    rows.revoke_node(name, revocation);
  }
  ASSAY_ASSIGN(const auto withdrawals, load_withdrawals(connection));
  for (const Withdrawn& withdrawn : withdrawals) {
    ASSAY_TRY(rows.put_withdrawal(withdrawn));
  }
  ASSAY_ASSIGN(const auto policies, load_active_policies(connection));
  for (const ActivePolicyRow& policy : policies) {
    ASSAY_TRY(rows.activate_policy(policy));
  }
  ASSAY_ASSIGN(const Epochs epochs, load_epochs(connection));
  ASSAY_TRY(rows.set_epochs(epochs));
  return rows;
}

Result<std::optional<ChainHead>> follow_chain(Connection& connection, const LogState& state,
                                              const std::optional<ChainHead>& anchored) {
  ASSAY_ASSIGN(const auto newest, newest_record(connection, state.size));
  if (anchored && (!newest || *newest < anchored->index)) {
    return fail(ErrorCode::kStoreBehindAnchor,
                "the newest change of trust or policy at the anchor is not in the log");
  }
  if (!newest) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const Link newest_link, load_link(connection, state, *newest));
  const ChainHead head{*newest, newest_link.leaf, newest_link.link.state};
  LeafIndex index = *newest;
  Link current = newest_link;
  bool passed = !anchored;
  for (;;) {
    passed = passed || (index == anchored->index && current.leaf == anchored->leaf &&
                        current.link.state == anchored->state);
    if (!current.link.previous) {
      break;
    }
    const auto [previous, leaf] = *current.link.previous;
    if (previous >= index) {
      return broken(index);
    }
    ASSAY_ASSIGN(current, load_link(connection, state, previous));
    if (current.leaf != leaf) {
      return broken(previous);
    }
    index = previous;
  }
  if (!passed) {
    return fail(ErrorCode::kStoreBehindAnchor,
                "the chain of trust and policy does not pass through the record at the anchor");
  }
  return std::optional(head);
}

Status check_governance(const Governance& rows, const std::optional<ChainHead>& head) {
  constexpr const char* kWhat =
      " differ from what the newest record of trust and policy in the log says: somebody or "
      "something changed the database; see docs/recovery.md";
  if (!head) {
    return rows.empty() ? Status()
                        : fail(ErrorCode::kDataLoss,
                               "keys, principals or policies are stored that no record of the log "
                               "put there; see docs/recovery.md");
  }
  ASSAY_ASSIGN(const GovernanceDigests digests, rows.digests());
  if (digests.trust != head->state.trust) {
    return fail(ErrorCode::kDataLoss,
                std::string("the stored keys, principals, appraisals, reference values, "
                            "registrations, revocations or withdrawals") +
                    kWhat,
                "trust");
  }
  if (digests.policies != head->state.policies) {
    return fail(ErrorCode::kDataLoss, std::string("the stored policies in force") + kWhat,
                "policies");
  }
  return {};
}

Result<std::shared_ptr<const Governance>> verified_governance(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored) {
  ASSAY_ASSIGN(const auto head, follow_chain(connection, state, anchored));
  ASSAY_ASSIGN(Governance rows, load_governance(connection));
  ASSAY_TRY(check_governance(rows, head));
  if (head) {
    rows.set_head(*head);
  }
  return std::make_shared<const Governance>(std::move(rows));
}

GovernanceHistory::GovernanceHistory(TreeSize size, std::shared_ptr<const Governance> first) {
  entries_.push_back({size, std::move(first)});
}

void GovernanceHistory::publish(TreeSize size, std::shared_ptr<const Governance> state) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({size, std::move(state)});
  if (entries_.size() > kKeptStates) {
    entries_.erase(entries_.begin());
  }
}

void GovernanceHistory::withdraw(const std::shared_ptr<const Governance>& state) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() > 1 && entries_.back().state == state) {
    entries_.pop_back();
  }
}

std::shared_ptr<const Governance> GovernanceHistory::at(TreeSize size) const {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->from <= size) {
      return entry->state;
    }
  }
  return nullptr;
}

}  // namespace assay::storage::sqlite
