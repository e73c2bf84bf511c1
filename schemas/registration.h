// SPDX-License-Identifier: Apache-2.0
// Which names of nodes there are, who may enrol them and on which machines. A registration is a
// change of trust: without one a name is nobody's. Schema: registration.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Who says, beside the principal, which Kubernetes node a worker runs on: an API server, through
// the ServiceAccount tokens that it signs. What a token must say: attestation/identity_token.h.
struct ServiceAccountIssuer {
  std::string issuer;   // "iss"
  std::string subject;  // "sub": system:serviceaccount:NAMESPACE:NAME
  Json jwks;            // {"keys":[...]}, RFC 7517: the keys that the issuer signs with
  bool operator==(const ServiceAccountIssuer&) const = default;
};

struct Registration {
  std::string id;                        // of this registration, kebab-case
  std::string node;                      // a node's name, or a pattern: see covers()
  std::string principal;                 // alone may enrol these nodes
  std::vector<std::string> platforms;    // lowercase hex; empty: any platform
  std::uint64_t nodes_per_platform = 1;  // names that one platform may have at a time
  // Always there for a pattern: its principal alone could take any name that is free.
  std::optional<ServiceAccountIssuer> service_account;
  bool operator==(const Registration&) const = default;
};

[[nodiscard]] bool is_pattern(std::string_view node);
// True when `node`, a name or pattern, stands for `name`. '*' stands for one or more characters of
// one label, never for a dot; a label has at most one.
[[nodiscard]] bool covers(std::string_view node, std::string_view name);
// True when there is a name that both names or patterns stand for.
[[nodiscard]] bool overlap(std::string_view left, std::string_view right);

[[nodiscard]] Json to_json(const Registration& registration);
[[nodiscard]] Result<Registration> registration_from_json(const Json& json);
// The same of what validate() has seen.
[[nodiscard]] Result<Registration> read_registration(const Json& json);

}  // namespace assay
