// SPDX-License-Identifier: Apache-2.0
// TCB info and QE identity: exact signed bytes, content, and binding to the platform.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::Options;
using testing::valid_v4;
using testing::verdict;

// Verdict after `change` was made to the collateral of valid evidence.
template <typename Change>
std::string with_collateral(Change change) {
  Simulation simulation = simulate(valid_v4());
  change(simulation.collateral);
  return verdict(simulation);
}

// Verdict after `change` was made to the document before it was signed.
template <typename Change>
std::string with_tcb_info(Change change) {
  SimulationSpec spec = valid_v4();
  change(spec.tcb_info);
  return verdict(spec);
}

TEST(TdxCollateral, RoundTripThroughJson_KeepsEveryByte) {
  const Collateral collateral = simulate(valid_v4()).collateral;
  const std::string text = to_json(collateral).dump();
  const auto parsed = parse_collateral(as_bytes(text));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(to_json(*parsed), to_json(collateral));
  EXPECT_EQ(digest_of(*parsed), digest_of(collateral));
}

TEST(TdxCollateral, AbsentOrOtherMember_IsRefused) {
  Json json = to_json(simulate(valid_v4()).collateral);
  for (const auto& [key, value] : json.items()) {
    Json without = json;
    without.erase(key);
    EXPECT_FALSE(parse_collateral(as_bytes(without.dump())).has_value()) << key;
    without[key] = nullptr;
    EXPECT_FALSE(parse_collateral(as_bytes(without.dump())).has_value()) << key;
  }
  json["extra"] = 1;
  EXPECT_TRUE(parse_collateral(as_bytes(json.dump())).has_value());
  EXPECT_FALSE(parse_collateral(as_bytes("[]")).has_value());
  EXPECT_FALSE(parse_collateral(as_bytes("")).has_value());
}

TEST(TdxCollateral, Digest_DependsOnEveryMember) {
  const Collateral collateral = simulate(valid_v4()).collateral;
  const Json json = to_json(collateral);
  for (const auto& [key, value] : json.items()) {
    Json changed = json;
    changed[key] = value.get<std::string>() + " ";
    EXPECT_NE(digest_of(parse_collateral(as_bytes(changed.dump())).value()), digest_of(collateral))
        << key;
  }
}

// Such texts have no canonical JSON. No bundle of bytes leads to one, and nothing verifies it.
TEST(TdxCollateral, TextThatIsNoUtf8_IsRefused) {
  Collateral collateral = simulate(valid_v4()).collateral;
  const std::string json = to_json(collateral).dump();
  EXPECT_FALSE(parse_collateral(as_bytes("{\"x\":\"\xff\"," + json.substr(1))).has_value());
  collateral.tcb_info += "\xff";
  EXPECT_NE(digest_of(collateral), digest_of(simulate(valid_v4()).collateral));
  EXPECT_EQ(with_collateral([](Collateral& c) { c.tcb_info += "\xff"; }), "TCB_INFO_SIGNATURE");
}

// One bit of every byte that a signature covers, in every signed part of the collateral.
TEST(TdxCollateral, OneBitFlippedInEverySignedByte_IsNeverAuthentic) {
  const Simulation simulation = simulate(valid_v4());
  const TrustAnchor anchor = TrustAnchor::from_der(simulation.root).value();
  Collateral collateral = simulation.collateral;
  for (std::string Collateral::* member :
       {&Collateral::tcb_info, &Collateral::qe_identity, &Collateral::tcb_info_signature,
        &Collateral::qe_identity_signature, &Collateral::tcb_info_issuer_chain,
        &Collateral::root_ca_crl}) {
    std::string& text = collateral.*member;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char kept = text[i];
      // Hex digits and base64 keep to their alphabets, so that the content changes, not the form.
      text[i] = kept == '1' ? '2' : kept == '\n' ? '\v' : static_cast<char>(kept ^ 1);
      std::vector<Check> checks;
      ASSERT_FALSE(authenticate_collateral(collateral, anchor, checks).has_value())
          << i << " " << kept;
      text[i] = kept;
    }
  }
  std::vector<Check> checks;
  EXPECT_TRUE(authenticate_collateral(collateral, anchor, checks).has_value());
}

