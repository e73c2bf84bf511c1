// SPDX-License-Identifier: Apache-2.0
// The route table: who may call what, and what it takes and gives. schemas/openapi.yaml says the
// same to clients; a test compares the two.

#include <algorithm>

#include "schemas/document_size.h"
#include "schemas/endorsements.h"
#include "schemas/evidence.h"
#include "schemas/report_size.h"
#include "server/api/handlers.h"
#include "server/service/documents/outlines.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {
namespace {

constexpr std::size_t kManifestBytes = kMaxEnvelopeBytes;
constexpr std::size_t kDocumentBytes = kMaxOtherEnvelopeBytes;
constexpr std::size_t kReviewBytes = kMaxReviewBytes;
constexpr std::size_t kDecisionBytes = 256U << 10;
constexpr std::size_t kSmallBytes = 64U << 10;
constexpr std::size_t kEvidenceBytes = 16U << 20;
// The longest evidence, in base64 twice, and its collateral, in base64 once, leave 5 MiB.
static_assert((kMaxOtherEvidenceBytes + kMaxEventLogBytes) * 16 / 9 +
                  kMaxEvidenceCollateralBytes * 4 / 3 + (5U << 20) <
              kEvidenceBytes);
constexpr std::size_t kHeartbeatBytes = 128U << 10;
constexpr std::size_t kReportBytes = kMaxReportBody;

using Names = std::vector<std::string_view>;
using enum AccessRole;

const Access kPublic{Access::Kind::kPublic, {}};
const Access kAnyRole{Access::Kind::kAnyRole, {}};

Access roles(AccessRoles names) { return {Access::Kind::kRoles, std::move(names)}; }

const Access& readers() {
  static const Access access =
      roles({kReader, kSubmitter, kPolicyAuthor, kPolicyApprover, kDecider, kAuditor});
  return access;
}

Route get(std::string path, Access access, Handler handler, Names parameters = {},
          Names produces = {kJson}) {
  return {{Method::kGet, Listener::kApi, std::move(path)},
          std::move(access),
          std::move(parameters),
          0,
          {},
          std::move(produces),
          handler};
}

// A POST of a signed envelope.
Route post_envelope(std::string path, Access access, Handler handler,
                    std::size_t body_limit = kDocumentBytes) {
  return {{Method::kPost, Listener::kApi, std::move(path)},
          std::move(access),
          {},
          body_limit,
          {kDsse, kJson},
          {kJson},
          handler};
}

// A POST of a signed statement, which may come as a sigstore bundle.
Route post_statement(std::string path, Access access, Handler handler,
                     std::size_t body_limit = kDocumentBytes) {
  Route route = post_envelope(std::move(path), std::move(access), handler, body_limit);
  route.consumes.push_back(kBundle);
  return route;
}

Route post_json(Listener listener, std::string path, Access access, Handler handler,
                std::size_t body_limit, Names parameters = {}) {
  return {{Method::kPost, listener, std::move(path)},
          std::move(access),
          std::move(parameters),
          body_limit,
          {kJson},
          {kJson},
          handler};
}

// A POST without a body.
Route post_empty(std::string path, Access access, Handler handler, Names parameters = {}) {
  return {{Method::kPost, Listener::kApi, std::move(path)},
          std::move(access),
          std::move(parameters),
          0,
          {},
          {kJson},
          handler};
}

void add_documents(std::vector<Route>& table) {
  const Names types = {kJson, kDsse, kBundle};
  // Workers hash what a manifest lists.
  const Access manifest_readers =
      roles({kReader, kSubmitter, kPolicyAuthor, kPolicyApprover, kDecider, kAuditor, kWorker});
  table.push_back(
      post_statement("/v1/manifests", roles({kSubmitter}), post_manifest, kManifestBytes));
  table.push_back(get("/v1/manifests", manifest_readers, list_manifests,
                      {"artifact", "name", "signer", "since", "until", "limit", "cursor"}));
  table.push_back(get("/v1/manifests/{id}", manifest_readers, get_manifest, {}, types));
  table.push_back(post_statement("/v1/attestations", roles({kSubmitter}), post_attestation));
  table.push_back(get("/v1/attestations", readers(), list_attestations,
                      {"subject", "predicate_type", "stage", "name", "signer", "since", "until",
                       "limit", "cursor"}));
  table.push_back(get("/v1/attestations/{id}", readers(), get_attestation, {}, types));
  table.push_back(get("/v1/models/{artifact}", readers(), get_model));
  table.push_back(post_envelope("/v1/withdrawals", roles({kSubmitter}), post_withdrawal,
                                kMaxWithdrawalEnvelopeBytes));
  table.push_back(get("/v1/withdrawals", readers(), list_withdrawals, {"after", "limit"}));
  table.push_back(
      get("/v1/models/{artifact}/lineage", readers(), get_lineage, {"direction", "depth"}));
}

void add_policies(std::vector<Route>& table) {
  const Names types = {kJson, kDsse};
  table.push_back(post_envelope("/v1/policies", roles({kPolicyAuthor}), post_policy));
  table.push_back(
      get("/v1/policies", readers(), list_policies, {"name", "active", "limit", "cursor"}));
  table.push_back(get("/v1/policies/{id}", readers(), get_policy, {}, types));
  table.push_back(
      post_envelope("/v1/policies/{id}:activate", roles({kPolicyApprover}), activate_policy));
  table.push_back(
      post_envelope("/v1/policies/{id}:deactivate", roles({kPolicyApprover}), deactivate_policy));
  table.push_back(post_json(Listener::kApi, "/v1/policies:validate",
                            roles({kPolicyAuthor, kPolicyApprover}), validate_policy,
                            kDocumentBytes));
  table.push_back(
      get("/v1/trust", roles({kAdmin, kAuditor, kPolicyApprover, kPolicyAuthor}), get_trust));
  table.push_back(post_envelope("/v1/trust/changes", roles({kAdmin}), post_trust_change));
}

void add_decisions(std::vector<Route>& table) {
  const Access lookers = roles({kReader, kDecider, kAuditor});
  table.push_back(
      post_json(Listener::kApi, "/v1/decisions", roles({kDecider}), post_decision, kDecisionBytes));
  table.push_back(get("/v1/decisions", lookers, list_decisions,
                      {"subject", "namespace", "reason", "verdict", "pod", "user", "cluster",
                       "model", "since", "until", "order", "total", "request", "limit", "cursor"}));
  table.push_back(get("/v1/decisions/{id}", lookers, get_decision, {}, {kJson, kDsse}));
  // An export holds what /v1/documents shows, such as the first trust and its changes.
  table.push_back(get("/v1/decisions/{id}/export", roles({kAuditor}), get_decision_export));
  table.push_back(
      post_empty("/v1/decisions/{id}:replay", roles({kDecider, kAuditor}), replay_decision));
  const Access askers = roles({kPolicyAuthor, kPolicyApprover, kAuditor, kAdmin});
  table.push_back(post_json(Listener::kApi, "/v1/impact/decisions", askers, post_decision_impact,
                            kDocumentBytes));
  table.push_back(
      post_json(Listener::kApi, "/v1/impact/pods", askers, post_pod_impact, kDocumentBytes));
  table.push_back(get("/v1/pods", lookers, get_pods, {"after", "limit"}));
  table.push_back(get("/v1/pods/affected", askers, list_affected_pods,
                      {"key", "statement", "artifact", "after", "limit"}));
  table.push_back(post_json(Listener::kAdmission, "/v1/admission/validate", roles({kAdmission}),
                            admission_validate, kReviewBytes, {"timeout"}));
  table.push_back(post_json(Listener::kAdmission, "/v1/admission/mutate", roles({kAdmission}),
                            admission_mutate, kReviewBytes, {"timeout"}));
}

void add_nodes(std::vector<Route>& table) {
  const Access worker = roles({kWorker});
  const Access lookers = roles({kReader, kAuditor, kDecider, kWorker});
  table.push_back(post_json(Listener::kApi, "/v1/challenges", worker, post_challenge, kSmallBytes));
  table.push_back(
      post_empty("/v1/challenges:statement", roles({kSubmitter}), post_statement_challenge));
  table.push_back(post_envelope("/v1/nodes", worker, post_node, kEvidenceBytes));
  table.push_back(get("/v1/nodes", lookers, list_nodes, {"after", "limit"}));
  table.push_back(get("/v1/nodes/{node}", lookers, get_node));
  table.push_back(
      post_envelope("/v1/nodes/{node}/heartbeat", worker, post_heartbeat, kHeartbeatBytes));
  table.back().vital = true;
  const Access keepers = roles({kAdmin, kSubmitter, kReader, kAuditor, kWorker});
  table.push_back({{Method::kPut, Listener::kApi, "/v1/collateral"},
                   roles({kAdmin, kSubmitter}),
                   {},
                   kEvidenceBytes,
                   {kJson},
                   {kJson},
                   put_collateral});
  table.push_back(post_envelope("/v1/endorsements", roles({kAdmin, kSubmitter}), post_endorsements,
                                kMaxEndorsementsEnvelopeBytes));
  table.push_back(get("/v1/endorsements", keepers, get_endorsements));
  table.push_back(get("/v1/collateral", keepers, list_collateral, {"after", "limit"}));
  table.push_back(
      get("/v1/collateral:set", keepers, get_collateral_set, {"fmspc", "ca", "anchor"}));
  table.push_back(post_empty("/v1/nodes/{node}/lease", worker, post_lease, {"wait"}));
  table.back().vital = true;
  table.push_back(post_json(Listener::kApi, "/v1/jobs", roles({kDecider, kSubmitter}), post_job,
                            kDocumentBytes));
  table.push_back(get("/v1/jobs", roles({kReader, kSubmitter, kAuditor, kDecider, kWorker}),
                      list_jobs, {"node", "artifact", "state", "after", "limit"}));
  table.push_back(
      get("/v1/jobs/{id}", roles({kReader, kSubmitter, kAuditor, kDecider, kWorker}), get_job));
  table.push_back(post_empty("/v1/jobs/{id}:renew", worker, renew_job, {"lease"}));
  table.back().vital = true;
  table.push_back(
      post_empty("/v1/jobs/{id}:fail", worker, fail_lease, {"lease", "code", "refused"}));
  table.back().vital = true;
  table.push_back(post_json(Listener::kApi, "/v1/jobs/{id}/report", worker, post_report,
                            kReportBytes, {"lease"}));
  table.push_back(post_json(Listener::kApi, "/v1/jobs/{id}/outline", worker, post_outline,
                            kEvidenceBytes, {"lease"}));
  table.push_back(post_json(Listener::kApi, "/v1/jobs/{id}/spot", worker, post_spot, kDocumentBytes,
                            {"lease"}));
  table.push_back({{Method::kPut, Listener::kApi, "/v1/models/{artifact}/outline"},
                   roles({kSubmitter}),
                   {},
                   kMaxOutlineBytes,
                   {kBinary},
                   {kJson},
                   put_model_outline});
}

void add_log(std::vector<Route>& table) {
  const Access lookers = roles({kReader, kAuditor});
  table.push_back(get("/v1/audit/events", roles({kAuditor}), list_events,
                      {"type", "actor", "subject", "since", "until", "order", "limit", "cursor"}));
  // A document has its own media type: whatever the client accepts, it gets that.
  table.push_back(get("/v1/documents/{id}", roles({kAuditor}), get_document, {}, {}));
  table.push_back(get("/v1/log/checkpoint", lookers, get_checkpoint));
  table.push_back(get("/v1/log/entries/{index}", lookers, get_log_entry));
  table.push_back(get("/v1/log/entries/{index}/proof", lookers, get_inclusion, {"tree_size"},
                      {kJson, kCoseReceipt}));
  table.push_back(get("/v1/log/consistency", lookers, get_consistency, {"first", "second"}));
  table.push_back(get("/log/checkpoint", kPublic, get_checkpoint_note, {}, {kPlainText}));
  table.push_back(get("/log/tile/{level}/{index...}", kPublic, get_tile, {}, {kBinary}));
  // Records name principals, namespaces and pods: hashes are enough to check proofs.
  table.push_back(
      get("/log/tile/entries/{index...}", roles({kAuditor}), get_entry_bundle, {}, {kBinary}));
}

void add_operations(std::vector<Route>& table) {
  // Whoever probes these restarts the service, or takes it out of use, when no answer comes: work
  // must not look like death, nor strangers in the queue like a disk that fails.
  table.push_back(get("/livez", kPublic, get_livez, {}, {kPlainText}));
  table.back().at_once = true;
  table.push_back(get("/readyz", kPublic, get_readyz, {}, {kPlainText}));
  table.back().at_once = true;
  table.push_back(
      get("/metrics", roles({kMonitor, kAuditor, kAdmin}), get_metrics, {}, {kPlainText}));
  table.push_back(get("/version", kAnyRole, get_version));
  table.push_back(get("/openapi.json", kPublic, get_openapi));
  table.push_back(get("/.well-known/jwks.json", kPublic, get_jwks));
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> made;
    add_documents(made);
    add_policies(made);
    add_decisions(made);
    add_nodes(made);
    add_log(made);
    add_operations(made);
    return made;
  }();
  return table;
}

const std::vector<Route>& routes_with_public_entries() {
  static const std::vector<Route> table = [] {
    std::vector<Route> made = routes();
    std::ranges::find(made, &get_entry_bundle, &Route::handler)->access = kPublic;
    return made;
  }();
  return table;
}

}  // namespace assay::server
