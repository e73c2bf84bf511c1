// SPDX-License-Identifier: Apache-2.0
// Imported reference values beside those of an appraisal: what they add, what they never loosen,
// and which of them is said to have matched.
#include <gtest/gtest.h>

#include "tests/attestation/evidence.h"

namespace assay::attestation {
namespace {

using test::appraise_now;
using test::evidence_spec;
using test::valid_appraisal;
using test::valid_evidence;

std::string other() { return std::string(96, '7'); }

std::string actual(const char* measurement) {
  const auto spec = evidence_spec();
  const auto& report = spec.quote.report;
  const std::string name = measurement;
  return hex_encode(name == "mrtd"    ? report.mrtd
                    : name == "rtmr0" ? report.rtmr[0]
                    : name == "rtmr1" ? report.rtmr[1]
                    : name == "rtmr2" ? report.rtmr[2]
                    : name == "rtmr3" ? report.rtmr[3]
                                      : report.mrseam);
}

// Without values of its own.
Appraisal bare() {
  Appraisal appraisal = valid_appraisal();
  appraisal.policy = Json::object();
  return appraisal;
}

ImportedSet set(const std::string& name, std::initializer_list<const char*> right,
                std::initializer_list<const char*> wrong = {}) {
  ImportedSet made{name, {}};
  for (const char* measurement : right) {
    made.values[measurement] = {other(), actual(measurement)};
  }
  for (const char* measurement : wrong) {
    made.values[measurement] = {other()};
  }
  return made;
}

constexpr auto kAll = {"mrtd", "rtmr0", "rtmr1", "rtmr2"};

std::string verdict(const Appraisal& appraisal, Purpose purpose = Purpose::kEnrol) {
  const auto appraised = appraise_now(valid_evidence(), appraisal, purpose);
  if (!appraised) {
    return to_string(appraised.error());
  }
  return appraised->accepted ? "OK" : appraised->error;
}

TEST(ImportedReferences, WithoutOwnValues_TheyAreEnough) {
  Appraisal appraisal = bare();
  EXPECT_EQ(verdict(appraisal), "REFERENCE_VALUES_MISSING");
  appraisal.imported = {set("image@1:Intel TDX#1", kAll)};
  const auto appraised = appraise_now(valid_evidence(), appraisal).value();
  EXPECT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_TRUE(appraised.has_reference_values);
  EXPECT_EQ(appraised.matched.at("mrtd"), std::vector<std::string>{"image@1:Intel TDX#1"});
  EXPECT_EQ(appraised.matched.size(), 4U);
  EXPECT_EQ(appraised.result["reference_values"]["rtmr2"][0], "image@1:Intel TDX#1");
}

TEST(ImportedReferences, EverySourceOfAMatch_IsNamed) {
  Appraisal appraisal = valid_appraisal();
  appraisal.imported = {set("a@1:x#1", {"mrtd"}), set("b@1:x#1", {"mrtd"}, {"rtmr1"}),
                        set("c@1:x#1", {"rtmr3"})};
  const auto matched = appraise_now(valid_evidence(), appraisal)->matched;
  EXPECT_EQ(matched.at("mrtd"), (std::vector<std::string>{"appraisal", "a@1:x#1"}));
  EXPECT_EQ(matched.at("rtmr1"), std::vector<std::string>{"appraisal"});
  EXPECT_EQ(matched.at("rtmr3"), std::vector<std::string>{"c@1:x#1"});
  EXPECT_FALSE(matched.contains("mrseam")) << "not constrained";
}

// A set is one image. What runs must be one of the images, not parts of two of them.
TEST(ImportedReferences, MixtureOfTwoSets_IsRefused) {
  Appraisal appraisal = bare();
  appraisal.imported = {set("a@1:x#1", {"mrtd", "rtmr0"}, {"rtmr1", "rtmr2"}),
                        set("b@1:x#1", {"rtmr1", "rtmr2"}, {"mrtd", "rtmr0"})};
  EXPECT_EQ(verdict(appraisal), "TD_MRTD_MISMATCH");
  appraisal.imported.push_back(set("c@1:x#1", {"mrtd", "rtmr0"}));
  EXPECT_EQ(verdict(appraisal), "TD_RTMR1_MISMATCH");
  appraisal.imported.push_back(set("d@1:x#1", {"rtmr1", "rtmr2"}));
  EXPECT_EQ(verdict(appraisal), "OK") << "two sets that both describe what runs";
}

TEST(ImportedReferences, TheyNeverLoosen) {
  Appraisal appraisal = valid_appraisal();
  appraisal.policy["reference_values"]["rtmr3"] = {other()};
  EXPECT_EQ(verdict(appraisal), "TD_RTMR3_MISMATCH");
  appraisal.imported = {set("seam@1:x#1", {"mrseam"})};
  EXPECT_EQ(verdict(appraisal), "TD_RTMR3_MISMATCH") << "a set that says nothing of it";
  appraisal.imported = {set("image@1:x#1", {"rtmr3"})};
  EXPECT_EQ(verdict(appraisal), "OK");
}

TEST(ImportedReferences, WhatTheyConstrain_IsConstrained) {
  Appraisal appraisal = valid_appraisal();
  appraisal.imported = {set("seam@1:x#1", {}, {"mrseam"})};
  EXPECT_EQ(verdict(appraisal), "TD_MRSEAM_MISMATCH");
  appraisal.imported.clear();
  EXPECT_EQ(verdict(appraisal), "OK");
  appraisal.constrained = {"mrseam"};
  EXPECT_EQ(verdict(appraisal), "TD_MRSEAM_MISMATCH") << "no value is left for it";
  // A service that does not ask for reference values does not accept what lost them either.
  Appraisal waived = bare();
  waived.dangerous_allow_missing_reference_values = true;
  EXPECT_EQ(verdict(waived), "OK");
  waived.constrained = {"mrtd"};
  EXPECT_EQ(verdict(waived), "TD_MRTD_MISMATCH");
}

TEST(ImportedReferences, OutsideOfTheirValidity_TheyDoNotCount) {
  const Timestamp now = tdx::testing::now();
  const auto second = std::chrono::seconds(1);
  Appraisal appraisal = bare();
  appraisal.imported = {set("image@1:x#1", kAll)};
  ImportedSet& only = appraisal.imported.front();
  only.not_before = now;
  only.not_after = now;
  EXPECT_EQ(verdict(appraisal), "OK");
  EXPECT_EQ(appraise_now(valid_evidence(), appraisal)->valid_until, now);
  only.not_after = now - second;
  EXPECT_EQ(verdict(appraisal), "TD_MRTD_MISMATCH");
  only.not_after.reset();
  only.not_before = now + second;
  EXPECT_EQ(verdict(appraisal), "TD_MRTD_MISMATCH");
}

// What another source vouches for longer, or for good, does not end with the first one.
TEST(ImportedReferences, ValidUntil_IsThatOfTheLongestSource) {
  const Timestamp now = tdx::testing::now();
  Appraisal appraisal = bare();
  appraisal.imported = {set("a@1:x#1", kAll), set("b@1:x#1", kAll)};
  appraisal.imported[0].not_after = now + std::chrono::seconds(10);
  appraisal.imported[1].not_after = now + std::chrono::seconds(20);
  EXPECT_EQ(appraise_now(valid_evidence(), appraisal)->valid_until, now + std::chrono::seconds(20));
  Appraisal own = valid_appraisal();
  const auto without = appraise_now(valid_evidence(), own)->valid_until;
  own.imported = {appraisal.imported[0]};
  EXPECT_EQ(appraise_now(valid_evidence(), own)->valid_until, without);
}

TEST(ImportedReferences, MeasurementThatNobodyKnows_IsAnError) {
  Appraisal appraisal = valid_appraisal();
  appraisal.imported = {{"a@1:x#1", {{"pcr0", {other()}}}}};
  EXPECT_NE(verdict(appraisal), "OK");
  appraisal.imported = {{"a@1:x#1", {{"mrtd", {"aa"}}}}};
  EXPECT_NE(verdict(appraisal), "OK");
  appraisal.imported.clear();
  appraisal.constrained = {"pcr0"};
  EXPECT_NE(verdict(appraisal), "OK");
}

// The id of an appraisal covers what was imported, so that evidence is appraised again.
TEST(ImportedReferences, AppraisalInFull_CoversThem) {
  const Appraisal appraisal = valid_appraisal();
  Appraisal imported = appraisal;
  imported.imported = {set("a@1:x#1", {"mrtd"})};
  Appraisal constrained = appraisal;
  constrained.constrained = {"mrtd"};
  EXPECT_NE(appraisal_in_full(appraisal).value(), appraisal_in_full(imported).value());
  EXPECT_NE(appraisal_in_full(appraisal).value(), appraisal_in_full(constrained).value());
  EXPECT_EQ(to_json(appraisal), to_json(imported)) << "no document has them";
}

}  // namespace
}  // namespace assay::attestation
