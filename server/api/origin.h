// SPDX-License-Identifier: Apache-2.0
// Requests that a browser sends on behalf of another site. A browser adds a client certificate to
// every request for this service, whichever page asked for it. A token is added by nobody but the
// page that knows it.
#pragma once

#include "schemas/core/error.h"
#include "server/http/message.h"

namespace assay::server {

// Refuses a request whose Origin is not https:// and its own Host, or whose Sec-Fetch-Site is
// neither "same-origin" nor "none" (typed into the browser). Programs send neither field. Source:
// RFC 6454 section 7, Fetch Metadata (W3C) section 2.3. Errors: forbidden.
[[nodiscard]] Status check_same_origin(const Request& request);

}  // namespace assay::server
