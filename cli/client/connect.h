// SPDX-License-Identifier: Apache-2.0
// The service as verbs reach it: the options that say where it is, and the client they lead to.
#pragma once

#include "cli/command.h"
#include "cli/context.h"
#include "client/answers.h"
#include "client/api.h"
#include "client/connection.h"
#include "schemas/core/error.h"

namespace assay::cli {

// The names that verbs use all the time.
using client::Api;
using client::ConnectionFlags;
using client::joined_at;
using client::list_at;
using client::number_at;
using client::percent_encode;
using client::Query;
using client::text_at;

void add_connection_options(const Command& verb, ConnectionFlags& flags);

// This program to the service; before a retry it says why on standard error. `context` must outlive
// what it is given to.
[[nodiscard]] client::Caller caller_of(const Context& context);

// Settings, credential and client in one. Errors: those of resolve_connection and HttpClient::open.
[[nodiscard]] Result<Api> open_api(const Context& context, const ConnectionFlags& flags,
                                   client::Endpoint endpoint = client::Endpoint::kApi);

}  // namespace assay::cli
