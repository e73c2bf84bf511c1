// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/usage_tables.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "storage/sqlite/seals.h"
#include "storage/sqlite/statement_tables.h"

namespace assay::storage {

std::uint64_t counted_bytes(const StatementRow& row) {
  if (row.kind != StatementKind::kManifest) {
    return row.bytes;
  }
  std::uint64_t bytes = 0;
  for (const std::string& location : row.locations) {
    bytes += location.size();
  }
  return bytes;
}

std::vector<Topic> topics_of(const StatementRow& row) {
  std::vector<Topic> topics;
  const std::set<std::string> subjects(row.subjects.begin(), row.subjects.end());
  for (const std::string& subject : subjects) {
    topics.push_back({TopicKind::kArtifact, subject});
  }
  if (row.kind == StatementKind::kPolicy) {
    return topics;  // its name is none of a model
  }
  if (!row.name.empty()) {
    topics.push_back({TopicKind::kName, row.name});
  }
  for (const std::string& location : row.locations) {
    topics.push_back({TopicKind::kLocation, location});
  }
  return topics;
}

}  // namespace assay::storage

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kUsagePage = 1000;

// Identities of those keys that are trusted.
std::set<std::string> identities_of(const Governance& governance,
                                    const std::vector<SignerRow>& signers) {
  std::set<std::string> identities;
  for (const SignerRow& signer : signers) {
    if (const auto key = governance.key(signer.key)) {
      identities.insert(key->identity);
    }
  }
  return identities;
}

// A row: kind, topic, identity, statements, manifests, bytes.
constexpr int kCounts = 3;

SignerUsage usage_in(const Query& row) {
  return {row.count(kCounts), row.count(kCounts + 1), row.count(kCounts + 2)};
}

std::string usage_name(std::int64_t kind, std::string_view topic, std::string_view identity) {
  return seal_name({std::to_string(kind), topic, identity});
}

Status check_usage(Connection& connection, const Query& row) {
  return check_seal(connection, Sealed::kUsage,
                    usage_name(row.integer(0), row.text(1), row.text(2)),
                    {row.count(kCounts), row.count(kCounts + 1), row.count(kCounts + 2)});
}

Status put_usage(Connection& connection, const Topic& topic, const std::string& identity,
                 const SignerUsage& usage) {
  const auto kind = std::to_underlying(topic.kind);
  ASSAY_TRY(connection.query(Sql::kUsagePut)
                .bind(kind)
                .bind(topic.text)
                .bind(identity)
                .bind(usage.statements)
                .bind(usage.manifests)
                .bind(usage.bytes)
                .run());
  return keep_seal(connection, Sealed::kUsage, usage_name(kind, topic.text, identity),
                   {usage.statements, usage.manifests, usage.bytes});
}

void add(SignerUsage& usage, const StatementRow& row) {
  usage.statements += 1;
  usage.manifests += row.kind == StatementKind::kManifest ? 1 : 0;
  usage.bytes += counted_bytes(row);
}

}  // namespace

Result<SignerUsage> load_usage(Connection& connection, const Topic& topic,
                               const std::string& identity) {
  Query query = connection.query(Sql::kUsageGet);
  ASSAY_ASSIGN(const bool found,
               query.bind(std::to_underlying(topic.kind)).bind(topic.text).bind(identity).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kUsage,
                           usage_name(std::to_underlying(topic.kind), topic.text, identity)));
    return SignerUsage{};
  }
  ASSAY_TRY(check_usage(connection, query));
  return usage_in(query);
}

Status add_usage(Connection& connection, const Governance& governance, const StatementRow& row,
                 const std::vector<SignerRow>& signers, const std::vector<SignerRow>& known) {
  std::set<std::string> identities = identities_of(governance, signers);
  const std::set<std::string> before = identities_of(governance, known);
  std::erase_if(identities, [&](const std::string& one) { return before.contains(one); });
  for (const Topic& topic : topics_of(row)) {
    for (const std::string& identity : identities) {
      ASSAY_ASSIGN(SignerUsage usage, load_usage(connection, topic, identity));
      add(usage, row);
      ASSAY_TRY(put_usage(connection, topic, identity, usage));
    }
  }
  return {};
}

Result<std::uint64_t> check_usage_tags(Connection& connection, const WrongUsage& bad) {
  using Key = std::tuple<std::int64_t, std::string, std::string>;
  std::uint64_t all = 0;
  for (Key after;;) {
    Query query = connection.query(Sql::kUsageList);
    query.bind(std::get<0>(after))
        .bind(std::string_view(std::get<1>(after)))
        .bind(std::string_view(std::get<2>(after)))
        .bind(kUsagePage);
    std::size_t rows = 0;
    while (true) {
      ASSAY_ASSIGN(const bool row, query.next());
      if (!row) {
        break;
      }
      ++all;
      Key here{query.integer(0), query.text(1), query.text(2)};
      if (!check_usage(connection, query)) {
        bad(std::get<2>(here) + " about " + std::get<1>(here));
      }
      // Rows of a damaged page may be in no order.
      rows += here > after ? 1U : 0U;
      after = std::move(here);
    }
    if (rows < kUsagePage) {
      return all;
    }
  }
}

Status set_usage_aside(Connection& connection) {
  return connection.execute(
      "CREATE TEMP TABLE usage_before AS SELECT * FROM signer_usage;"
      "DELETE FROM signer_usage");
}

Result<std::uint64_t> recount_usage(Connection& connection, const Governance& governance) {
  ASSAY_TRY(connection.execute("DELETE FROM signer_usage"));
  std::optional<LeafIndex> after;
  while (true) {
    std::optional<LeafIndex> index;
    {
      Query query = connection.query(Sql::kStatementAt);
      ASSAY_ASSIGN(const bool found, query.bind(after ? *after + 1 : 0).next());
      index = found ? std::optional(query.count(0)) : std::nullopt;
    }
    if (!index) {
      break;
    }
    const auto row = load_statement_at(connection, *index);
    if (row) {
      ASSAY_TRY(add_usage(connection, governance, *row, row->signers, {}));
    } else if (!is_damage(row.error())) {
      return std::unexpected(row.error());
    }
    after = index;
  }
  ASSAY_ASSIGN(
      const std::int64_t others,
      connection.integer("SELECT count(*) FROM (SELECT kind, topic, identity FROM "
                         "(SELECT * FROM signer_usage EXCEPT SELECT * FROM usage_before) "
                         "UNION SELECT kind, topic, identity FROM "
                         "(SELECT * FROM usage_before EXCEPT SELECT * FROM signer_usage))"));
  ASSAY_TRY(connection.execute("DROP TABLE usage_before"));
  return static_cast<std::uint64_t>(others);
}

}  // namespace assay::storage::sqlite
