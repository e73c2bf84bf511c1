// SPDX-License-Identifier: Apache-2.0
// While the clock cannot tell how old anything is, nothing is decided, and what no policy selects
// goes on.
#include "server/service/decisions/decide.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

class UnknownTime : public ServiceTest {
 protected:
  UnknownTime() {
    put_policy_in_force();
    store_good_model(model_);
    services_->time_is_known = [this] { return known_; };
  }
  DecisionRequest request() {
    return {.point = DecisionPoint::kCreate,
            .models = {model_.name},
            .workload = {"inference", {{"app", "chat"}}, {"nvidia.com/gpu"}},
            .context = {{"uid", "1"}},
            .principal = "kube-apiserver"};
  }

  const Manifest model_ = manifest("m");
  bool known_ = false;
};

TEST_F(UnknownTime, Decision_IsUnavailable_AndNothingIsStored) {
  const TreeSize before = log_size();
  const auto refused = decide(*services_, request());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(refused.error().detail.starts_with("clock-behind: ")) << refused.error().detail;
  DecisionRequest dry = request();
  dry.dry_run = true;
  EXPECT_EQ(refusal(decide(*services_, dry)), ErrorCode::kUnavailable);
  EXPECT_EQ(log_size(), before);
  known_ = true;
  EXPECT_TRUE(decide(*services_, request())) << "the honest neighbour";
}

TEST_F(UnknownTime, WhatNoPolicySelects_GoesOn) {
  DecisionRequest unselected = request();
  unselected.workload = {"kube-system", {}, {}};
  unselected.workload_known = true;
  unselected.skip_unselected = true;
  const auto answer = decide(*services_, unselected);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_FALSE(answer->selected);
}

}  // namespace
}  // namespace assay::server::test
