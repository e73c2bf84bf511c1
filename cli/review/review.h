// SPDX-License-Identifier: Apache-2.0
// Describes a document in words before somebody signs it: its full content, and how it differs from
// the state in force. Pure. Every part of a document is shown. A member that this code cannot
// describe in words is shown with its name and value. No text of a document reaches the terminal
// unescaped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/documents/documents.h"
#include "schemas/core/json.h"

namespace assay::cli {

struct ReviewChange {
  std::string path;  // "mode", "require[approved].statement.max_age_seconds", "match.namespaces[]"
  Json before;       // null: added
  Json after;        // null: removed
  // Why the change needs attention: it may allow more than before. Empty: no reason known.
  std::string flag;
  bool operator==(const ReviewChange&) const = default;
};

struct Review {
  std::string title;               // one line
  std::vector<std::string> says;   // the document in full, one fact per line
  std::vector<std::string> flags;  // points that need attention in any case
  std::string against;             // what `changes` compare with; empty: no comparison
  std::vector<ReviewChange> changes;
};

// The state in force, as far as it is known. Unknown members stay absent or empty, and the review
// says that they are unknown.
struct InForce {
  std::string source;         // for `against`: "the service", or a file
  std::optional<Json> trust;  // in the form of GET /v1/trust
  std::optional<std::uint64_t> policy_epoch;
  std::optional<Json> policy;        // policy in force under the same name; null: none exists
  std::optional<Json> approved;      // the policy that an approval is about
  std::optional<Json> endorsements;  // {"number","parts"}: newest bundle, parts of collateral
  std::optional<Json> statement;     // an earlier statement of the kind; null: none exists
};

// A longer list is cut after this many items, and the number of all its items is shown. With the
// parameter `all` of the functions below no list is cut.
inline constexpr std::size_t kShownItems = 12;

[[nodiscard]] Result<Review> review(const Payload& payload, const InForce& in_force, bool all);

// Review one kind of document each. `document` is the payload. review_policy() and
// review_approval() take reference sets, too.
[[nodiscard]] Review review_policy(const Json& document, const InForce& in_force, bool all);
[[nodiscard]] Review review_approval(const Json& document, const InForce& in_force, bool all);
[[nodiscard]] Review review_trust_change(const Json& document, const InForce& in_force, bool all);
[[nodiscard]] Review review_statement(const Json& document, const InForce& in_force, bool all);
[[nodiscard]] Review review_endorsements(const Json& document, const InForce& in_force, bool all);

}  // namespace assay::cli
