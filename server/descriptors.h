// SPDX-License-Identifier: Apache-2.0
// How many connections the descriptors of the process allow. Each listener gets as many as its
// limit says, or all get fewer: never does one take the descriptors of another.
#pragma once

#include <cstdint>

#include "schemas/core/error.h"
#include "server/config.h"

namespace assay::server {

// Returns how many descriptors a service with this configuration needs beside its connections: for
// its files, sockets and timers, the connections to the database, and the hosts of plug-ins.
[[nodiscard]] std::uint64_t reserved_descriptors(const Config& config);

// Returns the limits of the configuration, with fewer connections where `available` descriptors do
// not suffice for those of all listeners. The part that one address may have stays the same.
// Errors: invalid-config when a listener would have fewer than 16 connections.
[[nodiscard]] Result<ServerLimits> within_descriptors(const Config& config,
                                                      std::uint64_t available);

}  // namespace assay::server
