// SPDX-License-Identifier: Apache-2.0
// Which resource of the service takes which kind of document.
#pragma once

#include "cli/documents/documents.h"
#include "client/api.h"
#include "schemas/core/json.h"

namespace assay::cli {

// Sends `envelope`, whose payload `document` holds, and returns the service's answer.
// payload-type-unknown for a kind that the service does not take.
[[nodiscard]] Result<Json> push_document(client::Api& api, const LoadedDocument& document,
                                         ByteView envelope);

}  // namespace assay::cli
