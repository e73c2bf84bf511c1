// SPDX-License-Identifier: Apache-2.0
// The handlers, grouped by resource, as the route table names them. schemas/openapi.yaml says what
// each handler does.
#pragma once

#include "server/api/route.h"

namespace assay::server {

// statements.cc
Result<Response> post_manifest(Api& api, const Call& call);
Result<Response> list_manifests(Api& api, const Call& call);
Result<Response> get_manifest(Api& api, const Call& call);
Result<Response> post_attestation(Api& api, const Call& call);
Result<Response> list_attestations(Api& api, const Call& call);
Result<Response> get_attestation(Api& api, const Call& call);
Result<Response> get_model(Api& api, const Call& call);
Result<Response> get_lineage(Api& api, const Call& call);

// policies.cc
Result<Response> post_policy(Api& api, const Call& call);
Result<Response> list_policies(Api& api, const Call& call);
Result<Response> get_policy(Api& api, const Call& call);
Result<Response> activate_policy(Api& api, const Call& call);
Result<Response> deactivate_policy(Api& api, const Call& call);
Result<Response> validate_policy(Api& api, const Call& call);

// trust.cc
Result<Response> get_trust(Api& api, const Call& call);
Result<Response> post_trust_change(Api& api, const Call& call);

// withdrawals.cc
Result<Response> post_withdrawal(Api& api, const Call& call);
Result<Response> list_withdrawals(Api& api, const Call& call);

// decisions.cc
Result<Response> post_decision(Api& api, const Call& call);
Result<Response> list_decisions(Api& api, const Call& call);
Result<Response> get_decision(Api& api, const Call& call);
Result<Response> replay_decision(Api& api, const Call& call);
Result<Response> get_decision_export(Api& api, const Call& call);

// impact.cc
Result<Response> post_decision_impact(Api& api, const Call& call);
Result<Response> post_pod_impact(Api& api, const Call& call);
Result<Response> list_affected_pods(Api& api, const Call& call);
Result<Response> get_pods(Api& api, const Call& call);

// admission.cc
Result<Response> admission_validate(Api& api, const Call& call);
Result<Response> admission_mutate(Api& api, const Call& call);

// audit.cc
Result<Response> list_events(Api& api, const Call& call);
Result<Response> get_document(Api& api, const Call& call);

// log.cc
Result<Response> get_checkpoint(Api& api, const Call& call);
Result<Response> get_log_entry(Api& api, const Call& call);
Result<Response> get_inclusion(Api& api, const Call& call);
Result<Response> get_consistency(Api& api, const Call& call);
Result<Response> get_checkpoint_note(Api& api, const Call& call);
Result<Response> get_tile(Api& api, const Call& call);
Result<Response> get_entry_bundle(Api& api, const Call& call);

// nodes.cc
Result<Response> post_challenge(Api& api, const Call& call);
Result<Response> post_statement_challenge(Api& api, const Call& call);
Result<Response> post_node(Api& api, const Call& call);
Result<Response> list_nodes(Api& api, const Call& call);
Result<Response> get_node(Api& api, const Call& call);
Result<Response> post_heartbeat(Api& api, const Call& call);

// collateral.cc
Result<Response> put_collateral(Api& api, const Call& call);
Result<Response> post_endorsements(Api& api, const Call& call);
Result<Response> get_endorsements(Api& api, const Call& call);
Result<Response> list_collateral(Api& api, const Call& call);
Result<Response> get_collateral_set(Api& api, const Call& call);

// jobs.cc
Result<Response> post_job(Api& api, const Call& call);
Result<Response> list_jobs(Api& api, const Call& call);
Result<Response> get_job(Api& api, const Call& call);
Result<Response> post_lease(Api& api, const Call& call);
Result<Response> renew_job(Api& api, const Call& call);
Result<Response> fail_lease(Api& api, const Call& call);
Result<Response> post_report(Api& api, const Call& call);
Result<Response> post_outline(Api& api, const Call& call);
Result<Response> post_spot(Api& api, const Call& call);

// outline.cc
Result<Response> put_model_outline(Api& api, const Call& call);

// operations.cc
Result<Response> get_livez(Api& api, const Call& call);
Result<Response> get_readyz(Api& api, const Call& call);
Result<Response> get_metrics(Api& api, const Call& call);
Result<Response> get_version(Api& api, const Call& call);
Result<Response> get_openapi(Api& api, const Call& call);
Result<Response> get_jwks(Api& api, const Call& call);

}  // namespace assay::server
