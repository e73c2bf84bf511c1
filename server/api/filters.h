// SPDX-License-Identifier: Apache-2.0
// List filters with a documented form. A value that does not have its form is refused with
// invalid-parameter, instead of answered with an empty list.
#pragma once

#include <string>
#include <string_view>

#include "server/api/route.h"

namespace assay::server {

// The forms that schemas/openapi.yaml documents.
enum class Form {
  kReason,         // a code of the error table
  kNode,           // a node's name
  kModel,          // a model's name
  kPolicy,         // a policy's name
  kStage,          // kebab-case
  kPredicateType,  // a URI
  kPrincipal,      // a principal's name, or "system"
  kEventType,      // a record type, or a prefix of record types that ends with '.'
  kUuid,           // a UUID of version 7
  kNamespace,      // a namespace, or the name of an object in one: 1 to 253 characters
  kSubject,        // subject of a log record: 1 to 512 characters
  kDigest,         // an artifact id, or algorithm:value
  kPart,           // name of a part of collateral
  kPlace,          // where a list of pods goes on: 1 to 512 characters
};

// Returns the value of the parameter `name`; empty when the parameter is absent. Errors:
// invalid-parameter when the value does not have the given form.
[[nodiscard]] Result<std::string> filter(const Call& call, std::string_view name, Form form);

// Returns the value of a parameter; false when the parameter is absent. Errors: invalid-parameter
// when the value is neither "true" nor "false".
[[nodiscard]] Result<bool> switch_parameter(const Call& call, std::string_view name);

// Returns whether the parameter `order` asks for the newest rows first. An absent parameter counts
// as `otherwise`. Errors: invalid-parameter when the value is neither "newest" nor "oldest".
[[nodiscard]] Result<bool> newest_first(const Call& call, std::string_view otherwise);

}  // namespace assay::server
