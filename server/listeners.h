// SPDX-License-Identifier: Apache-2.0
// The listeners that a configuration asks for.
#pragma once

#include <vector>

#include "schemas/core/clock.h"
#include "server/config.h"
#include "server/http/listener.h"

namespace assay::server {

[[nodiscard]] std::vector<ListenerOptions> listeners(const Config& config);

// Checks the TLS files of every listener as a start does. Passes when neither the certificate nor
// its key is there yet, because `assayd init` makes both. Errors: those of make_tls_context().
[[nodiscard]] Status check_tls_files(const Config& config, Timestamp now);

}  // namespace assay::server
