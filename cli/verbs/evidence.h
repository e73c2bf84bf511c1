// SPDX-License-Identifier: Apache-2.0
// What the verbs of "evidence" share.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"
#include "schemas/evidence.h"

namespace assay::cli {

// The 64 bytes that evidence has to carry, from 128 hex digits of either case; usage.
[[nodiscard]] Result<ReportDataBytes> parse_report_data(std::string_view hex);
// `at` as RFC 3339, or what the clock says when it is empty.
[[nodiscard]] Result<Timestamp> evidence_time(const std::string& at, const Clock& clock);

void add_evidence_verify(const Command& group, Context& context);
void add_evidence_simulate(const Command& group, Context& context);
void add_evidence_collect(const Command& group, Context& context);

}  // namespace assay::cli
