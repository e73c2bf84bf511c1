// SPDX-License-Identifier: Apache-2.0
// What callers may get wrong is refused here before the tables' own constraints would: those count
// as faults of the database, and undo the whole write.
#include "storage/sqlite/node_tables.h"

#include <map>

#include "storage/sqlite/columns.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/sealed_rows.h"
#include "storage/sqlite/versions.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kNonceBytes = 32;
constexpr std::size_t kMaxLimit = 1000;
// How long an expired nonce is still known as used or expired; after that it is unknown.
constexpr std::chrono::hours kRemember{24};
// Nonces that one new one makes forgotten: more than one, so that the table shrinks, and few, so
// that a write stays short.
constexpr int kForgetAtOnce = 16;

std::unexpected<Error> misplaced(const std::string& node) {
  return fail(ErrorCode::kDataLoss, "an index names another node than it should", node);
}

Result<std::optional<ChallengeRow>> find_challenge(Connection& connection, ByteView nonce) {
  Query query = connection.query(Sql::kChallengeGet);
  ASSAY_ASSIGN(const bool found, query.bind(nonce).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kChallenge, hex_encode(nonce)));
    return std::nullopt;
  }
  ASSAY_TRY(check_seal(connection, Sealed::kChallenge, hex_encode(nonce), query));
  return ChallengeRow{.nonce = Bytes(nonce.begin(), nonce.end()),
                      .principal = query.text(0),
                      .purpose = query.text(1),
                      .node = query.text(2),
                      .job = query.text(3),
                      .expires_at = query.time(4),
                      .used_at = optional_time(query, 5),
                      .issued_at = query.time(6)};
}

Result<std::optional<NodeRow::Measured>> measured_from(const Query& query) {
  ASSAY_ASSIGN(auto appraisal, optional_id<DocumentId>(query, 11));
  if (!appraisal) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(Anchor anchor, Anchor::from_stored(query.view(15)));
  return NodeRow::Measured{.appraisal = *std::move(appraisal),
                           .appraised_at = query.time(12),
                           .evidence_type = query.text(13),
                           .tcb_status = query.text(14),
                           .anchor = std::move(anchor),
                           .anchor_is_vendor = query.integer(16) != 0};
}

Result<NodeRow> node_from(Connection& connection, const Query& query) {
  ASSAY_TRY(check_seal(connection, Sealed::kNode, query.text(0), query));
  ASSAY_ASSIGN(Digest key, query.digest(2));
  ASSAY_ASSIGN(Digest enrolment, query.digest(10));
  ASSAY_ASSIGN(Json devices, json_column(query, 9));
  ASSAY_ASSIGN(Json device_evidence, json_column(query, 25));
  ASSAY_ASSIGN(auto measured, measured_from(query));
  std::optional<Revocation> revoked;
  if (!query.is_null(7)) {
    revoked = Revocation{query.time(7), query.text(8)};
  }
  std::optional<Revocation> ended;
  if (!query.is_null(19)) {
    ended = Revocation{query.time(19), query.text(20)};
  }
  return NodeRow{.name = query.text(0),
                 .principal = query.text(1),
                 .key = KeyId(std::move(key)),
                 .public_key = query.bytes(3),
                 .platform = query.text(4),
                 .enrolled_at = query.time(5),
                 .held_since = query.time(24),
                 .expires_at = query.time(6),
                 .revoked = std::move(revoked),
                 .devices = std::move(devices),
                 .enrolment = DocumentId(std::move(enrolment)),
                 .measured = std::move(measured),
                 .log_index = query.count(17),
                 .registration = query.text(18),
                 .ended = std::move(ended),
                 .superseded = {query.count(21), optional_time(query, 22), query.text(23)},
                 .device_evidence = std::move(device_evidence)};
}

