// SPDX-License-Identifier: Apache-2.0
// Lists of large items: pages end by bytes, and lead on to everything.

#include <gtest/gtest.h>

#include "schemas/log_record.h"
#include "schemas/placement.h"
#include "server/api/page.h"
#include "tests/server/api/fixture.h"

namespace assay::server {
namespace {

constexpr int kPlacements = 66;  // of 64 KiB: more than a page has

class LargePages : public test::ApiTest {
 protected:
  // A placement with 64 KiB of locations.
  Bytes placement(int number) {
    Placement one{"acme/demo", id_of(manifest("large")), {}};
    for (int i = 0; i < 32; ++i) {
      std::string location = "hostpath:///" + std::to_string(number) + "/" + std::to_string(i);
      location += std::string(2048 - location.size(), 'x');
      one.locations.push_back(std::move(location));
    }
    return statement_envelope(to_statement(one).value(), {&publisher_});
  }
  void store_placements() {
    for (int i = 0; i < kPlacements; ++i) {
      const auto answer = post("/v1/attestations", "submitter", placement(i));
      ASSERT_EQ(answer.status, 201) << answer.body.substr(0, 500);
    }
  }
};

TEST_F(LargePages, Page_EndsByItsBytesAndLeadsOn) {
  store_placements();
  const auto answer = get("/v1/attestations?limit=1000");
  EXPECT_LT(answer.body.size(), kMaxPageBytes + (64U << 10));
  const Json first = answer.json();
  EXPECT_EQ(first["limit"], 1000);
  EXPECT_TRUE(first.contains("next_cursor"));
  EXPECT_GT(first["items"].size(), 60U);
  EXPECT_LT(first["items"].size(), 64U);
  const auto all = pages("/v1/attestations", 1000);
  EXPECT_EQ(all.size(), std::size_t{kPlacements});
  EXPECT_EQ(Json(pages("/v1/attestations", 33)), Json(all)) << "nothing twice, nothing left out";
}

TEST_F(LargePages, Events_EndByTheirBytesToo) {
  const auto work = [](storage::Transaction& transaction) -> Status {
    for (int i = 0; i < 80; ++i) {
      ASSAY_TRY(transaction.append({.type = std::string(event::kAttestationAccepted),
                                    .time = transaction.now(),
                                    .actor = "t",
                                    .subjects = {},
                                    .documents = {},
                                    .detail = {{"text", std::string(60000, 'x')}}}));
    }
    return {};
  };
  ASSERT_TRUE(store_->write(work));
  const auto answer = get("/v1/audit/events?type=attestation.accepted&limit=1000");
  EXPECT_LT(answer.body.size(), kMaxPageBytes + (64U << 10));
  EXPECT_TRUE(answer.json().contains("next_cursor"));
  EXPECT_EQ(pages("/v1/audit/events?type=attestation.accepted", 1000).size(), 80U);
}

TEST_F(LargePages, LargeModel_NamesTheListsThatGoOn) {
  store_placements();
  const auto answer = get("/v1/models/" + id_of(manifest("large")).text());
  EXPECT_LT(answer.body.size(), kMaxPageBytes + (64U << 10));
  const Json model = answer.json();
  EXPECT_EQ(model["truncated"], true);
  ASSERT_EQ(model["rest"].size(), 2U);
  EXPECT_EQ(pages(model["rest"][0].get<std::string>(), 100).size(), 0U);
  EXPECT_EQ(pages(model["rest"][1].get<std::string>(), 100).size(), std::size_t{kPlacements});
}

TEST_F(LargePages, ManySmallRows_AreReadInSteps) {
  for (std::size_t i = 0; i < 2 * kRowsAtOnce + 3; ++i) {
    ASSERT_EQ(
        post("/v1/manifests", "submitter", signed_manifest(manifest(std::to_string(i)))).status,
        201);
  }
  const Json whole = get("/v1/manifests?limit=1000").json();
  EXPECT_EQ(whole["items"].size(), 2 * kRowsAtOnce + 3);
  EXPECT_FALSE(whole.contains("next_cursor"));
  EXPECT_EQ(Json(pages("/v1/manifests", kRowsAtOnce + 1)), whole["items"]);
}

}  // namespace
}  // namespace assay::server
