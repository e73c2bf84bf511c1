// SPDX-License-Identifier: Apache-2.0
// Makes documents that change trust (schemas/trust.h), for several verbs.
#pragma once

#include <string>
#include <vector>

#include "cli/client/connect.h"
#include "cli/command.h"
#include "schemas/trust.h"

namespace assay::cli {

struct TrustChangeFlags {
  std::vector<std::string> add_keys;        // files
  std::vector<std::string> revoke;          // key ids
  std::string revoke_since;                 // of these; empty: none of their signatures counts
  std::vector<std::string> trusted_roots;   // NAME=FILE
  std::vector<std::string> put_principals;  // files
  std::vector<std::string> remove_principals;
  std::vector<std::string> appraisals;            // files
  std::vector<std::string> revoke_nodes;          // names
  std::vector<std::string> registrations;         // files
  std::vector<std::string> remove_registrations;  // ids
  std::vector<std::string> withdraw;              // ids of statements
  std::string withdraw_reason = "other";          // one of kWithdrawalReasons
  std::string reason;
  std::vector<TrustOperation> more;  // of verbs that make their own
  std::string sequence;              // number or "auto"
  std::string out;
  ConnectionFlags connection;
};

// Adds --sequence, --out, the options of the connection, and --reason as the last one.
void add_trust_change_options(const Command& verb, TrustChangeFlags& flags);

// Writes the payload of the change for 'assay sign'.
[[nodiscard]] Result<Exit> write_trust_change(const Context& context,
                                              const TrustChangeFlags& flags);

// Prints what the service trusts.
[[nodiscard]] Result<Exit> show_trust(const Context& context, const ConnectionFlags& connection);

// Fetches an epoch of the service: "trust", "revocation" or "policy".
[[nodiscard]] Result<std::uint64_t> fetch_epoch(const Context& context,
                                                const ConnectionFlags& connection,
                                                const char* which);

}  // namespace assay::cli