TEST(TdxCollateral, OneBitFlippedInThePckCrl_IsNeverAccepted) {
  Simulation simulation = simulate(valid_v4());
  std::string& text = simulation.collateral.pck_crl;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char kept = text[i];
    text[i] = kept == '1' ? '2' : static_cast<char>(kept ^ 1);
    ASSERT_NE(verdict(simulation), "OK:UpToDate") << i;
    text[i] = kept;
  }
}

TEST(TdxCollateral, SwappedSignatures_AreRefused) {
  EXPECT_EQ(with_collateral(
                [](Collateral& c) { std::swap(c.tcb_info_signature, c.qe_identity_signature); }),
            "TCB_INFO_SIGNATURE");
}

TEST(TdxCollateral, TooLargeDocument_IsRefused) {
  EXPECT_EQ(with_collateral([](Collateral& c) { c.tcb_info.resize(kMaxSignedJsonBytes, ' '); }),
            "TCB_INFO_SIGNATURE");
  EXPECT_EQ(with_collateral([](Collateral& c) { c.tcb_info.resize(kMaxSignedJsonBytes + 1, ' '); }),
            "INPUT_TOO_LARGE");
}

TEST(TdxCollateral, LongestFile_IsReadAndNoLongerOne) {
  const auto code_with = [](Collateral collateral, std::size_t more) {
    collateral.tcb_info.append(more, ' ');
    const auto read = parse_collateral(as_bytes(to_json(collateral).dump()));
    return read ? "OK" : info(read.error().code).code;
  };
  const Collateral collateral = simulate(valid_v4()).collateral;
  const std::size_t room = kMaxCollateralBytes - to_json(collateral).dump().size();
  EXPECT_EQ(code_with(collateral, room), "OK");
  EXPECT_EQ(code_with(collateral, room + 1), "limit-exceeded");
}

TEST(TdxSigningChain, OtherChains_AreRefused) {
  EXPECT_EQ(
      with_collateral([](Collateral& c) { c.tcb_info_issuer_chain = c.pck_crl_issuer_chain; }),
      "TCB_INFO_CHAIN_NAMES");
  EXPECT_EQ(with_collateral(
                [](Collateral& c) { c.qe_identity_issuer_chain += c.qe_identity_issuer_chain; }),
            "QE_IDENTITY_CHAIN_LENGTH");
  EXPECT_EQ(with_collateral([](Collateral& c) { c.tcb_info_issuer_chain = "none"; }),
            "TCB_INFO_CHAIN_FORMAT");
  EXPECT_EQ(with_collateral([](Collateral& c) { c.qe_identity_issuer_chain = "none"; }),
            "QE_IDENTITY_CHAIN_FORMAT");
  EXPECT_EQ(with_collateral([](Collateral& c) { c.tcb_info_issuer_chain.append(65536, '\n'); }),
            "TCB_INFO_CHAIN_FORMAT");
}

TEST(TdxSignedDocument, WrittenAnew_IsRefused) {
  EXPECT_EQ(with_collateral([](Collateral& c) { c.tcb_info.insert(1, " "); }),
            "TCB_INFO_SIGNATURE");
  EXPECT_EQ(with_collateral([](Collateral& c) { c.qe_identity += "\n"; }), "QE_IDENTITY_SIGNATURE");
}

TEST(TdxSignedDocument, SignatureOfAnotherForm_IsRefused) {
  EXPECT_EQ(with_collateral([](Collateral& c) { c.tcb_info_signature.resize(126); }),
            "TCB_INFO_SIGNATURE_FORMAT");
  EXPECT_EQ(with_collateral([](Collateral& c) { c.qe_identity_signature = std::string(128, 'x'); }),
            "QE_IDENTITY_SIGNATURE_FORMAT");
  EXPECT_EQ(with_collateral([](Collateral& c) { c.tcb_info_signature = std::string(128, '0'); }),
            "TCB_INFO_SIGNATURE");
}

TEST(TdxTcbInfo, SameLevelTwice_IsRefused) {
  EXPECT_EQ(with_tcb_info([](Json& j) {
              Json again = j["tcbLevels"][0];
              again["tcbStatus"] = "Revoked";
              j["tcbLevels"].push_back(again);
            }),
            "TCB_INFO_FORMAT");
}

