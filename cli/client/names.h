// SPDX-License-Identifier: Apache-2.0
// Names of people and policies, where the service may be asked for what they stand for. Names of
// models: model_meant.h.
#pragma once

#include <string>
#include <vector>

#include "cli/client/connect.h"

namespace assay::cli {

// Returns the ids of the keys that `who` stands for: a key id itself, or all keys that the service
// trusts under this identity. Errors: not-found, with the identities that are near; those of the
// service, which shows its keys to admins, auditors, authors and approvers.
[[nodiscard]] Result<std::vector<std::string>> keys_meant(Api& api, const std::string& who);
// As keys_meant(), for one key. Errors: usage, with the keys, for an identity that has several.
[[nodiscard]] Result<std::string> key_meant(Api& api, const std::string& who);

// Returns whether `text` may name a policy or a set of reference values: names have no dot and no
// slash, paths of documents have.
[[nodiscard]] bool is_policy_name(const std::string& text);

// Returns the id that `policy` stands for: an id itself, or the name of a policy. Of its versions
// the one that is meant is in force, or the only one unless `in_force`. Errors: not-found, with the
// names that are near; usage, with the versions, for a name that has several.
[[nodiscard]] Result<std::string> policy_meant(Api& api, const std::string& policy, bool in_force);

}  // namespace assay::cli
