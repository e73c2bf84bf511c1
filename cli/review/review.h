// SPDX-License-Identifier: Apache-2.0
// What a document says, in words, before somebody signs it: in full, and as a difference from what
// is in force. Pure. Whatever a document holds is shown: members without words of their own appear
// by name and value, and nothing of them reaches the terminal as it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/documents/documents.h"
#include "schemas/core/json.h"

namespace assay::cli {

struct ReviewChange {
  std::string path;  // "mode", "require[approved].statement.max_age_seconds", "match.namespaces[]"
  Json before;       // null: was not there
  Json after;        // null: is not there any more
  std::string flag;  // why to look twice: it may let in more than before; empty: nothing known
  bool operator==(const ReviewChange&) const = default;
};

struct Review {
  std::string title;               // one line
  std::vector<std::string> says;   // the document in full, a line a fact
  std::vector<std::string> flags;  // what is worth a second look whatever was before
  std::string against;             // what `changes` compare with; empty: nothing was given
  std::vector<ReviewChange> changes;
};

// What is known of the present state; what is not known stays empty, and the review says so.
struct InForce {
  std::string source;         // for `against`: "the service", or a file
  std::optional<Json> trust;  // as GET /v1/trust answers
  std::optional<std::uint64_t> policy_epoch;
  std::optional<Json> policy;     // the document in force under the same name; null: there is none
  std::optional<Json> approved;   // the policy that an approval is about
  std::optional<Json> statement;  // an earlier statement of the kind; null: there is none
};

// Lists are cut after this many items, with their number, unless all are wanted.
inline constexpr std::size_t kShownItems = 12;

[[nodiscard]] Result<Review> review(const Payload& payload, const InForce& in_force, bool all);

// The parts, by kind of document; `document` is the payload.
[[nodiscard]] Review review_policy(const Json& document, const InForce& in_force, bool all);
[[nodiscard]] Review review_approval(const Json& document, const InForce& in_force, bool all);
[[nodiscard]] Review review_trust_change(const Json& document, const InForce& in_force, bool all);
[[nodiscard]] Review review_statement(const Json& document, const InForce& in_force, bool all);

}  // namespace assay::cli
