// SPDX-License-Identifier: Apache-2.0
// Lists that name pods: those that were admitted, and decisions with who asked about what.

#include <gtest/gtest.h>

#include "tests/server/api/fixture.h"

namespace assay::server {
namespace {

const std::string kHostile = "<img src=x onerror=alert(1)>\xE2\x80\xAE";

class PodsTest : public test::ApiTest {
 protected:
  void put_pods(const std::vector<storage::PodRow>& rows) {
    ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) -> Status {
      for (const storage::PodRow& row : rows) {
        ASSAY_TRY(transaction.put_pod(row));
      }
      return {};
    }));
  }
  storage::PodRow pod(const std::string& cluster, const std::string& uid) {
    storage::PodRow row;
    row.cluster = cluster;
    row.uid = uid;
    row.name_space = "prod";
    row.name = "pod-" + uid;
    row.admitted_at = clock_.now();
    return row;
  }
};

TEST_F(PodsTest, List_SaysWhatIsKnown) {
  storage::PodRow placed = pod("east", "1");
  placed.settled = "gpu-1";
  placed.name = kHostile;
  placed.models = {{id_of(manifest("good")), "acme/demo"}};
  placed.decision = "01970000-0000-7000-8000-000000000001";
  put_pods({placed, pod("east", "2")});
  const Json items = get("/v1/pods", "reader").json()["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0]["name"], kHostile) << "as it came: whoever shows it escapes it";
  EXPECT_EQ(items[0]["node"], "gpu-1");
  EXPECT_EQ(items[0]["point"], "bind");
  EXPECT_EQ(items[0]["state"], "admitted");
  EXPECT_EQ(items[0]["names"], Json::array({"acme/demo"}));
  EXPECT_EQ(items[0]["decision"], placed.decision);
  EXPECT_FALSE(items[1].contains("node"));
  EXPECT_FALSE(items[1].contains("decision"));
  EXPECT_EQ(items[1]["point"], "create");
}

TEST_F(PodsTest, Pages_HaveEachPodOnce) {
  std::vector<storage::PodRow> rows;
  for (const char* const cluster : {"a", "a/b", "b"}) {
    for (const char* const uid : {"1", "2", "3"}) {
      rows.push_back(pod(cluster, uid));
    }
  }
  put_pods(rows);
  for (const std::size_t limit : {1U, 2U, 3U, 9U, 10U}) {
    std::vector<std::string> seen;
    std::string after;
    do {
      const Json page =
          get("/v1/pods?limit=" + std::to_string(limit) + (after.empty() ? "" : "&after=" + after))
              .json();
      ASSERT_LE(page["items"].size(), limit);
      for (const Json& item : page["items"]) {
        seen.push_back(item["cluster"].get<std::string>() + "/" + item["uid"].get<std::string>());
      }
      after = page.value("next", "");
    } while (!after.empty());
    EXPECT_EQ(seen, (std::vector<std::string>{"a/1", "a/2", "a/3", "a/b/1", "a/b/2", "a/b/3", "b/1",
                                              "b/2", "b/3"}))
        << limit;
  }
  EXPECT_EQ(get("/v1/pods?limit=1000").json()["limit"], 999);
}

TEST_F(PodsTest, BadQuestions_AreRefused) {
  for (const char* const query : {"after=x", "after=/x", "after=", "limit=0", "cursor=x"}) {
    EXPECT_EQ(get("/v1/pods?" + std::string(query)).status, 400) << query;
  }
  for (const char* const role : {"submitter", "worker", "admission", "monitor", "admin"}) {
    EXPECT_EQ(get("/v1/pods", role).status, 403) << role;
  }
}

TEST_F(PodsTest, Decisions_AreListedWithWhoAsked_WhenThatIsWanted) {
  const Manifest model = manifest("good");
  store_good_model(model);
  put_policy_in_force();
  ASSERT_EQ(post_json("/v1/decisions", "decider",
                      {{"point", "create"},
                       {"model", "acme/demo"},
                       {"workload", {{"namespace", "prod"}, {"resources", {"nvidia.com/gpu"}}}}})
                .status,
            200);
  const Json plain = get("/v1/decisions").json()["items"][0];
  EXPECT_FALSE(plain.contains("request"));
  const Json item = get("/v1/decisions?request=true").json()["items"][0];
  EXPECT_EQ(item["request"]["principal"], "decider");
  EXPECT_EQ(item["request"]["namespace"], "prod");
  EXPECT_EQ(item["models"][0]["artifact"], id_of(model).text());
  EXPECT_EQ(item["models"][0]["name"], "acme/demo");
  EXPECT_EQ(get("/v1/decisions?request=yes").code(), "invalid-parameter");
}

}  // namespace
}  // namespace assay::server
