// SPDX-License-Identifier: Apache-2.0
// Sends each kind of document to the resource of the service that takes it.
#pragma once

#include "cli/documents/documents.h"
#include "client/api.h"
#include "schemas/core/json.h"

namespace assay::cli {

// Sends `envelope` and returns the service's answer. `document` is the document in `envelope`.
// Errors: payload-type-unknown for a kind that the service does not take.
[[nodiscard]] Result<Json> push_document(client::Api& api, const LoadedDocument& document,
                                         ByteView envelope);

}  // namespace assay::cli