TEST(TdxTcbInfo, MoreLevelsThanTheLimit_AreRefused) {
  const auto with_levels = [](std::size_t count, Json SimulationSpec::* document) {
    SimulationSpec spec = valid_v4();
    Json& levels = (spec.*document)["tcbLevels"];
    const char* const svn = document == &SimulationSpec::tcb_info ? "pcesvn" : "isvsvn";
    Json level = levels.back();
    for (std::size_t i = levels.size(); i < count; ++i) {
      level["tcb"][svn] = 1000 + i;
      levels.push_back(level);
    }
    return verdict(spec);
  };
  EXPECT_EQ(with_levels(1024, &SimulationSpec::tcb_info), "OK:UpToDate");
  EXPECT_EQ(with_levels(1025, &SimulationSpec::tcb_info), "TCB_INFO_FORMAT");
  EXPECT_NE(with_levels(1024, &SimulationSpec::qe_identity), "QE_IDENTITY_FORMAT");
  EXPECT_EQ(with_levels(1025, &SimulationSpec::qe_identity), "QE_IDENTITY_FORMAT");
}

TEST(TdxTcbInfo, LevelsInAnotherOrder_MeanTheSame) {
  EXPECT_EQ(with_tcb_info([](Json& j) {
              std::reverse(j["tcbLevels"].begin(), j["tcbLevels"].end());
              for (Json& module : j["tdxModuleIdentities"]) {
                std::reverse(module["tcbLevels"].begin(), module["tcbLevels"].end());
              }
            }),
            "OK:UpToDate");
}

TEST(TdxTcbInfo, NotStrictJson_IsRefused) {
  const std::string text = valid_v4().tcb_info.dump();
  for (const std::string& broken :
       {std::string(), text + text, text.substr(0, text.size() - 1),
        "{\"id\":\"TDX\"," + text.substr(1), std::string(20, '[') + std::string(20, ']')}) {
    const auto parsed = parse_tcb_info(broken);
    ASSERT_FALSE(parsed.has_value()) << broken;
    EXPECT_EQ(code(parsed.error()), "TCB_INFO_FORMAT");
  }
}

// --- signed documents with one member changed before they are signed

struct Change {
  const char* name;
  Json SimulationSpec::* document;
  const char* path;   // JSON pointer
  const char* value;  // JSON; nullptr: the member is taken away
  const char* expected;
};

class TdxDocumentTable : public ::testing::TestWithParam<Change> {};

TEST_P(TdxDocumentTable, OneChange_HasItsVerdict) {
  const Change& row = GetParam();
  SimulationSpec spec = valid_v4();
  Json operation = {{"op", row.value == nullptr ? "remove" : "add"}, {"path", row.path}};
  if (row.value != nullptr) {
    operation["value"] = Json::parse(row.value);
  }
  Json& document = spec.*row.document;
  document = document.patch(Json::array({operation}));
  EXPECT_EQ(verdict(spec), row.expected);
}

std::string change_name(const ::testing::TestParamInfo<Change>& row) { return row.param.name; }

constexpr auto kTcb = &SimulationSpec::tcb_info;
constexpr auto kQe = &SimulationSpec::qe_identity;

const Change kKinds[] = {
    {"TcbOfSgx", kTcb, "/id", R"("SGX")", "TCB_INFO_ID_MISMATCH"},
    {"TcbVersion", kTcb, "/version", "2", "TCB_INFO_VERSION"},
    {"TcbType", kTcb, "/tcbType", "1", "TCB_INFO_TCB_TYPE"},
    {"TcbOfAnotherPlatform", kTcb, "/fmspc", R"("00906ED50000")", "FMSPC_MISMATCH"},
    {"TcbOfAnotherPce", kTcb, "/pceId", R"("0001")", "PCEID_MISMATCH"},
    {"QeOfSgx", kQe, "/id", R"("QE")", "QE_IDENTITY_ID_MISMATCH"},
    {"QeVersion", kQe, "/version", "3", "QE_IDENTITY_VERSION"},
};
INSTANTIATE_TEST_SUITE_P(Kinds, TdxDocumentTable, ::testing::ValuesIn(kKinds), change_name);

