// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/sealed_lists.h"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <tuple>

#include "schemas/release.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

// A member of a list of signers, and the log index at which it became one: that of the record that
// names the signature, and never before the statement.
struct ListedSigner {
  ListedSigner(LeafIndex record, SignedBy by)
      : since(std::max(record, by.index)), signed_by(std::move(by)) {}

  LeafIndex since;
  SignedBy signed_by;
};

Bytes member_of(LeafIndex index) { return to_bytes(std::to_string(index) + "\n"); }

Bytes member_of(const ListedSigner& signer) {
  Bytes bytes = member_of(signer.signed_by.index);
  const ByteView key = signer.signed_by.key.digest().bytes();
  bytes.insert(bytes.end(), key.begin(), key.end());
  return bytes;
}

// The value of a list that had `before`, with one more member.
MapValue extended(const Connection& connection, const MapValue& before, ByteView member) {
  Bytes message = to_bytes("list\n");
  message.insert(message.end(), before.begin(), before.end());
  message.insert(message.end(), member.begin(), member.end());
  return seal_of(connection, message);
}

template <typename Member>
MapValue value_of(const Connection& connection, std::span<const Member> members) {
  MapValue value{};
  for (const Member& member : members) {
    value = extended(connection, value, member_of(member));
  }
  return value;
}

template <typename Member>
Status check(Connection& connection, Sealed kind, const std::string& name,
             std::span<const Member> members) {
  if (members.empty()) {
    return check_absent(connection, kind, name);
  }
  ASSAY_ASSIGN(const bool whole, connection.map().holds(map_name(connection, kind, name),
                                                        value_of(connection, members)));
  return whole ? Status()
               : fail(ErrorCode::kDataLoss,
                      "an index names other statements than were stored; see docs/recovery.md",
                      std::string(assay::storage::sqlite::name(kind)) + " " + name);
}

Status extend(Connection& connection, Sealed kind, const std::string& name, ByteView member) {
  const MapName entry = map_name(connection, kind, name);
  ASSAY_ASSIGN(const auto before, connection.map().find(entry));
  return connection.map().put(entry, extended(connection, before.value_or(MapValue{}), member));
}

// `sql` finds the first statement from ?2 on whose value is ?1.
Result<std::vector<LeafIndex>> all_with(Connection& connection, Sql sql, const std::string& value) {
  std::vector<LeafIndex> indices;
  for (LeafIndex from = 0;; from = indices.back() + 1) {
    Query query = connection.query(sql);
    ASSAY_ASSIGN(const bool found, query.bind(value).bind(from).next());
    if (!found) {
      return indices;
    }
    if (query.count(0) < from) {  // only a damaged index leads back
      return fail(ErrorCode::kDataLoss, "an index is not in the order of its rows", value);
    }
    indices.push_back(query.count(0));
  }
}

Result<std::vector<LeafIndex>> whole_list(Connection& connection, Sealed kind, Sql sql,
                                          const std::string& digest) {
  ASSAY_ASSIGN(auto members, all_with(connection, sql, digest));
  ASSAY_TRY(check(connection, kind, digest, std::span<const LeafIndex>(members)));
  return members;
}

// In the order in which they came.
void sort(std::vector<ListedSigner>& signers) {
  std::ranges::sort(signers, {}, [](const ListedSigner& signer) {
    return std::tie(signer.since, signer.signed_by);
  });
}

Result<std::vector<ListedSigner>> signers_in(Query& query) {
  std::vector<ListedSigner> signers;
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      sort(signers);
      return signers;
    }
    ASSAY_ASSIGN(Digest key, query.digest(1));
    signers.emplace_back(query.count(2), SignedBy{query.count(0), KeyId(std::move(key))});
  }
}

Status add_checked(Connection& connection, Sealed kind, const std::string& name, Query& query,
                   std::set<SignedBy>& found) {
  ASSAY_ASSIGN(const std::vector<ListedSigner> signers, signers_in(query));
  ASSAY_TRY(check(connection, kind, name, std::span<const ListedSigner>(signers)));
  for (const ListedSigner& signer : signers) {
    found.insert(signer.signed_by);
  }
  return {};
}

std::vector<SignedBy> list_of(const std::set<SignedBy>& found) {
  return {found.begin(), found.end()};
}

Result<std::set<SignedBy>> signed_under_name(Connection& connection, const std::string& name) {
  std::set<SignedBy> found;
  Query query = connection.query(Sql::kSignedUnder);
  ASSAY_TRY(add_checked(connection, Sealed::kSignedName, name, query.bind(name), found));
  return found;
}

Result<std::set<SignedBy>> released_under_name(Connection& connection, const std::string& name) {
  std::set<SignedBy> found;
  Query query = connection.query(Sql::kReleasesUnder);
  query.bind(name).bind(kReleasePredicateType);
  ASSAY_TRY(add_checked(connection, Sealed::kReleasedName, name, query, found));
  return found;
}

