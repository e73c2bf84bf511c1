// SPDX-License-Identifier: Apache-2.0
// Filters of lists that have a documented form: a value without it is invalid-parameter, never an
// empty list.
#pragma once

#include <string>
#include <string_view>

#include "server/api/route.h"

namespace assay::server {

// The forms of schemas/openapi.yaml.
enum class Form {
  kReason,         // a code of the error table
  kNode,           // a node's name
  kModel,          // a model's name
  kPolicy,         // a policy's name
  kStage,          // kebab-case
  kPredicateType,  // a URI
  kPrincipal,      // a principal's name, or "system"
  kEventType,      // a type of record, or the beginning of some that ends with '.'
  kUuid,           // of version 7
  kNamespace,      // 1 to 253 characters
  kSubject,        // of a record of the log: 1 to 512 characters
  kDigest,         // an artifact id, or algorithm:value
};

// The value of a parameter; empty when it is absent.
[[nodiscard]] Result<std::string> filter(const Call& call, std::string_view name, Form form);

// A parameter that is true or false.
[[nodiscard]] Result<bool> switch_parameter(const Call& call, std::string_view name);

}  // namespace assay::server
