// SPDX-License-Identifier: Apache-2.0
// All verbs, one file for each group. Each function registers its group below `root`.
#pragma once

#include <string>

#include "cli/command.h"

namespace assay::cli {

void add_hash(const Command& root, Context& context);
void add_device(const Command& root, Context& context);
void add_manifest(const Command& root, Context& context);
void add_attest(const Command& root, Context& context);
void add_evidence(const Command& root, Context& context);
void add_collateral(const Command& root, Context& context);
void add_endorsements(const Command& root, Context& context);
void add_verify_bundle(const Command& root, Context& context);
void add_setup(const Command& root, Context& context);
void add_sign(const Command& root, Context& context);
void add_verify_model(const Command& root, Context& context);
void add_review(const Command& root, Context& context);
void add_key(const Command& root, Context& context);
void add_trust(const Command& root, Context& context);
void add_refvalues(const Command& root, Context& context);
void add_token(const Command& root, Context& context);
void add_push(const Command& root, Context& context);
void add_release(const Command& root, Context& context);
void add_withdraw(const Command& root, Context& context);
void add_scitt(const Command& root, Context& context);
void add_search(const Command& root, Context& context);
void add_layout(const Command& root, Context& context);
void add_lineage(const Command& root, Context& context);
void add_bom(const Command& root, Context& context);
void add_fetch(const Command& root, Context& context);
void add_policy(const Command& root, Context& context);
void add_impact(const Command& root, Context& context);
void add_decide(const Command& root, Context& context);
void add_decision(const Command& root, Context& context);
void add_fill(const Command& root, Context& context);
void add_explain(const Command& root, Context& context);
void add_admission(const Command& root, Context& context);
void add_pages(const Command& root, Context& context);
void add_status(const Command& root, Context& context);
void add_audit(const Command& root, Context& context);
void add_log(const Command& root, Context& context);
void add_node(const Command& root, Context& context);
void add_job(const Command& root, Context& context);
void add_worker(const Command& root, Context& context);

// Verbs of "attest", "manifest" and "policy" that have their own files, and signing under a group's
// name.
void add_attest_stored(const Command& group, Context& context);
void add_manifest_verify(const Command& group, Context& context);
void add_manifest_import(const Command& group, Context& context);
void add_manifest_prove(const Command& group, Context& context);
void add_manifest_place(const Command& group, Context& context);
void add_policy_activation(const Command& group, Context& context);
void add_policy_test(const Command& group, Context& context);
void add_sign_to(const Command& group, Context& context, const std::string& example);

}  // namespace assay::cli