const Change kLevels[] = {
    {"NoTdxComponents", kTcb, "/tcbLevels/0/tcb/tdxtcbcomponents", nullptr, "TCB_INFO_FORMAT"},
    {"FifteenComponents", kTcb, "/tcbLevels/0/tcb/sgxtcbcomponents/15", nullptr, "TCB_INFO_FORMAT"},
    {"SvnOf256", kTcb, "/tcbLevels/0/tcb/sgxtcbcomponents/3/svn", "256", "TCB_INFO_FORMAT"},
    {"SvnBelowZero", kTcb, "/tcbLevels/0/tcb/sgxtcbcomponents/3/svn", "-1", "TCB_INFO_FORMAT"},
    {"BrokenSvn", kTcb, "/tcbLevels/0/tcb/tdxtcbcomponents/3/svn", "1.5", "TCB_INFO_FORMAT"},
    {"PcesvnOf65536", kTcb, "/tcbLevels/0/tcb/pcesvn", "65536", "TCB_INFO_FORMAT"},
    {"UnknownStatus", kTcb, "/tcbLevels/0/tcbStatus", R"("Fine")", "TCB_INFO_FORMAT"},
    {"StatusOfNoPlatform", kTcb, "/tcbLevels/0/tcbStatus", R"("TDRelaunchAdvised")",
     "TCB_INFO_FORMAT"},
    {"DateInWords", kTcb, "/tcbLevels/0/tcbDate", R"("yesterday")", "TCB_INFO_FORMAT"},
    {"AdvisoriesNoList", kTcb, "/tcbLevels/0/advisoryIDs", R"("INTEL-SA-1")", "TCB_INFO_FORMAT"},
    {"NoLevels", kTcb, "/tcbLevels", "[]", "TCB_INFO_FORMAT"},
    {"NoQeLevels", kQe, "/tcbLevels", "[]", "QE_IDENTITY_FORMAT"},
    {"LevelWithoutStatus", kTcb, "/tcbLevels/0/tcbStatus", nullptr, "TCB_INFO_FORMAT"},
    {"LevelWithoutTcb", kTcb, "/tcbLevels/0/tcb", nullptr, "TCB_INFO_FORMAT"},
    {"LevelThatIsNone", kTcb, "/tcbLevels/0", "7", "TCB_INFO_FORMAT"},
    {"AdvisoryThatIsNoText", kTcb, "/tcbLevels/0/advisoryIDs", "[7]", "TCB_INFO_FORMAT"},
    {"QeLevelWithoutTcb", kQe, "/tcbLevels/0/tcb", nullptr, "QE_IDENTITY_FORMAT"},
    {"QeLevelWithoutSvn", kQe, "/tcbLevels/0/tcb/isvsvn", nullptr, "QE_IDENTITY_FORMAT"},
    {"QeLevelTwice", kQe, "/tcbLevels/1/tcb/isvsvn", "4", "QE_IDENTITY_FORMAT"},
    {"QeLevelsNoList", kQe, "/tcbLevels", "{}", "QE_IDENTITY_FORMAT"},
};
INSTANTIATE_TEST_SUITE_P(Levels, TdxDocumentTable, ::testing::ValuesIn(kLevels), change_name);

