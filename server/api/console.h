// SPDX-License-Identifier: Apache-2.0
// The console: a page for browsers, made of the files of server/console, which this library holds.
// The page asks the API as any other client does, so its files are open to all and hold no secret.
#pragma once

#include <vector>

#include "server/api/route.h"

namespace assay::server {

// Returns `table` with the routes of the console: /console is the page, /console/{file} what it
// loads. Answers have an ETag and a Content-Security-Policy that allows nothing inline and nothing
// from elsewhere.
[[nodiscard]] std::vector<Route> with_console(std::vector<Route> table);

}  // namespace assay::server
