// SPDX-License-Identifier: Apache-2.0
// Whatever a review writes, it writes with admission's share of the writer, and nobody else does.
#include "server/service/decisions/decide.h"
#include "tests/server/service/bind_fixture.h"

namespace assay::server::test {
namespace {

// Counts the writes of one handle on a store.
class CountingStore : public storage::Store {
 public:
  explicit CountingStore(storage::Store& store) : store_(store) {}
  Result<std::unique_ptr<storage::Snapshot>> snapshot() override { return store_.snapshot(); }
  Result<storage::LogState> write(
      const std::function<Status(storage::Transaction&)>& work) override {
    ++writes;
    return store_.write(work);
  }
  [[nodiscard]] bool healthy() const override { return store_.healthy(); }

  int writes = 0;

 private:
  storage::Store& store_;
};

class SharedStore final : public CountingStore {
 public:
  explicit SharedStore(storage::Store& store) : CountingStore(store), admission(store) {}
  storage::Store& for_admission() override { return admission; }

  CountingStore admission;
};

class AdmissionShare : public BindTest {
 protected:
  bool allowed(const Json& asked) {
    const auto answer =
        review(shared_, AdmissionCall::kValidate, as_bytes(asked.dump()), "kube-apiserver");
    EXPECT_TRUE(answer);
    return parse_json(answer->body).value()["response"]["allowed"] == true;
  }

  SharedStore two_{*store_};
  Services shared_{two_, *service_key_, clock_, random_, "example.com/log"};
};

TEST_F(AdmissionShare, Reviews_WriteWithItAlone) {
  EXPECT_TRUE(allowed(claim_review("UPDATE", "uid-1", "pv-1")));
  EXPECT_EQ(two_.admission.writes, 1) << "the claim";
  const Json created = pod_review("uid-1", "acme/demo");
  EXPECT_TRUE(allowed(created));
  EXPECT_EQ(two_.admission.writes, 2) << "the decision with the pod";
  // The report is too old: the binding orders another.
  clock_.advance(std::chrono::hours(2));
  put(node_row());
  EXPECT_FALSE(allowed(binding_review("uid-1")));
  EXPECT_EQ(two_.admission.writes, 4) << "the decision, and the job that it orders";
  Json gone = created;
  gone["request"]["operation"] = "DELETE";
  gone["request"]["oldObject"] = gone["request"]["object"];
  gone["request"]["object"] = nullptr;
  EXPECT_TRUE(allowed(gone));
  EXPECT_EQ(two_.admission.writes, 5) << "the pod goes";
  EXPECT_EQ(two_.writes, 0) << "of the API";
}

TEST_F(AdmissionShare, IsNotThatOfOtherDeciders) {
  const auto answer = decide(shared_, {.point = DecisionPoint::kCreate,
                                       .models = {"acme/demo"},
                                       .workload = {},
                                       .context = Json::object(),
                                       .principal = "orchestrator"});
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(two_.writes, 1);
  EXPECT_EQ(two_.admission.writes, 0);
}

}  // namespace
}  // namespace assay::server::test
