// SPDX-License-Identifier: Apache-2.0
// Collateral as state: its parts, their order, and evidence under a set.
#include "attestation/collateral_set.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "attestation/tdx_evidence.h"
#include "schemas/core/sha.h"
#include "tests/attestation/evidence.h"
#include "tests/attestation/tdx/shared_vectors.h"

namespace assay::attestation {
namespace {

using namespace assay::test;

CollateralSetPtr set_of(const tdx::SimulationSpec& spec) {
  const Appraisal appraisal = valid_appraisal();
  return authenticate_collateral("tdx", evidence_of(spec).collateral, appraisal.dangerous_anchors)
      .value();
}

const CollateralPart& part(const CollateralSet& set, std::string_view kind) {
  return *std::ranges::find(set.parts(), kind, &CollateralPart::kind);
}

Result<AppraisedEvidence> appraise_in(const CollateralSet& set, const Evidence& evidence,
                                      const Appraisal& appraisal) {
  return appraise_under(set, evidence, appraisal, Purpose::kEnrol, expected_report_data(),
                        tdx::testing::now());
}

TEST(CollateralSet, PartsNameTheAnchor_UnlessItIsTheVendors) {
  const auto set = set_of(evidence_spec());
  EXPECT_FALSE(set->anchor_is_vendor());
  const std::string prefix = "tdx/" + set->anchor().hex() + "/";
  std::vector<std::string> names;
  for (const CollateralPart& entry : set->parts()) {
    names.push_back(entry.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{prefix + "root-crl", prefix + "pck-crl/platform",
                                      prefix + "tcb-info/5ac06f000000", prefix + "qe-identity"}));
  EXPECT_EQ(names, collateral_names(valid_evidence(), valid_appraisal()));
  EXPECT_EQ(part(*set, "tcb-info").number, 18U);
  EXPECT_EQ(set->digest(), sha256(as_bytes(canonical_json(set->bundle()).value())));
}

// Intel's own: no root is configured, and a set of a simulator says nothing about it.
TEST(CollateralSet, OfRealEvidence_IsTheVendors) {
  const auto folder = tdx::testing::vectors_folder() / "mutations/base_A_v4_tdx10_module1";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no vectors at " << folder;
  }
  const Evidence evidence{"tdx",
                          tdx::testing::read_file(folder / "quote.bin"),
                          {},
                          tdx::testing::read_json(folder / "collateral.json")};
  const Timestamp then = parse_rfc3339("2025-07-01T00:00:00Z").value();
  const ReportDataBytes data = tdx::parse_quote(evidence.quote)->report.report_data;
  const Appraisal appraisal = default_appraisal("tdx");
  const auto under = [&](const CollateralSet& set, const Appraisal& terms) {
    return appraise_under(set, evidence, terms, Purpose::kInspect, data, then).value();
  };
  const auto set = authenticate_collateral("tdx", evidence.collateral, {}).value();
  EXPECT_TRUE(set->anchor_is_vendor());
  EXPECT_EQ(part(*set, "tcb-info").name, "tdx/tcb-info/b0c06f000000");
  EXPECT_EQ(part(*set, "tcb-info").number, 17U);
  EXPECT_EQ(part(*set, "qe-identity").name, "tdx/qe-identity");
  EXPECT_EQ(collateral_names(evidence, valid_appraisal()), collateral_names(evidence, appraisal));
  EXPECT_EQ(collateral_names(evidence, appraisal),
            tdx_collateral_names("b0c06f000000", "platform", nullptr));
  const auto appraised = under(*set, appraisal);
  EXPECT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_TRUE(appraised.anchor_is_vendor);
  EXPECT_EQ(appraised.trustworthiness.hardware, 2);
  EXPECT_FALSE(under(*set_of(evidence_spec()), valid_appraisal()).accepted);
}

TEST(CollateralSet, NamesOfEvidence_ForgedAnchorOrNoQuote) {
  Appraisal vendor_only = valid_appraisal();
  vendor_only.dangerous_anchors.clear();
  EXPECT_EQ(collateral_names(valid_evidence(), vendor_only).front(), "tdx/root-crl");
  Evidence broken = valid_evidence();
  broken.quote.resize(100);
  EXPECT_TRUE(collateral_names(broken, valid_appraisal()).empty());
  broken.type = "other";
  EXPECT_TRUE(collateral_names(broken, valid_appraisal()).empty());
}

TEST(CollateralSet, WithoutTheChainOfThePckCrl_HasNoPartForIt) {
  Json bundle = valid_evidence().collateral;
  bundle["pck_crl_issuer_chain"] = "";
  const auto set =
      authenticate_collateral("tdx", bundle, valid_appraisal().dangerous_anchors).value();
  EXPECT_EQ(set->parts().size(), 3U);
  EXPECT_EQ(std::ranges::count(set->parts(), "pck-crl", &CollateralPart::kind), 0);
}

TEST(CollateralSet, Substance_IsThatWithoutDates) {
  const auto first = set_of(evidence_spec());
  auto spec = evidence_spec();
  spec.tcb_info["issueDate"] = "2026-01-31T00:00:00Z";
  spec.tcb_info["nextUpdate"] = "2026-03-31T00:00:00Z";
  spec.pck_crl.this_update += std::chrono::hours(1);
  const auto renewed = set_of(spec);
  for (const char* kind : {"tcb-info", "pck-crl", "root-crl", "qe-identity"}) {
    EXPECT_EQ(part(*first, kind).substance, part(*renewed, kind).substance) << kind;
  }
  EXPECT_NE(first->digest(), renewed->digest());
  spec.tcb_info["tcbLevels"][0]["tcbStatus"] = "OutOfDate";
  spec.pck_crl.revoked = {4711};
  const auto changed = set_of(spec);
  EXPECT_NE(part(*changed, "tcb-info").substance, part(*renewed, "tcb-info").substance);
  EXPECT_NE(part(*changed, "pck-crl").substance, part(*renewed, "pck-crl").substance);
}

TEST(CollateralSet, Order_IsNumberThenDate_AndFitsJson) {
  const Timestamp early = parse_rfc3339("2026-01-01T00:00:00Z").value();
  const Timestamp late = parse_rfc3339("2026-01-01T00:00:01Z").value();
  EXPECT_LT(collateral_order(17, late), collateral_order(18, early));
  EXPECT_LT(collateral_order(18, early), collateral_order(18, late));
  EXPECT_LT(collateral_order(UINT64_MAX, late), std::uint64_t{1} << 53);
  EXPECT_LT(collateral_order(UINT64_MAX, early), collateral_order(UINT64_MAX, late));
}

TEST(CollateralSet, ThatIsNotAuthentic_IsRefusedByName) {
  Json bundle = valid_evidence().collateral;
  std::string info = bundle["tcb_info"].get<std::string>();
  info.replace(info.find("\"tcbEvaluationDataNumber\":18"), 28, "\"tcbEvaluationDataNumber\":99");
  bundle["tcb_info"] = info;
  const auto refused = authenticate_collateral("tdx", bundle, valid_appraisal().dangerous_anchors);
  EXPECT_EQ(refused.error().code, ErrorCode::kCollateralRefused);
  EXPECT_TRUE(refused.error().detail.starts_with("TCB_INFO_SIGNATURE"));
  EXPECT_EQ(authenticate_collateral("tdx", valid_evidence().collateral, {}).error().code,
            ErrorCode::kCollateralRefused);
  EXPECT_EQ(authenticate_collateral("mock", bundle, {}).error().code,
            ErrorCode::kEvidenceTypeUnknown);
  bundle.erase("qe_identity");
  EXPECT_EQ(authenticate_collateral("tdx", bundle, {}).error().code, ErrorCode::kSchemaViolation);
}

TEST(CollateralSet, EvidenceUnderASet_IsJudgedAsWithItsOwn) {
  Evidence evidence = valid_evidence();
  const auto own = appraise_now(evidence, valid_appraisal()).value();
  const auto set = set_of(evidence_spec());
  evidence.collateral = Json();
  const auto under = appraise_in(*set, evidence, valid_appraisal()).value();
  EXPECT_TRUE(under.accepted) << under.error;
  EXPECT_EQ(under.result, own.result);
  EXPECT_EQ(under.collateral, set->digest());
}

// A set, evidence and an appraisal of different types decide nothing together.
TEST(CollateralSet, OfAnotherTypeOrMediaType_DecidesNothing) {
  const auto set = set_of(evidence_spec());
  const auto code_of = [&](const char* type, const char* media_type, const char* appraised_type) {
    Evidence evidence = valid_evidence();
    evidence.type = type;
    evidence.media_type = media_type;
    Appraisal appraisal = valid_appraisal();
    appraisal.evidence_type = appraised_type;
    const auto appraised = appraise_in(*set, evidence, appraisal);
    return appraised ? std::string(appraised->accepted ? "accepted" : "refused")
                     : std::string(info(appraised.error().code).code);
  };
  const std::string media_type_of_tdx(kTdxMediaType);
  EXPECT_EQ(code_of("tdx", "", "tdx"), "accepted");
  EXPECT_EQ(code_of("tdx", media_type_of_tdx.c_str(), "tdx"), "accepted");
  EXPECT_EQ(code_of("tdx", "application/vnd.example", "tdx"), "evidence-type-unknown");
  EXPECT_EQ(code_of("other", "", "tdx"), "evidence-type-unknown");
  EXPECT_EQ(code_of("tdx", "", "other"), "evidence-type-unknown");
  EXPECT_EQ(code_of("other", "", "other"), "evidence-type-unknown");
}

// Says that it is collateral of TDX, and is not what this program authenticated.
class ForgedSet final : public CollateralSet {
 public:
  explicit ForgedSet(const CollateralSet& of) : of_(of) {}
  [[nodiscard]] std::string_view type() const override { return of_.type(); }
  [[nodiscard]] const Json& bundle() const override { return of_.bundle(); }
  [[nodiscard]] const Digest& digest() const override { return of_.digest(); }
  [[nodiscard]] const Digest& anchor() const override { return of_.anchor(); }
  [[nodiscard]] bool anchor_is_vendor() const override { return true; }
  [[nodiscard]] Timestamp valid_from() const override { return of_.valid_from(); }
  [[nodiscard]] Timestamp valid_until() const override { return of_.valid_until(); }
  [[nodiscard]] const std::vector<CollateralPart>& parts() const override { return of_.parts(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return of_.memory_bytes(); }

 private:
  const CollateralSet& of_;
};

TEST(CollateralSet, OfAnotherClass_DecidesNothing) {
  const auto set = set_of(evidence_spec());
  EXPECT_EQ(appraise_in(ForgedSet(*set), valid_evidence(), valid_appraisal()).error().code,
            ErrorCode::kInternal);
}

TEST(CollateralSet, Members_AreThoseOfThePart) {
  const auto set = set_of(evidence_spec());
  Json all = Json::object();
  for (const CollateralPart& entry : set->parts()) {
    all.update(members_of(*set, entry));
  }
  EXPECT_EQ(all, set->bundle());
  EXPECT_EQ(members_of(*set, part(*set, "root-crl")),
            Json({{"root_ca_crl", set->bundle()["root_ca_crl"]}}));
  // With all the leaves that it may come to know.
  EXPECT_GT(set->memory_bytes(),
            set->bundle().dump().size() + tdx::kMaxKnownLeaves * tdx::kBytesOfAKnownLeaf);
}

// The chain says under which anchor to look; without one, it is the vendor's.
TEST(CollateralSet, WithoutAChain_IsNotUnderAnyAnchor) {
  for (const char* chain : {"", "none", "\n"}) {
    Json bundle = valid_evidence().collateral;
    bundle["tcb_info_issuer_chain"] = chain;
    const auto refused =
        authenticate_collateral("tdx", bundle, valid_appraisal().dangerous_anchors);
    EXPECT_EQ(refused.error().code, ErrorCode::kCollateralRefused);
    EXPECT_TRUE(refused.error().detail.starts_with("ROOT_CRL_SIGNATURE")) << refused.error().detail;
  }
}

TEST(CollateralSet, OfAnAnchorThatIsNotAccepted_Refuses) {
  Appraisal vendor_only = valid_appraisal();
  vendor_only.dangerous_anchors.clear();
  const auto set = set_of(evidence_spec());
  EXPECT_EQ(appraise_in(*set, valid_evidence(), vendor_only)->error, "PCK_ROOT_UNTRUSTED");
}

// The second quote of a machine finds its chain known; time and revocation are looked at again.
TEST(CollateralSet, KnownLeaf_IsStillRevokedAndStillExpires) {
  auto spec = evidence_spec();
  spec.pck.not_after = tdx::testing::now() + std::chrono::hours(1);
  const auto set = set_of(spec);
  const Evidence evidence = evidence_of(spec);
  const Appraisal appraisal = valid_appraisal();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(appraise_in(*set, evidence, appraisal)->accepted) << i;
  }
  // The collateral lasts for weeks.
  const auto late =
      appraise_under(*set, evidence, appraisal, Purpose::kEnrol, expected_report_data(),
                     tdx::testing::now() + std::chrono::hours(2));
  EXPECT_EQ(late->error, "PCK_CERT_EXPIRED");
  Evidence forged = evidence;
  forged.quote[700] ^= 1;  // in the key of the quoting enclave: the chain is known, the rest is not
  EXPECT_FALSE(appraise_in(*set, forged, appraisal)->accepted);
  spec.pck_crl.revoked = {spec.pck.serial};
  const auto revoking = set_of(spec);
  EXPECT_EQ(appraise_in(*revoking, evidence, appraisal)->error, "PCK_CERT_REVOKED");
  EXPECT_EQ(appraise_in(*revoking, evidence, appraisal)->error, "PCK_CERT_REVOKED") << "again";
}

}  // namespace
}  // namespace assay::attestation
