// SPDX-License-Identifier: Apache-2.0
// Which volume is behind a claim, as its reviews say.
#include "tests/server/service/bind_fixture.h"

namespace assay::server::test {
namespace {

class Claim : public BindTest {
 protected:
  // "uid volume" of the claim; empty when nothing is known of it.
  std::string known(const std::string& cluster = "kube-apiserver") {
    const auto row = store_->snapshot().value()->claim(cluster, "inference", "good");
    return row ? row->uid + " " + row->volume : std::string();
  }
  void say(const std::string& operation, const std::string& uid, const std::string& volume) {
    const TreeSize size = log_size();
    const Json response = ask(claim_review(operation, uid, volume));
    EXPECT_EQ(response["allowed"], true) << response.dump();
    EXPECT_EQ(log_size(), size) << "claims are not logged";
  }
};

TEST_F(Claim, ThatIsBoundLater_HasItsVolumeThen) {
  say("DELETE", "uid of pv-1", "pv-1");
  say("CREATE", "uid-1", "");
  EXPECT_EQ(known(), "") << "it may be refused after its review";
  say("UPDATE", "uid-1", "");
  EXPECT_EQ(known(), "uid-1 ");
  say("UPDATE", "uid-1", "pv-1");
  EXPECT_EQ(known(), "uid-1 pv-1");
  say("UPDATE", "uid-1", "pv-1");
  EXPECT_EQ(known(), "uid-1 pv-1");
}

// Case 15: another volume stands behind the same name.
TEST_F(Claim, MadeAgainUnderItsName_IsAnother) {
  say("UPDATE", "uid-1", "pv-1");
  say("DELETE", "uid-1", "pv-1");
  EXPECT_EQ(known(), "");
  say("UPDATE", "uid-1", "pv-1");
  say("CREATE", "uid-2", "");
  say("UPDATE", "uid-2", "");
  EXPECT_EQ(known(), "uid-2 ") << "also when the deletion was missed";
  say("DELETE", "uid-1", "pv-1");
  EXPECT_EQ(known(), "uid-2 ") << "a deletion that comes late is about the former one";
  say("UPDATE", "uid-2", "pv-2");
  EXPECT_EQ(known(), "uid-2 pv-2");
}

// The report about the former claim's volume does not count for the one that has its name now.
TEST_F(Claim, MadeAgain_IsNotCoveredByTheFormersReport) {
  say("UPDATE", "uid-1", "pv-1");
  ASSERT_EQ(ask(pod_review("uid-1", "acme/demo"))["allowed"], true);
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
  say("DELETE", "uid-1", "pv-1");
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "claim-unknown"));
  say("CREATE", "uid-2", "pv-1");
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "claim-unknown"));
  say("UPDATE", "uid-2", "pv-2");
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "volume-changed"));
}

// A creation that the API server refuses (409) leaves the claim that is there as it is.
TEST_F(Claim, CreationUnderANameThatIsTaken_ErasesNothing) {
  say("UPDATE", "uid-1", "pv-1");
  say("CREATE", "uid-2", "");
  say("CREATE", "uid-3", "pv-9");
  EXPECT_EQ(known(), "uid-1 pv-1");
}

// No update would ever say which volume it has.
TEST_F(Claim, ThatComesBoundAlready_IsRefusedWhileAnotherOfItsNameIsKnown) {
  Json made = claim_review("CREATE", "uid-2", "pv-2");
  made["request"]["object"]["metadata"]["annotations"] = {
      {"pv.kubernetes.io/bind-completed", "yes"}};
  say("UPDATE", "uid-1", "pv-1");
  EXPECT_TRUE(denied_with(ask(made), "pv.kubernetes.io/bind-completed"));
  say("DELETE", "uid-1", "pv-1");
  EXPECT_EQ(ask(made)["allowed"], true);
  EXPECT_EQ(known(), "");
}

// An update that is refused after its review may say anything of the volume.
TEST_F(Claim, VolumeThatIsStored_GoesBeforeTheOneAskedFor) {
  Json update = claim_review("UPDATE", "uid-1", "pv-evil");
  update["request"]["oldObject"] = claim_review("UPDATE", "uid-1", "pv-1")["request"]["object"];
  EXPECT_EQ(ask(update)["allowed"], true);
  EXPECT_EQ(known(), "uid-1 pv-1");
}

// The API server stores one of two updates that give a waiting claim its volume, and the review of
// the other one may come last.
TEST_F(Claim, TwoVolumesAskedForAWaitingClaim_AreUnclearUntilOneIsStored) {
  say("UPDATE", "uid-1", "pv-evil");
  say("UPDATE", "uid-1", "");
  EXPECT_EQ(known(), "uid-1 pv-evil");
  say("UPDATE", "uid-1", "pv-1");
  EXPECT_EQ(known(), "uid-1 ?");
  say("UPDATE", "uid-1", "pv-1");
  EXPECT_EQ(known(), "uid-1 ?") << "however often it is asked for";
  Json update = claim_review("UPDATE", "uid-1", "pv-1");
  update["request"]["oldObject"] = claim_review("UPDATE", "uid-1", "pv-evil")["request"]["object"];
  EXPECT_EQ(ask(update)["allowed"], true);
  EXPECT_EQ(known(), "uid-1 pv-evil") << "what is stored";
}

