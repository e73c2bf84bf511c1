// SPDX-License-Identifier: Apache-2.0
// Connects verbs to the service: the options that name the service, and the client made from them.
#pragma once

#include "cli/command.h"
#include "cli/context.h"
#include "client/answers.h"
#include "client/api.h"
#include "client/connection.h"
#include "schemas/core/error.h"

namespace assay::cli {

// Names that most verbs use.
using client::Api;
using client::ConnectionFlags;
using client::joined_at;
using client::list_at;
using client::number_at;
using client::percent_encode;
using client::Query;
using client::text_at;

void add_connection_options(const Command& verb, ConnectionFlags& flags);

// Describes this program to the client library. Before each retry the reason is printed on standard
// error. `context` must outlive every client that receives the Caller.
[[nodiscard]] client::Caller caller_of(const Context& context);

// Resolves the settings, reads the credential and opens the client. Errors: those of
// resolve_connection and HttpClient::open.
[[nodiscard]] Result<Api> open_api(const Context& context, const ConnectionFlags& flags,
                                   client::Endpoint endpoint = client::Endpoint::kApi);

}  // namespace assay::cli
