// SPDX-License-Identifier: Apache-2.0
// Nodes as answers and log records show them.
#pragma once

#include <string>
#include <string_view>

#include "server/service/nodes/enrol.h"

namespace assay::server {

// Ids of nodes and jobs among the subjects of log records.
[[nodiscard]] std::string node_subject(std::string_view node);
[[nodiscard]] std::string job_subject(std::string_view job);

// The NodeView and the Enrolled answer of schemas/openapi.yaml.
[[nodiscard]] Result<Json> node_view(storage::NodeReads& reads, const storage::NodeRow& node,
                                     Timestamp now);
[[nodiscard]] Json enrolled_view(const Enrolled& enrolled);

}  // namespace assay::server
