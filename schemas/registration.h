// SPDX-License-Identifier: Apache-2.0
// Registrations: which node names exist, who may enrol them, and on which machines. Registrations
// are added and removed by changes of trust (schemas/trust.h). Nobody may enrol a node name that no
// registration covers. Schema: registration.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// An API server whose ServiceAccount tokens prove on which Kubernetes node a worker runs. With an
// issuer, enrolment requires such a token in addition to the right principal.
// attestation/identity_token.h lists what a token must contain.
struct ServiceAccountIssuer {
  std::string issuer;   // "iss"
  std::string subject;  // "sub": system:serviceaccount:NAMESPACE:NAME
  Json jwks;            // {"keys":[...]}, RFC 7517: the keys that the issuer signs with
  bool operator==(const ServiceAccountIssuer&) const = default;
};

struct Registration {
  std::string id;                        // of this registration, in kebab-case
  std::string node;                      // name of a node, or a pattern: see covers()
  std::string principal;                 // the only principal that may enrol these nodes
  std::vector<std::string> platforms;    // lowercase hex; empty: any platform
  std::uint64_t nodes_per_platform = 1;  // one platform may have at most this many names at once
  // Required for a pattern, because otherwise the principal alone could take any free name that the
  // pattern covers.
  std::optional<ServiceAccountIssuer> service_account;
  std::optional<std::uint64_t> devices{};  // that give evidence, of each node; absent: not said
  bool operator==(const Registration&) const = default;
};

[[nodiscard]] bool is_pattern(std::string_view node);
// Returns true when `node`, a name or pattern, covers `name`. A '*' stands for one or more
// characters within one label, never for a dot. A label has at most one '*'.
[[nodiscard]] bool covers(std::string_view node, std::string_view name);
// Returns true when both names or patterns cover a common name.
[[nodiscard]] bool overlap(std::string_view left, std::string_view right);

[[nodiscard]] Json to_json(const Registration& registration);
// Checks the schema too.
[[nodiscard]] Result<Registration> registration_from_json(const Json& json);
[[nodiscard]] Result<Registration> read_json(json::As<Registration> type, const Json& json);

}  // namespace assay