Status add_signed_place(Connection& connection, const std::string& place,
                        std::set<SignedBy>& found) {
  Query query = connection.query(Sql::kSignedAt);
  return add_checked(connection, Sealed::kSignedPlace, place, query.bind(place), found);
}

using Visit = std::function<Status(Sealed kind, const std::string& name)>;

Status each_once(const std::vector<std::string>& names, Sealed kind, const Visit& visit) {
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    ASSAY_TRY(visit(kind, name));
  }
  return {};
}

// Lists of statements that have it as a member.
Status lists_of_statement(const StatementRow& row, const Visit& visit) {
  ASSAY_TRY(each_once(row.subjects, Sealed::kAbout, visit));
  if (row.kind == StatementKind::kPolicy) {
    ASSAY_TRY(visit(Sealed::kNamedPolicy, row.name));
  }
  return each_once(row.inputs, Sealed::kMadeFrom, visit);
}

// Lists of signers that have its signers as members.
Status lists_of_signers(const StatementRow& row, const Visit& visit) {
  if (!row.name.empty() && row.kind == StatementKind::kManifest) {
    ASSAY_TRY(visit(Sealed::kSignedName, row.name));
  }
  if (!row.name.empty() && row.kind == StatementKind::kAttestation &&
      row.predicate_type == kReleasePredicateType) {
    ASSAY_TRY(visit(Sealed::kReleasedName, row.name));
  }
  return each_once(row.locations, Sealed::kSignedPlace, visit);
}

Status check_whole(Connection& connection, Sealed kind, const std::string& name) {
  std::set<SignedBy> ignored;
  const auto status = [](const auto& result) {
    return result ? Status() : std::unexpected(result.error());
  };
  switch (kind) {
    case Sealed::kAbout:
      return status(statements_about(connection, name));
    case Sealed::kMadeFrom:
      return status(statements_from(connection, name));
    case Sealed::kNamedPolicy:
      return status(policies_under(connection, name));
    case Sealed::kSignedName:
      return status(signed_under_name(connection, name));
    case Sealed::kReleasedName:
      return status(released_under_name(connection, name));
    default:
      return add_signed_place(connection, name, ignored);
  }
}

}  // namespace

Result<std::vector<LeafIndex>> statements_about(Connection& connection, const std::string& digest) {
  return whole_list(connection, Sealed::kAbout, Sql::kStatementBySubject, digest);
}

Result<std::vector<LeafIndex>> statements_from(Connection& connection, const std::string& digest) {
  return whole_list(connection, Sealed::kMadeFrom, Sql::kStatementByInput, digest);
}

Result<std::vector<LeafIndex>> policies_under(Connection& connection, const std::string& name) {
  return whole_list(connection, Sealed::kNamedPolicy, Sql::kPolicyByName, name);
}

Result<std::vector<SignedBy>> signed_under(Connection& connection, const std::string& name) {
  ASSAY_ASSIGN(const auto found, signed_under_name(connection, name));
  return list_of(found);
}

Result<std::vector<SignedBy>> releases_under(Connection& connection, const std::string& name) {
  ASSAY_ASSIGN(const auto found, released_under_name(connection, name));
  return list_of(found);
}

Result<std::vector<SignedBy>> signed_at(Connection& connection, const std::string& uri) {
  std::set<SignedBy> found;
  // `uri` itself and every place above it: what lies before each of its slashes.
  for (std::size_t end = uri.size(); end != std::string::npos && end > 0;
       end = uri.rfind('/', end - 1)) {
    ASSAY_TRY(add_signed_place(connection, uri.substr(0, end), found));
  }
  return list_of(found);
}

Status extend_lists(Connection& connection, const StatementRow& row, std::vector<SignerRow> signers,
                    Added added) {
  if (added == Added::kStatement) {
    ASSAY_TRY(lists_of_statement(row, [&](Sealed kind, const std::string& name) {
      return extend(connection, kind, name, member_of(row.log_index));
    }));
  }
  std::vector<ListedSigner> members;
  for (SignerRow& signer : signers) {
    members.emplace_back(signer.log_index, SignedBy{row.log_index, std::move(signer.key)});
  }
  sort(members);
  return lists_of_signers(row, [&](Sealed kind, const std::string& name) -> Status {
    for (const ListedSigner& member : members) {
      ASSAY_TRY(extend(connection, kind, name, member_of(member)));
    }
    return {};
  });
}

Status check_lists(Connection& connection, const StatementRow& row) {
  const Visit visit = [&](Sealed kind, const std::string& name) {
    return check_whole(connection, kind, name);
  };
  ASSAY_TRY(lists_of_statement(row, visit));
  return lists_of_signers(row, visit);
}

}  // namespace assay::storage::sqlite
