// SPDX-License-Identifier: Apache-2.0
// Lists of large items: pages end by bytes, and lead on to everything.

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
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
  // The row of a statement once more, under another id.
  static Status put_another(storage::Transaction& transaction, storage::StatementRow row,
                            const std::string& text) {
    ASSAY_ASSIGN(const DocumentId document, transaction.put_document(kDsse, as_bytes(text)));
    ASSAY_ASSIGN(row.log_index,
                 transaction.append({.type = std::string(event::kAttestationAccepted),
                                     .time = transaction.now(),
                                     .actor = "t",
                                     .subjects = {},
                                     .documents = {document},
                                     .detail = Json::object()}));
    row.id = StatementId(sha256(as_bytes(text)));
    row.signers.front().log_index = row.log_index;
    row.envelopes = {document};
    return transaction.put_statement(row);
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

TEST_F(LargePages, Model_ShowsStatementsUpToTheLimitAndNotOnePast) {
  const Manifest model = manifest("many");
  ASSERT_EQ(post("/v1/attestations", "submitter", approval(model, approver_a_)).status, 201);
  storage::StatementQuery query;
  query.subject = id_of(model).text();
  const storage::StatementRow row = store_->snapshot().value()->statements(query)->items.at(0);
  const auto add_rows = [&](std::size_t from, std::size_t to) {
    ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
      for (std::size_t i = from; i < to; ++i) {
        ASSAY_TRY(put_another(transaction, row, std::to_string(i)));
      }
      return {};
    }));
  };
  const auto get_model = [&] { return get("/v1/models/" + id_of(model).text()).json(); };
  add_rows(1, 1000);
  Json shown = get_model();
  EXPECT_EQ(shown["attestations"].size(), 1000U);
  EXPECT_EQ(shown["truncated"], false);
  EXPECT_FALSE(shown.contains("rest"));
  add_rows(1000, 1001);
  shown = get_model();
  EXPECT_EQ(shown["attestations"].size(), 1000U);
  EXPECT_EQ(shown["truncated"], true);
  ASSERT_EQ(shown["rest"].size(), 2U);
  EXPECT_EQ(pages(shown["rest"][1].get<std::string>(), 1000).size(), 1001U);
}

TEST(PageOf, Items_FitUpToTheBytesOfAPageAndNotOnePast) {
  for (const bool over : {false, true}) {
    std::vector<std::string> rows(4, std::string(kMaxPageBytes / 4 - 2, 'x'));  // and two quotes
    rows.back() += over ? "x" : "";
    const auto page = page_of(
        {}, ShortPage::kEnds,
        [&](const storage::ListBounds&) -> Result<storage::Page<std::string>> {
          return storage::Page<std::string>{rows, {}, 4, sha256(as_bytes("root"))};
        },
        [](const std::string& row) -> Result<Json> { return Json(row); },
        [](const std::string&) { return LeafIndex{7}; });
    ASSERT_TRUE(page) << to_string(page.error());
    EXPECT_EQ(page->items.size(), over ? 3U : 4U);
    EXPECT_EQ(page->next.has_value(), over);
  }
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
