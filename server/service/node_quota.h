// SPDX-License-Identifier: Apache-2.0
// Limits what each node, and each principal (authenticated caller) that acts for nodes, may add to
// the database in an hour. Without limits, anybody with the token of one node could fill the disk.
// Enrolments and reports are kept for ever, with their evidence and its appraisal; of a refused
// one, a record is kept. Challenges are kept for a day.
#pragma once

#include <cstddef>

#include "server/service/hourly_quota.h"

namespace assay::server {

// Limit on the bytes of the enrolments that one node may send in an hour.
inline constexpr std::size_t kMaxEnrolmentBytesAnHour = 64U << 20;
// Limit on the bytes of the reports that one node may send in an hour.
inline constexpr std::size_t kMaxReportBytesAnHour = 1U << 30;
// Bytes that are counted for each enrolment and each report in addition to the bytes of its body.
// They stand for what the service stores about it: appraisal, result, records of the log, rows and
// their indexes.
inline constexpr std::size_t kNodeRecordBytes = 16U << 10;
// Limit on the challenges that one principal may ask for in an hour.
inline constexpr std::size_t kMaxChallengesAnHour = 65'536;
// Limit on the nodes that have counts of their own. All further nodes share one count.
inline constexpr std::size_t kMaxCountedNodes = 65'536;

// `enrolments` and `reports` count bytes of request bodies for each node, so padding is counted,
// too. `challenges` counts challenges for each principal.
struct NodeQuota {
  HourlyQuota enrolments{{0, kMaxEnrolmentBytesAnHour, kMaxCountedNodes,
                          "this node has enrolled as much as it may in an hour; find out why its "
                          "agent begins again and again, and try again in an hour"}};
  HourlyQuota reports{{0, kMaxReportBytesAnHour, kMaxCountedNodes,
                       "this node has reported as much as it may in an hour; order fewer jobs for "
                       "it, or try again in an hour"}};
  HourlyQuota challenges{{0, kMaxChallengesAnHour, kMaxCountedNodes,
                          "this principal has asked for as many challenges as it may in an hour; "
                          "try again in an hour"}};
};

}  // namespace assay::server
