// SPDX-License-Identifier: Apache-2.0
// `assayd check-config`: every path of the configuration, before a start trips over it.
#pragma once

#include <vector>

#include "schemas/core/error.h"
#include "server/config.h"

namespace assay::server {

// Returns what is wrong with the files and folders that the configuration names, with the member of
// the configuration in `where`. Reads each file that the service reads, loads each key, and changes
// nothing. Where the database is not there yet, keys and folders may be missing: `assayd init`
// makes them. A key in a token (pkcs11:) is not asked for. TLS: check_tls_files() of listeners.h.
[[nodiscard]] std::vector<Error> check_paths(const Config& config);

}  // namespace assay::server
