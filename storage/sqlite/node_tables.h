// SPDX-License-Identifier: Apache-2.0
// Tables of challenges, enrolled nodes and outlines. NodeReads and NodeWrites
// (storage/node_store.h) describe the functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Stores a challenge. `now` decides which expired nonces are deleted.
[[nodiscard]] Status put_challenge(Connection& connection, const ChallengeRow& row, Timestamp now);
[[nodiscard]] Result<ChallengeRow> consume_challenge(Connection& connection, ByteView nonce,
                                                     Timestamp now);

[[nodiscard]] Result<NodeRow> load_node(Connection& connection, const std::string& name);
[[nodiscard]] Result<std::vector<NodeRow>> load_nodes(Connection& connection,
                                                      const std::string& after, std::size_t limit);
// Errors: not-found when the nonce was never issued or is already deleted.
[[nodiscard]] Result<ChallengeRow> load_challenge(Connection& connection, ByteView nonce);
[[nodiscard]] Result<std::vector<NodeRow>> load_nodes_on(Connection& connection,
                                                         const std::string& platform,
                                                         Timestamp now);
// Puts the numbers of nodes of each platform into the record map. Used only by a repair.
[[nodiscard]] Status collect_platforms(Connection& connection);
// Returns the version of a node (versions.h). Errors: data-loss when there is such a node and the
// version is gone.
[[nodiscard]] Result<std::uint64_t> load_node_version(Connection& connection,
                                                      const std::string& name);
[[nodiscard]] Result<std::string> load_key_owner(Connection& connection, const KeyId& key);
// Stores `node` as the node that first enrolled with `key`, replacing what was stored for the key
// before.
[[nodiscard]] Status replace_key_owner(Connection& connection, const KeyId& key,
                                       const std::string& node);
// Stores a node. `size` is the size of the log.
[[nodiscard]] Status put_node(Connection& connection, const NodeRow& row, TreeSize size);

[[nodiscard]] Result<DocumentId> load_outline(Connection& connection, const ArtifactId& artifact);
[[nodiscard]] Status put_outline(Connection& connection, const ArtifactId& artifact,
                                 const DocumentId& document);

}  // namespace assay::storage::sqlite