const Change kModules[] = {
    {"IdWithOneDigit", kTcb, "/tdxModuleIdentities/0/id", R"("TDX_1")", "TCB_INFO_FORMAT"},
    {"SameIdTwice", kTcb, "/tdxModuleIdentities/0/id", R"("TDX_03")", "TCB_INFO_FORMAT"},
    {"IdInSmallLetters", kTcb, "/tdxModuleIdentities/0/id", R"("tdx_01")", "OK:UpToDate"},
    {"ShortSigner", kTcb, "/tdxModuleIdentities/0/mrsigner", R"("00")", "TCB_INFO_FORMAT"},
    {"NoLevels", kTcb, "/tdxModuleIdentities/0/tcbLevels", "[]", "TCB_INFO_FORMAT"},
    {"StatusOfNoModule", kTcb, "/tdxModuleIdentities/0/tcbLevels/0/tcbStatus",
     R"("SWHardeningNeeded")", "TCB_INFO_FORMAT"},
    {"NoList", kTcb, "/tdxModuleIdentities", "{}", "TCB_INFO_FORMAT"},
    {"WithoutId", kTcb, "/tdxModuleIdentities/0/id", nullptr, "TCB_INFO_FORMAT"},
    {"IdOfAnotherKind", kTcb, "/tdxModuleIdentities/0/id", R"("SGX_01")", "TCB_INFO_FORMAT"},
    {"IdWithAnotherSign", kTcb, "/tdxModuleIdentities/0/id", R"("{DX_01")", "TCB_INFO_FORMAT"},
    {"IdWithoutNumber", kTcb, "/tdxModuleIdentities/0/id", R"("TDX_zz")", "TCB_INFO_FORMAT"},
    {"WithoutAttributes", kTcb, "/tdxModuleIdentities/0/attributes", nullptr, "TCB_INFO_FORMAT"},
    {"ShortMask", kTcb, "/tdxModuleIdentities/0/attributesMask", R"("00")", "TCB_INFO_FORMAT"},
    {"ModuleWithoutSigner", kTcb, "/tdxModule/mrsigner", nullptr, "TCB_INFO_FORMAT"},
};
INSTANTIATE_TEST_SUITE_P(Modules, TdxDocumentTable, ::testing::ValuesIn(kModules), change_name);

// Every member that must be there: taken away, and null.
std::vector<Change> members_of(Json SimulationSpec::* document,
                               std::initializer_list<const char*> paths, const char* expected) {
  std::vector<Change> rows;
  for (const char* path : paths) {
    rows.push_back({path, document, path, nullptr, expected});
    rows.push_back({path, document, path, "null", expected});
  }
  return rows;
}
std::string member_name(const ::testing::TestParamInfo<Change>& row) {
  return std::string(row.param.path).substr(1) + (row.param.value == nullptr ? "_Absent" : "_Null");
}
INSTANTIATE_TEST_SUITE_P(TcbInfoWithout, TdxDocumentTable,
                         ::testing::ValuesIn(members_of(
                             kTcb,
                             {"/id", "/version", "/issueDate", "/nextUpdate", "/fmspc", "/pceId",
                              "/tcbType", "/tcbEvaluationDataNumber", "/tdxModule", "/tcbLevels"},
                             "TCB_INFO_FORMAT")),
                         member_name);
INSTANTIATE_TEST_SUITE_P(QeIdentityWithout, TdxDocumentTable,
                         ::testing::ValuesIn(members_of(kQe,
                                                        {"/id", "/version", "/issueDate",
                                                         "/nextUpdate", "/tcbEvaluationDataNumber",
                                                         "/miscselect", "/miscselectMask",
                                                         "/attributes", "/attributesMask",
                                                         "/mrsigner", "/isvprodid", "/tcbLevels"},
                                                        "QE_IDENTITY_FORMAT")),
                         member_name);

TEST(TdxQeIdentity, AnotherEnclave_IsRefused) {
  const auto with_qe = [](auto change) {
    SimulationSpec spec = valid_v4();
    change(spec.quote.qe);
    return verdict(spec);
  };
  EXPECT_EQ(with_qe([](QeReport& qe) { qe.mrsigner[31] ^= 1; }), "QE_MRSIGNER_MISMATCH");
  EXPECT_EQ(with_qe([](QeReport& qe) { qe.isvprodid = 1; }), "QE_ISVPRODID_MISMATCH");
  EXPECT_EQ(with_qe([](QeReport& qe) { qe.attributes[0] |= 2; }), "QE_ATTRIBUTES_MISMATCH");
  EXPECT_EQ(with_qe([](QeReport& qe) { qe.attributes[0] |= 4; }), "OK:UpToDate");  // masked
  EXPECT_EQ(with_qe([](QeReport& qe) { qe.miscselect[0] = 1; }), "QE_MISCSELECT_MISMATCH");
}

TEST(TdxEvaluationNumbers, BelowTheMinimum_AreRefused) {
  Options options;
  options.policy.min_tcb_evaluation_data_number = 18;
  EXPECT_EQ(verdict(valid_v4(), options), "OK:UpToDate");
  SimulationSpec spec = valid_v4();
  spec.qe_identity["tcbEvaluationDataNumber"] = 17;
  EXPECT_EQ(verdict(spec, options), "QE_IDENTITY_EVAL_NUMBER_TOO_LOW");
  options.policy.min_tcb_evaluation_data_number = 19;
  EXPECT_EQ(verdict(valid_v4(), options), "TCB_INFO_EVAL_NUMBER_TOO_LOW");
}

TEST(TdxEvaluationNumbers, ThatDiffer_AreRefusedWhenAsked) {
  SimulationSpec spec = valid_v4();
  spec.qe_identity["tcbEvaluationDataNumber"] = 17;
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
  Options options;
  options.policy.allow_evaluation_number_mismatch = false;
  EXPECT_EQ(verdict(spec, options), "EVAL_NUMBER_MISMATCH");
}

}  // namespace
}  // namespace assay::attestation::tdx