TEST_F(Claim, WhoseVolumeIsUnclear_HasNoReport) {
  say("UPDATE", "uid-1", "pv-evil");
  say("UPDATE", "uid-1", "pv-1");
  EXPECT_TRUE(denied_with(create_and_bind(), "volume-changed"));
}

// Whoever may create claims would say so of a claim that is there and has another volume.
TEST_F(Claim, VolumeThatACreationNames_IsNotBelieved) {
  say("UPDATE", "uid-1", "pv-evil");
  ASSERT_EQ(ask(pod_review("uid-1", "acme/demo"))["allowed"], true);
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "volume-changed"));
  say("CREATE", "uid-2", "pv-1");
  EXPECT_EQ(known(), "uid-1 pv-evil");
  EXPECT_TRUE(denied_with(ask(binding_review("uid-1")), "volume-changed"));
  say("UPDATE", "uid-2", "pv-1");
  EXPECT_EQ(ask(binding_review("uid-1"))["allowed"], true);
}

// Its last updates come after the deletion.
TEST_F(Claim, ThatIsBeingDeleted_IsNotKnown) {
  say("UPDATE", "uid-1", "pv-1");
  Json update = claim_review("UPDATE", "uid-1", "pv-1");
  update["request"]["object"]["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
  EXPECT_EQ(ask(update)["allowed"], true);
  EXPECT_EQ(known(), "");
}

TEST_F(Claim, OfOneCluster_IsNotTheOthers) {
  say("UPDATE", "uid-1", "pv-1");
  EXPECT_EQ(known("kube-west"), "");
  const Json west = claim_review("UPDATE", "uid-1", "pv-9");
  EXPECT_EQ(ask(west, AdmissionCall::kValidate, "kube-west")["allowed"], true);
  EXPECT_EQ(known(), "uid-1 pv-1");
  EXPECT_EQ(known("kube-west"), "uid-1 pv-9");
}

// A store that is read, and takes no writes.
class FullStore final : public storage::Store {
 public:
  explicit FullStore(storage::Store& store) : store_(store) {}
  Result<std::unique_ptr<storage::Snapshot>> snapshot() override { return store_.snapshot(); }
  Result<storage::LogState> write(const std::function<Status(storage::Transaction&)>&) override {
    return fail(ErrorCode::kStorage, "full");
  }
  [[nodiscard]] bool healthy() const override { return false; }

 private:
  storage::Store& store_;
};

// What is not known counts for nothing, so that a claim may come; what is known wrongly would
// count.
TEST_F(Claim, ThatCannotBeWritten_IsRefusedOnlyWhenAWrongRowWouldStay) {
  say("DELETE", "uid of pv-1", "pv-1");
  FullStore full(*store_);
  Services services{full, *service_key_, clock_, random_, "example.com/log"};
  const auto allowed = [&](const std::string& operation, const std::string& uid,
                           const std::string& volume) {
    const auto answer =
        review(services, AdmissionCall::kValidate,
               as_bytes(claim_review(operation, uid, volume).dump()), "kube-apiserver");
    EXPECT_TRUE(answer);
    return parse_json(answer->body).value()["response"]["allowed"] == true;
  };
  EXPECT_TRUE(allowed("CREATE", "uid-1", "pv-1"));
  say("UPDATE", "uid-1", "pv-1");
  EXPECT_TRUE(allowed("UPDATE", "uid-1", "pv-1"));
  EXPECT_TRUE(allowed("DELETE", "uid-1", "pv-1"));
  EXPECT_TRUE(allowed("CREATE", "uid-2", ""));
  EXPECT_FALSE(allowed("UPDATE", "uid-1", "pv-2"));
}

TEST_F(Claim, DryRunMutationAndStrangeObjects_ChangeNothing) {
  say("UPDATE", "uid-1", "pv-1");
  Json dry_run = claim_review("UPDATE", "uid-2", "pv-2");
  dry_run["request"]["dryRun"] = true;
  EXPECT_EQ(ask(dry_run)["allowed"], true);
  EXPECT_EQ(ask(claim_review("UPDATE", "uid-2", "pv-2"), AdmissionCall::kMutate)["allowed"], true);
  EXPECT_EQ(ask(claim_review("UPDATE", "", "pv-2"))["allowed"], true);
  Json empty = claim_review("UPDATE", "uid-2", "pv-2");
  empty["request"]["object"] = 7;
  EXPECT_EQ(ask(empty)["allowed"], true);
  EXPECT_EQ(known(), "uid-1 pv-1");
}

}  // namespace
}  // namespace assay::server::test
