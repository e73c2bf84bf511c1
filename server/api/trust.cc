// SPDX-License-Identifier: Apache-2.0
// The trust store: what it holds, and signed changes of it.

#include "server/service/governance/trust.h"

#include "server/api/handlers.h"
#include "server/api/view.h"

namespace assay::server {
namespace {

// Who may call and as what; credentials are nobody's business.
Json principal_view(const Principal& principal) {
  Json roles = Json::array();
  for (const AccessRole role : principal.roles) {
    roles.push_back(name(role));
  }
  Json view = {{"name", principal.name}, {"roles", std::move(roles)}};
  if (principal.not_after) {
    view["not_after"] = to_rfc3339(*principal.not_after);
  }
  return view;
}

bool may_see_principals(const Principal& principal) {
  return principal.roles.contains(AccessRole::kAdmin) ||
         principal.roles.contains(AccessRole::kAuditor);
}

}  // namespace

Result<Response> get_trust(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot->epochs());
  ASSAY_ASSIGN(const auto keys, snapshot->keys());
  Json body = {{"epochs", epochs_view(epochs)}, {"keys", Json::array()}};
  for (const TrustedKey& key : keys) {
    body["keys"].push_back(to_json(key));
  }
  ASSAY_ASSIGN(const auto roots, snapshot->trusted_roots());
  for (const storage::TrustedRootRow& row : roots) {
    body["trusted_roots"].push_back(
        {{"name", row.root.name}, {"version", row.version}, {"document", row.root.document}});
  }
  if (may_see_principals(call.principal)) {
    ASSAY_ASSIGN(const auto principals, snapshot->principals());
    body["principals"] = Json::array();
    for (const Principal& principal : principals) {
      body["principals"].push_back(principal_view(principal));
    }
    ASSAY_ASSIGN(const auto appraisals, snapshot->appraisals());
    body["appraisals"] = Json::array();
    for (const Appraisal& appraisal : appraisals) {
      body["appraisals"].push_back(to_json(appraisal));
    }
    ASSAY_ASSIGN(const auto tags, snapshot->reference_tags());
    body["reference_values"] = Json::array();
    for (const ReferenceTag& tag : tags) {
      body["reference_values"].push_back(to_json(tag));
    }
    ASSAY_ASSIGN(const auto registrations, snapshot->registrations());
    body["registrations"] = Json::array();
    for (const Registration& registration : registrations) {
      body["registrations"].push_back(to_json(registration));
    }
  }
  return with_etag(call, json_response(200, body), kRevalidate);
}

Result<Response> post_trust_change(Api& api, const Call& call) {
  ASSAY_ASSIGN(const TrustApplied applied,
               apply_trust_change(api.services, call.request.body, call.principal));
  api.trust_changed();
  return json_response(200,
                       Json{{"epochs", epochs_view(applied.epochs)}, {"log", applied.receipt}});
}

}  // namespace assay::server
