// SPDX-License-Identifier: Apache-2.0
// What the configuration sets for nodes, and the value of each setting that is not configured.
// schemas/json/config.schema.json has the ranges.
#pragma once

#include <chrono>
#include <string>

namespace assay::server {

struct NodeSettings {
  std::string audience;  // name that evidence must be made for; empty: log origin
  // How long a nonce for an enrolment or a spot check (jobs/spot_check.h) is valid.
  std::chrono::seconds challenge_life{120};
  std::chrono::seconds enrolment_life{86'400};
  std::chrono::seconds lease_life{60};        // of a job
  bool dangerous_allow_unmeasured = false;    // nodes may enrol without evidence
  bool dangerous_allow_unregistered = false;  // nodes may enrol without registration
  // Directory with copies of models, by name; spot checks compare with these copies. Empty: no spot
  // checks are made.
  std::string mirror;
  std::size_t spot_checks = 16;  // spans per spot check
};

}  // namespace assay::server
