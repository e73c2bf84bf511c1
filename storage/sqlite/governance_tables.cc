// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/governance_tables.h"

#include <algorithm>
#include <array>

#include "schemas/core/merkle.h"
#include "storage/sqlite/log_tables.h"

namespace assay::storage::sqlite {
namespace {

// Names of the documents in their table, and in the errors about them.
constexpr std::string_view kTrust = "trust";
constexpr std::string_view kPolicies = "policies";

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

Result<std::optional<std::string>> load_part(Connection& connection, std::string_view part) {
  Query query = connection.query(Sql::kGovernanceGet);
  ASSAY_ASSIGN(const bool found, query.bind(part).next());
  return found ? std::optional(std::string(as_text(query.view(0)))) : std::nullopt;
}

// Nullopt when neither is stored.
Result<std::optional<GovernanceDocuments>> load_documents(Connection& connection) {
  ASSAY_ASSIGN(auto trust, load_part(connection, kTrust));
  ASSAY_ASSIGN(auto policies, load_part(connection, kPolicies));
  if (!trust && !policies) {
    return std::nullopt;
  }
  return GovernanceDocuments{std::move(trust).value_or(""), std::move(policies).value_or("")};
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

Status store_governance(Connection& connection, const GovernanceDocuments& documents,
                        const std::optional<ChainHead>& before) {
  const GovernanceDigests digests = digests_of(documents);
  const auto put = [&](std::string_view part, const std::string& document) {
    return connection.query(Sql::kGovernancePut).bind(part).bind_borrowed(as_bytes(document)).run();
  };
  if (!before || before->state.trust != digests.trust) {
    ASSAY_TRY(put(kTrust, documents.trust));
  }
  return !before || before->state.policies != digests.policies ? put(kPolicies, documents.policies)
                                                               : Status();
}

Result<Governance> load_governance(Connection& connection) {
  ASSAY_ASSIGN(const auto documents, load_documents(connection));
  return documents ? Governance::from_documents(*documents) : Governance();
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

Result<Governance> governance_at(Connection& connection, const std::optional<ChainHead>& head) {
  ASSAY_ASSIGN(const auto documents, load_documents(connection));
  if (!head) {
    return documents ? Result<Governance>(fail(
                           ErrorCode::kDataLoss,
                           "keys, principals or policies are stored that no record of the log put "
                           "there; see docs/recovery.md"))
                     : Governance();
  }
  const auto differ = [](const char* what, std::string_view where) {
    return fail(ErrorCode::kDataLoss,
                std::string("the stored ") + what +
                    " differ from what the newest record of trust and policy in the log says: "
                    "somebody or something changed the database; see docs/recovery.md",
                std::string(where));
  };
  const GovernanceDigests digests = digests_of(documents.value_or(GovernanceDocuments{}));
  if (digests.trust != head->state.trust) {
    return differ(
        "keys, principals, appraisals, reference values, registrations, revocations or withdrawals",
        kTrust);
  }
  if (digests.policies != head->state.policies) {
    return differ("policies in force", kPolicies);
  }
  ASSAY_ASSIGN(Governance state, Governance::from_documents(*documents));
  state.set_head(*head);
  return state;
}

Result<std::shared_ptr<const Governance>> verified_governance(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored) {
  ASSAY_ASSIGN(const auto head, follow_chain(connection, state, anchored));
  ASSAY_ASSIGN(Governance governance, governance_at(connection, head));
  return std::make_shared<const Governance>(std::move(governance));
}

}  // namespace assay::storage::sqlite
