// SPDX-License-Identifier: Apache-2.0
// Random stage evidence and demands on it, over few values, so that they meet.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "policy/stage_evidence_fact.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {

// Evidence of some signers of `statement`; one piece in so many has something wrong.
std::vector<StageEvidenceFact> random_evidence(std::mt19937_64& engine,
                                               const StatementFact& statement, bool honest);
EvidenceDemands random_demands(std::mt19937_64& engine);

// What an event log says of a start, and what is asked of it: three times of four nothing.
std::optional<MeasuredBoot> random_boot(std::mt19937_64& engine, std::size_t rare);
std::optional<BootDemands> random_boot_demands(std::mt19937_64& engine);

}  // namespace assay::policy::test
