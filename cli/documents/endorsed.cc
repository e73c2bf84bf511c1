// SPDX-License-Identifier: Apache-2.0
#include "cli/documents/endorsed.h"

#include <set>

#include "cli/documents/documents.h"
#include "schemas/trust.h"

namespace assay::cli {

std::vector<Bytes> bytes_for(const std::vector<EndorsedBytes>& all, std::string_view type) {
  std::vector<Bytes> found;
  for (const EndorsedBytes& one : all) {
    if (one.type == type) {
      found.push_back(one.bytes);
    }
  }
  return found;
}

std::vector<OpenedCollateral> open_endorsed(const Endorsements& bundle) {
  std::vector<OpenedCollateral> opened;
  for (const EndorsedCollateral& one : bundle.collateral) {
    auto set = attestation::authenticate_collateral(one.type, one.collateral,
                                                    bytes_for(bundle.roots, one.type));
    if (set) {
      opened.push_back({one.type, *std::move(set), {}});
    } else {
      opened.push_back({one.type, nullptr, std::move(set).error()});
    }
  }
  return opened;
}

std::optional<FirstEnd> first_end(const std::vector<OpenedCollateral>& opened) {
  std::optional<FirstEnd> first;
  for (const OpenedCollateral& one : opened) {
    if (one.set == nullptr) {
      continue;
    }
    for (const attestation::CollateralPart& part : one.set->parts()) {
      if (part.kind != "rim" && (!first || part.next_update < first->at)) {
        first = FirstEnd{part.next_update, part.name};
      }
    }
  }
  return first;
}

Result<SignedBundle> load_endorsements(const std::string& path, const std::string& operators,
                                       const JudgedAt& times) {
  if (operators.empty()) {
    return fail(ErrorCode::kUsage,
                "Say whose signatures count: give --operators with what 'assay trust show -o "
                "json' prints, or the bootstrap document");
  }
  ASSAY_ASSIGN(const LoadedDocument document, load_document(path));
  if (document.payload.kind != PayloadKind::kEndorsements) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "This is no bundle but " + std::string(name(document.payload.kind)), path);
  }
  if (!document.envelope) {
    return fail(ErrorCode::kSignatureMissing, "Nobody signed this bundle", path);
  }
  TrustFlags trust;
  trust.trust = operators;
  const SigningContext context{KeyPurpose::kOperator, {}, {}, {}};
  ASSAY_ASSIGN(const TrustedSigners trusted, load_trusted_signers(trust, context));
  ASSAY_ASSIGN(const auto signatures, check_signatures(*document.envelope, trusted, context,
                                                       kTrustChangeThreshold, times));
  ASSAY_ASSIGN(Endorsements content, parse_endorsements(document.payload.bytes));
  std::set<std::string> identities;
  for (const auto& signature : signatures) {
    identities.insert(signature.key.identity);
  }
  return SignedBundle{std::move(content), {identities.begin(), identities.end()}};
}

}  // namespace assay::cli
