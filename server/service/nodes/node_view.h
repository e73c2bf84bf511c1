// SPDX-License-Identifier: Apache-2.0
// Nodes in the form of answers and log records.
#pragma once

#include <string>
#include <string_view>

#include "server/service/nodes/enrol.h"

namespace assay::server {

// Return the texts by which the subjects of log records name a node and a job.
[[nodiscard]] std::string node_subject(std::string_view node);
[[nodiscard]] std::string job_subject(std::string_view job);

// Return the NodeView and the Enrolled answer of schemas/openapi.yaml.
[[nodiscard]] Result<Json> node_view(storage::NodeReads& reads, const storage::NodeRow& node,
                                     Timestamp now);
// Adds to a NodeView what the newest heartbeat says of model instances in memory: `instances`,
// `heard_at`, and the state "violated" of an enrolled node with a violated instance. What is not
// violated is unknown after kMaxHeartbeatAgeSeconds (policy/conditions/memory.h). A heartbeat under
// another key than the node's says nothing.
void add_instances(const Heartbeats& heartbeats, const storage::NodeRow& node, Timestamp now,
                   Json& view);
[[nodiscard]] Json enrolled_view(const Enrolled& enrolled);

}  // namespace assay::server
