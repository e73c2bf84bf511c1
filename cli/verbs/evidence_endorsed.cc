// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/evidence_endorsed.h"

#include <algorithm>

#include "attestation/corim/reference_document.h"
#include "attestation/snp/verify.h"
#include "attestation/tdx/quote_platform.h"
#include "cli/documents/endorsed.h"
#include "cli/output.h"
#include "cli/verbs/hash_result.h"
#include "client/files.h"
#include "schemas/core/sha.h"
#include "schemas/evidence.h"

namespace assay::cli {
namespace {

constexpr std::string_view kRimMember = "rim/";

// The ends of the names of all parts that the evidence asks for.
std::vector<std::string> asked_by(std::string_view type, ByteView evidence) {
  if (type == kTdxEvidence) {
    const auto family = attestation::tdx::claimed_family(evidence);
    return family ? std::vector<std::string>{"/tcb-info/" + hex_encode(family->fmspc),
                                             "/pck-crl/" + family->ca}
                  : std::vector<std::string>{"/tcb-info/"};
  }
  const auto claimed = attestation::snp::claimed(evidence);
  return {"/crl/" + (claimed && claimed->generation
                         ? std::string(attestation::snp::name(*claimed->generation))
                         : std::string())};
}

bool has_parts(const attestation::CollateralSet& set, const std::vector<std::string>& ends) {
  return std::ranges::all_of(ends, [&](const std::string& end) {
    return std::ranges::any_of(set.parts(), [&](const attestation::CollateralPart& part) {
      return part.name.ends_with(end);
    });
  });
}

// Devices take RIMs and answers of all their collateral; other evidence takes the set of its kind
// of machine.
Json collateral_for(const Endorsements& bundle, std::string_view type, ByteView evidence) {
  const auto opened = open_endorsed(bundle);
  Json all;
  for (std::size_t i = 0; i < opened.size(); ++i) {
    const OpenedCollateral& one = opened[i];
    if (one.type != type || one.set == nullptr) {
      continue;
    }
    if (type == kNvidiaEvidence) {
      all.update(bundle.collateral[i].collateral);
    } else if (has_parts(*one.set, asked_by(type, evidence))) {
      return bundle.collateral[i].collateral;
    }
  }
  return all;
}

std::map<std::string, Digest> rims_of(const Json& collateral) {
  std::map<std::string, Digest> digests;
  for (const auto& [member, text] : collateral.items()) {
    if (member.starts_with(kRimMember)) {
      digests.emplace(member.substr(kRimMember.size()),
                      sha256(as_bytes(text.get_ref<const std::string&>())));
    }
  }
  return digests;
}

Status add_reference_values(const Endorsements& bundle, Appraisal& appraisal) {
  for (const Bytes& bytes : bytes_for(bundle.reference_values, appraisal.evidence_type)) {
    ASSAY_ASSIGN(const auto document, attestation::corim::read_reference_document(bytes));
    for (const attestation::corim::DocumentTag& tag : document.tags) {
      appraisal.imported.insert(appraisal.imported.end(), tag.sets.begin(), tag.sets.end());
    }
  }
  return {};
}

Status read_policy_into(const std::string& path, Appraisal& appraisal) {
  if (!path.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
    ASSAY_ASSIGN(appraisal.policy, parse_json(bytes));
  }
  return {};
}

}  // namespace

void add_endorsed_options(const Command& verb, EndorsedFlags& flags) {
  verb.option("--endorsements", flags.file, "FILE",
              "in place of --collateral: a bundle that two operators signed, with its roots and "
              "reference values ('assay endorsements bundle')");
  verb.option(
      "--operators", flags.operators, "FILE",
      "whose signatures of the bundle count: what 'assay trust show -o json' prints, or the "
      "bootstrap document");
}

Result<std::optional<Endorsements>> read_signed_bundle(const Context& context,
                                                       const EndorsedFlags& flags,
                                                       const std::string& at) {
  if (flags.file.empty()) {
    return flags.operators.empty()
               ? Result<std::optional<Endorsements>>(std::nullopt)
               : fail(ErrorCode::kUsage, "--operators goes with --endorsements");
  }
  TrustFlags when;
  when.at = at;
  ASSAY_ASSIGN(const JudgedAt times, times_of(when, context.clock));
  ASSAY_ASSIGN(SignedBundle signed_bundle, load_endorsements(flags.file, flags.operators, times));
  message(context, "Verified with bundle " + std::to_string(signed_bundle.content.number) + " of " +
                       to_rfc3339(signed_bundle.content.made_at) + ", signed by " +
                       few_names(signed_bundle.operators));
  return std::move(signed_bundle.content);
}

Result<Endorsed> endorsed_by(const Endorsements& bundle, std::string_view type, ByteView evidence) {
  Endorsed endorsed;
  endorsed.appraisal.evidence_type = type;
  endorsed.collateral = collateral_for(bundle, type, evidence);
  endorsed.roots = bytes_for(bundle.roots, type);
  if (!endorsed.collateral.is_null()) {
    endorsed.vouched = rims_of(endorsed.collateral);
  }
  ASSAY_TRY(add_reference_values(bundle, endorsed.appraisal));
  return endorsed;
}

Result<Endorsed> read_endorsed(const Context& context, const EndorsedFlags& flags,
                               std::string_view type, ByteView evidence,
                               const std::string& collateral, const std::string& policy,
                               const std::string& at) {
  if (!flags.file.empty() && !collateral.empty()) {
    return fail(ErrorCode::kUsage, "Give --collateral or --endorsements, not both");
  }
  ASSAY_ASSIGN(const auto bundle, read_signed_bundle(context, flags, at));
  Endorsed endorsed;
  endorsed.appraisal.evidence_type = type;
  if (bundle) {
    ASSAY_ASSIGN(endorsed, endorsed_by(*bundle, type, evidence));
    if (endorsed.collateral.is_null()) {
      return fail(ErrorCode::kCollateralMissing, "The bundle has no collateral for this evidence",
                  flags.file);
    }
  }
  ASSAY_TRY(read_policy_into(policy, endorsed.appraisal));
  return endorsed;
}

}  // namespace assay::cli
