// SPDX-License-Identifier: Apache-2.0
// Reviews for verbs that sign: finding what is in force, showing the review, asking.
#pragma once

#include <string>
#include <vector>

#include "cli/client/connect.h"
#include "cli/command.h"
#include "cli/review/review.h"

namespace assay::cli {

struct ReviewFlags {
  std::string against;   // file with what is in force
  std::string document;  // file with the policy that an approval is about
  bool all = false;
  ConnectionFlags connection;
};

// --against, --document, --all and the connection.
void add_review_options(const Command& verb, ReviewFlags& flags);

// What a document is compared with: the file of --against, or what the service says. Without either
// nothing is known. `from_environment`: the service may also be named by the environment or the
// default profile, not only by flags.
[[nodiscard]] Result<InForce> find_in_force(const Context& context, const Payload& payload,
                                            const ReviewFlags& flags, bool from_environment);

// The review as lines for people, and as JSON.
[[nodiscard]] std::vector<std::string> review_lines(const LoadedDocument& document,
                                                    const Review& review, bool all);
[[nodiscard]] Json review_json(const LoadedDocument& document, const Review& review);

// Shows the review on standard error, and asks when standard input and standard error are a
// terminal, unless `yes`. True when it may be signed. What cannot be compared is said in the
// review: it does not stop whoever signs.
[[nodiscard]] Result<bool> agree_to_sign(const Context& context, const LoadedDocument& document,
                                         const ReviewFlags& flags, bool from_environment, bool yes);

}  // namespace assay::cli
