// SPDX-License-Identifier: Apache-2.0
// Random reference sets, and policies that name some of them.
#pragma once

#include <random>

#include "policy/reference_sets.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {

// Sets of each kind over the values of random cases; now and then one is missing, or of a kind for
// which nothing asks.
ReferenceSets random_sets(std::mt19937_64& engine);

// Puts names of those sets into some lists of the policy, as parse_policy() would have read them.
void name_sets(std::mt19937_64& engine, PolicyDocument& policy);

}  // namespace assay::policy::test
