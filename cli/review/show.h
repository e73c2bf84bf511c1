// SPDX-License-Identifier: Apache-2.0
// Reviews (review.h) for verbs that sign: finds the state in force, shows the review, and asks
// whether to sign.
#pragma once

#include <string>
#include <vector>

#include "cli/client/connect.h"
#include "cli/command.h"
#include "cli/review/review.h"

namespace assay::cli {

struct ReviewFlags {
  std::string against;   // file with the state in force
  std::string document;  // file with the policy that an approval is about
  bool all = false;
  ConnectionFlags connection;
};

// Returns whether somebody can be asked: standard input and standard error are a terminal.
[[nodiscard]] bool on_a_terminal();

// Adds --against, --document, --all and the options of the connection.
void add_review_options(const Command& verb, ReviewFlags& flags);

// Finds what a document is compared with: the file of --against, or the state that the service
// reports. When neither is given, the state in force stays unknown. With `from_environment` the
// service may be named by flags, by the environment or by the default profile. Without it only
// flags may name the service.
[[nodiscard]] Result<InForce> find_in_force(const Context& context, const Payload& payload,
                                            const ReviewFlags& flags, bool from_environment);

// Return the review as lines for people, and as JSON.
[[nodiscard]] std::vector<std::string> review_lines(const LoadedDocument& document,
                                                    const Review& review, bool all);
[[nodiscard]] Json review_json(const LoadedDocument& document, const Review& review);

// Shows the review on standard error. Asks for agreement when standard input and standard error are
// a terminal, unless `yes`. Returns true when the document may be signed. A failed comparison is
// shown in the review and does not prevent signing.
[[nodiscard]] Result<bool> agree_to_sign(const Context& context, const LoadedDocument& document,
                                         const ReviewFlags& flags, bool from_environment, bool yes);

}  // namespace assay::cli
