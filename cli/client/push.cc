// SPDX-License-Identifier: Apache-2.0
#include "cli/client/push.h"

#include "schemas/policy_document.h"

namespace assay::cli {

Result<Json> push_document(client::Api& api, const LoadedDocument& document, ByteView envelope) {
  constexpr std::string_view kBundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";
  const Payload& payload = document.payload;
  const bool bundle = document.envelope && !document.envelope->bundle.empty();
  const std::string_view type = bundle ? kBundleType : client::kEnvelopeType;
  switch (payload.kind) {
    case PayloadKind::kManifest:
      return api.post("/v1/manifests", envelope, type);
    case PayloadKind::kAttestation:
    case PayloadKind::kStageEvidence:
      return api.post("/v1/attestations", envelope, type);
    case PayloadKind::kPolicy:
    case PayloadKind::kReferenceSet:
      return api.post("/v1/policies", envelope, client::kEnvelopeType);
    case PayloadKind::kTrustChange:
      return api.post("/v1/trust/changes", envelope, client::kEnvelopeType);
    case PayloadKind::kWithdrawal:
      return api.post("/v1/withdrawals", envelope, client::kEnvelopeType);
    case PayloadKind::kEndorsements:
      return api.post("/v1/endorsements", envelope, client::kEnvelopeType);
    case PayloadKind::kPolicyApproval: {
      ASSAY_ASSIGN(const PolicyApproval approval, parse_policy_approval(payload.bytes));
      const bool activate = approval.action == PolicyApproval::Action::kActivate;
      return api.post(
          "/v1/policies/" + approval.policy.text() + (activate ? ":activate" : ":deactivate"),
          envelope, client::kEnvelopeType);
    }
    case PayloadKind::kDecision:
    case PayloadKind::kOther:
      break;
  }
  return fail(ErrorCode::kPayloadTypeUnknown,
              "The service takes no documents of type " + payload.type);
}

}  // namespace assay::cli
