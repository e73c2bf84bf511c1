// SPDX-License-Identifier: Apache-2.0
// Functions that the verbs of "evidence" share.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"
#include "schemas/evidence.h"

namespace assay::cli {

// Parses the 64 bytes of report data that evidence must contain, from 128 hex digits of either
// case. Errors: usage.
[[nodiscard]] Result<ReportDataBytes> parse_report_data(std::string_view hex);
// Parses `at` as RFC 3339. Returns the clock's time when `at` is empty.
[[nodiscard]] Result<Timestamp> evidence_time(const std::string& at, const Clock& clock);

void add_evidence_verify(const Command& group, Context& context);
void add_evidence_simulate(const Command& group, Context& context);
void add_evidence_faults(const Command& group, Context& context);
void add_evidence_collect(const Command& group, Context& context);
void add_evidence_devices(const Command& group, Context& context);
void add_evidence_plugin(const Command& group, Context& context);

}  // namespace assay::cli