Result<std::optional<NodeRow>> find_node(Connection& connection, const std::string& name) {
  Query query = connection.query(Sql::kEnrolledGet);
  ASSAY_ASSIGN(const bool found, query.bind(name).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kNode, name));
    return std::nullopt;
  }
  ASSAY_ASSIGN(NodeRow row, node_from(connection, query));
  return row;
}

Result<std::vector<NodeRow>> all_nodes(Connection& connection, Query& query) {
  std::vector<NodeRow> nodes;
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return nodes;
    }
    ASSAY_ASSIGN(NodeRow node, node_from(connection, query));
    nodes.push_back(std::move(node));
  }
}

Result<std::optional<std::string>> find_key_owner(Connection& connection, const KeyId& key) {
  Query query = connection.query(Sql::kEnrolledKeyOwner);
  ASSAY_ASSIGN(const bool found, query.bind(key).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kNodeKey, key.text()));
    return std::nullopt;
  }
  ASSAY_TRY(check_seal(connection, Sealed::kNodeKey, key.text(), query));
  return query.text(0);
}

Status seal_challenge(Connection& connection, ByteView nonce) {
  Query query = connection.query(Sql::kChallengeGet);
  return keep_seal(connection, Sealed::kChallenge, hex_encode(nonce), query.bind(nonce));
}

// What put_node promises about a row that is there, about keys, and about what the row refers to.
Status check_node(Connection& connection, const NodeRow& row, TreeSize size) {
  if (row.log_index >= size) {
    return fail(ErrorCode::kInvalidParameter, "the log has no record with this index");
  }
  ASSAY_TRY(require_documents(connection, {row.enrolment}));
  if (row.measured) {
    ASSAY_TRY(require_documents(connection, {row.measured->appraisal}));
  }
  ASSAY_ASSIGN(const auto known, find_node(connection, row.name));
  if (known && known->revoked && known->revoked != row.revoked) {
    return fail(ErrorCode::kConflict, "a revoked node stays revoked", row.name);
  }
  return {};
}

Status insert_key(Connection& connection, const KeyId& key, const std::string& node) {
  ASSAY_TRY(connection.query(Sql::kEnrolledKeyInsert).bind(key).bind(node).run());
  Query query = connection.query(Sql::kEnrolledKeyOwner);
  return keep_seal(connection, Sealed::kNodeKey, key.text(), query.bind(key));
}

// A key belongs to the node that had it first.
Status remember_key(Connection& connection, const NodeRow& row) {
  ASSAY_ASSIGN(const auto owner, find_key_owner(connection, row.key));
  if (owner && *owner != row.name) {
    return fail(ErrorCode::kKeyNotUnique, "another node has enrolled with this key",
                row.key.text());
  }
  if (owner) {
    return {};
  }
  return insert_key(connection, row.key, row.name);
}

void bind_end(Query& query, const std::optional<Revocation>& end) {
  if (end) {
    query.bind(end->at).bind(end->reason);
  } else {
    query.bind_null().bind_null();
  }
}

void bind_measured(Query& query, const std::optional<NodeRow::Measured>& measured) {
  if (!measured) {
    query.bind_null().bind_null().bind_null().bind_null().bind_null().bind_null();
    return;
  }
  query.bind(measured->appraisal)
      .bind(measured->appraised_at)
      .bind(measured->evidence_type)
      .bind(measured->tcb_status)
      .bind(ByteView(measured->anchor.stored()))
      .bind(measured->anchor_is_vendor ? 1 : 0);
}

Status add_to_platform(Connection& connection, const std::string& platform, bool more) {
  ASSAY_ASSIGN(const std::uint64_t known, load_count(connection, Sealed::kOnPlatform, platform));
  return store_count(connection, Sealed::kOnPlatform, platform, more ? known + 1 : known - 1);
}

// Before the row is written.
Status count_platform(Connection& connection, const NodeRow& row) {
  ASSAY_ASSIGN(const auto before, find_node(connection, row.name));
  if (before && before->platform == row.platform) {
    return {};
  }
  if (before) {
    ASSAY_TRY(add_to_platform(connection, before->platform, false));
  }
  return add_to_platform(connection, row.platform, true);
}

