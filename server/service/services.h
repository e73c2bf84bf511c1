// SPDX-License-Identifier: Apache-2.0
// What every service function works with. Owned by the application; outlives every request.
#pragma once

#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/core/signer.h"
#include "storage/store.h"

namespace assay::server {

struct Services {
  storage::Store& store;
  const Signer& service_signer;  // signs decisions
  const Clock& clock;
  Random& random;
  std::string log_origin;
};

}  // namespace assay::server
