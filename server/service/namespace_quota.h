// SPDX-License-Identifier: Apache-2.0
// Limits the bytes that each namespace may add to the database in an hour. The database keeps every
// distinct case of a decision (decisions/case_file.h) and every distinct large workload for ever.
// Somebody who may create pods could make every pod different, and so add bytes with every pod.
// This quota limits how fast the database can grow in this way.
#pragma once

#include <cstddef>

#include "server/service/hourly_quota.h"

namespace assay::server {

// Additions up to this size are not counted, so ordinary pods never reach the limit.
inline constexpr std::size_t kMaxUncountedBytes = 16U << 10;
// Limit on the bytes that one namespace may add in an hour by all larger additions together.
inline constexpr std::size_t kMaxNewBytesAnHour = 16U << 20;
// Limit on the namespaces that have a count of their own. All further namespaces share one count.
inline constexpr std::size_t kMaxCountedNamespaces = 4096;

// Counts added bytes by namespace and cluster.
class NamespaceQuota : public HourlyQuota {
 public:
  NamespaceQuota()
      : HourlyQuota(
            {kMaxUncountedBytes, kMaxNewBytesAnHour, kMaxCountedNamespaces,
             "this namespace has stored as much about large pods, each unlike those before, "
             "as it may in an hour; create pods from a template that ran before, or try "
             "again in an hour"}) {}
};

}  // namespace assay::server