Status write_node(Connection& connection, const NodeRow& row) {
  ASSAY_ASSIGN(const std::string devices, canonical_json(row.devices));
  ASSAY_ASSIGN(const std::string device_evidence, canonical_json(row.device_evidence));
  Query query = connection.query(Sql::kEnrolledPut);
  query.bind(row.name)
      .bind(row.principal)
      .bind(row.key)
      .bind(row.public_key)
      .bind(row.platform)
      .bind(row.enrolled_at)
      .bind(row.expires_at);
  bind_end(query, row.revoked);
  query.bind(devices).bind(row.enrolment);
  bind_measured(query, row.measured);
  query.bind(row.log_index).bind(row.registration);
  bind_end(query, row.ended);
  bind_optional(query.bind(row.superseded.count), row.superseded.at)
      .bind(row.superseded.key)
      .bind(row.held_since)
      .bind(device_evidence);
  return query.run();
}

}  // namespace

Status put_challenge(Connection& connection, const ChallengeRow& row, Timestamp now) {
  if (row.nonce.size() != kNonceBytes) {
    return fail(ErrorCode::kInvalidParameter, "a nonce has 32 bytes");
  }
  ASSAY_ASSIGN(const auto known, find_challenge(connection, row.nonce));
  if (known) {
    return fail(ErrorCode::kConflict, "the nonce has been issued already");
  }
  {
    Query query = connection.query(Sql::kChallengeForget);
    query.bind(now - kRemember).bind(kForgetAtOnce);
    while (true) {
      ASSAY_ASSIGN(const bool forgotten, query.next());
      if (!forgotten) {
        break;
      }
      ASSAY_TRY(erase_seal(connection, Sealed::kChallenge, hex_encode(query.view(0))));
    }
  }
  {
    Query query = connection.query(Sql::kChallengeInsert);
    query.bind(row.nonce)
        .bind(row.principal)
        .bind(row.purpose)
        .bind(row.node)
        .bind(row.job)
        .bind(row.expires_at);
    ASSAY_TRY(bind_optional(query, row.used_at).bind(now).run());
  }
  return seal_challenge(connection, row.nonce);
}

Result<ChallengeRow> consume_challenge(Connection& connection, ByteView nonce, Timestamp now) {
  ASSAY_ASSIGN(auto known, find_challenge(connection, nonce));
  if (!known) {
    return fail(ErrorCode::kChallengeUnknown, "this service did not issue the nonce");
  }
  if (!known->used_at) {
    ASSAY_TRY(connection.query(Sql::kChallengeUse).bind(nonce).bind(now).run());
    ASSAY_TRY(seal_challenge(connection, nonce));
  }
  return *std::move(known);
}

Result<ChallengeRow> load_challenge(Connection& connection, ByteView nonce) {
  ASSAY_ASSIGN(auto known, find_challenge(connection, nonce));
  return known ? Result<ChallengeRow>(*std::move(known))
               : fail(ErrorCode::kNotFound, "the nonce is unknown");
}

Result<NodeRow> load_node(Connection& connection, const std::string& name) {
  ASSAY_ASSIGN(auto known, find_node(connection, name));
  if (!known) {
    return fail(ErrorCode::kNotFound, "there is no node of this name", name);
  }
  return *std::move(known);
}

Result<std::vector<NodeRow>> load_nodes(Connection& connection, const std::string& after,
                                        std::size_t limit) {
  if (limit < 1 || limit > kMaxLimit) {
    return fail(ErrorCode::kInvalidParameter, "the limit of a page is 1 to 1000");
  }
  Query query = connection.query(Sql::kEnrolledList);
  query.bind(after).bind(limit);
  return all_nodes(connection, query);
}

