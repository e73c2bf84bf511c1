// SPDX-License-Identifier: Apache-2.0
// Of the locations that a caller without a pod names: on which of them each model needs a report.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "server/service/decisions/case_file.h"

namespace assay::server {

// For each model the locations it is asked for, in the order of `locations`. A location is left out
// for a model only when a manifest or placement of another model, with a signature that counts at
// `now`, names it and none of the model's own does. A model that would be left without any location
// is asked for all of them. So every location needs a report of one model at least.
[[nodiscard]] std::vector<std::vector<std::string>> asked_locations(
    const std::vector<std::string>& locations, std::span<const CaseModel> models, Timestamp now);

}  // namespace assay::server