Result<std::vector<NodeRow>> load_nodes_on(Connection& connection, const std::string& platform,
                                           Timestamp now) {
  Query query = connection.query(Sql::kEnrolledOnPlatform);
  ASSAY_ASSIGN(std::vector<NodeRow> nodes, all_nodes(connection, query.bind(platform)));
  for (const NodeRow& node : nodes) {  // the index may be damaged
    if (node.platform != platform) {
      return misplaced(node.name);
    }
  }
  ASSAY_ASSIGN(const std::uint64_t known, load_count(connection, Sealed::kOnPlatform, platform));
  if (nodes.size() != known) {
    return fail(ErrorCode::kDataLoss, "an index hides a node of a platform", platform);
  }
  std::erase_if(nodes, [now](const NodeRow& node) {
    return node.expires_at <= now || node.revoked || node.ended;
  });
  return nodes;
}

Status collect_platforms(Connection& connection) {
  ASSAY_ASSIGN(const auto platforms, connection.texts("SELECT platform FROM nodes"));
  std::map<std::string, std::uint64_t> counts;
  for (const std::string& platform : platforms) {
    ++counts[platform];
  }
  for (const auto& [platform, count] : counts) {
    ASSAY_TRY(store_count(connection, Sealed::kOnPlatform, platform, count));
  }
  return {};
}

Result<std::uint64_t> load_node_version(Connection& connection, const std::string& name) {
  return load_version(connection, Versioned::kNode, name);
}

Result<std::string> load_key_owner(Connection& connection, const KeyId& key) {
  ASSAY_ASSIGN(auto owner, find_key_owner(connection, key));
  if (!owner) {
    return fail(ErrorCode::kNotFound, "no node ever had this key", key.text());
  }
  return *std::move(owner);
}

Status replace_key_owner(Connection& connection, const KeyId& key, const std::string& node) {
  ASSAY_TRY(drop_sealed(connection, Sealed::kNodeKey, key.text()));
  return insert_key(connection, key, node);
}

Status put_node(Connection& connection, const NodeRow& row, TreeSize size) {
  ASSAY_TRY(check_node(connection, row, size));
  ASSAY_TRY(remember_key(connection, row));
  ASSAY_TRY(count_platform(connection, row));
  ASSAY_TRY(write_node(connection, row));
  Query again = connection.query(Sql::kEnrolledGet);
  ASSAY_TRY(keep_seal(connection, Sealed::kNode, row.name, again.bind(row.name)));
  return raise_version(connection, Versioned::kNode, row.name);
}

Result<DocumentId> load_outline(Connection& connection, const ArtifactId& artifact) {
  Query query = connection.query(Sql::kOutlineGet);
  ASSAY_ASSIGN(const bool found, query.bind(artifact.text()).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kOutline, artifact.text()));
    return fail(ErrorCode::kNotFound, "the artifact has no stored outline", artifact.text());
  }
  ASSAY_TRY(check_seal(connection, Sealed::kOutline, artifact.text(), query));
  ASSAY_ASSIGN(Digest digest, query.digest(0));
  return DocumentId(std::move(digest));
}

Status put_outline(Connection& connection, const ArtifactId& artifact, const DocumentId& document) {
  ASSAY_TRY(require_documents(connection, {document}));
  const auto known = load_outline(connection, artifact);
  if (known) {
    return *known == document ? Status()
                              : fail(ErrorCode::kConflict,
                                     "the artifact has another outline already", artifact.text());
  }
  if (known.error().code != ErrorCode::kNotFound) {
    return std::unexpected(known.error());
  }
  ASSAY_TRY(connection.query(Sql::kOutlineInsert).bind(artifact.text()).bind(document).run());
  Query query = connection.query(Sql::kOutlineGet);
  return keep_seal(connection, Sealed::kOutline, artifact.text(), query.bind(artifact.text()));
}

}  // namespace assay::storage::sqlite
