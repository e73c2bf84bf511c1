// SPDX-License-Identifier: Apache-2.0
// Workloads that no policy selects: one record for many, and nothing that they need of the store.
#include "server/service/unselected.h"

#include <thread>

#include "schemas/log_record.h"
#include "tests/server/service/fixture.h"
#include "tests/server/service/full_store.h"

namespace assay::server::test {
namespace {

class UnselectedTest : public ServiceTest {
 protected:
  static Unselected pod(const std::string& uid, const std::string& name_space = "tools") {
    storage::PodRow row;
    row.cluster = "kube-1";
    row.uid = uid;
    row.name_space = name_space;
    row.name = "pod-" + uid;
    row.workload = {{"namespace", name_space}};
    return {"kube-1", name_space, "Pod", std::move(row)};
  }
  static Unselected deployment() { return {"kube-1", "tools", "Deployment", std::nullopt}; }

  Json newest_detail() {
    const auto snapshot = store_->snapshot().value();
    const Bytes record = snapshot->log_record(snapshot->log_state()->size - 1).value();
    const LogRecord parsed = parse_log_record(record).value();
    EXPECT_EQ(parsed.type, event::kNotApplicable);
    return parsed.detail;
  }
  // One with a workload that is no part of its row.
  static Unselected large(const std::string& uid, const std::string& content,
                          const std::string& name_space = "tools") {
    Unselected one = pod(uid, name_space);
    one.pod->workload["labels"] = {{"a", content + std::string(160'000, 'x')}};
    return one;
  }
  static Unselected of_size(const std::string& uid, std::size_t bytes) {
    Unselected one = pod(uid);
    one.pod->workload["labels"] = {{"a", std::string(bytes, 'x')}};
    return one;
  }
  // The `bytes` of of_size() with which the pod takes all the memory there is.
  static std::size_t largest_of(const std::string& uid) {
    constexpr std::size_t row_bytes = 512;  // beside its texts
    const storage::PodRow row = *of_size(uid, 0).pod;
    return UnselectedWorkloads::kMaxPodBytes - row_bytes - row.uid.size() - row.name.size() -
           row.name_space.size() - row.workload.dump().size();
  }
  // Pods that leave room for no other.
  void fill_memory() {
    for (const char* uid : {"large 1", "large 2"}) {
      add(of_size(uid, UnselectedWorkloads::kMaxPodBytes / 2 - 600));
    }
  }
  // What its namespace may still add.
  void use_up(std::size_t bytes) {
    const auto room = namespace_quota_.reserve("kube-1/tools", bytes, clock_.now());
    ASSERT_TRUE(room);
    (*room)->keep();
  }
  void add(Unselected workload) { EXPECT_TRUE(unselected_.add(std::move(workload))); }
  // The same pod, of which the store has an older row.
  static Unselected changed(Unselected one) {
    one.replaces = true;
    return one;
  }
  bool stored(const std::string& uid) {
    return store_->snapshot().value()->pod("kube-1", uid).has_value();
  }

  FullStore full_{*store_};
  NamespaceQuota namespace_quota_;
  UnselectedWorkloads unselected_{full_, clock_, namespace_quota_};
};

TEST_F(UnselectedTest, ManyWorkloads_AreOneRecordWithTheirCounts) {
  const TreeSize before = log_size();
  const std::string since = to_rfc3339(clock_.now());
  for (int i = 0; i < 5; ++i) {
    add(pod(std::to_string(i)));
    add(deployment());
    clock_.advance(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(log_size(), before) << "nothing is written for one";
  ASSERT_TRUE(unselected_.flush());
  EXPECT_EQ(log_size(), before + 1);
  EXPECT_EQ(
      newest_detail(),
      (Json{{"since", since},
            {"count", 10},
            {"groups",
             {{{"cluster", "kube-1"}, {"namespace", "tools"}, {"kind", "Deployment"}, {"count", 5}},
              {{"cluster", "kube-1"}, {"namespace", "tools"}, {"kind", "Pod"}, {"count", 5}}}},
            {"others", 0},
            {"pods_forgotten", 0}}));
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(stored(std::to_string(i)));
  }
  ASSERT_TRUE(unselected_.flush());
  EXPECT_EQ(log_size(), before + 1) << "nothing new, no record";
  EXPECT_EQ(full_.writes, 1U);
}

TEST_F(UnselectedTest, Pod_IsFoundUntilItIsInTheStore) {
  add(pod("u"));
  const auto found = unselected_.find("kube-1", "u");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->row->name, "pod-u");
  EXPECT_EQ(found->row->admitted_at, clock_.now());
  EXPECT_FALSE(unselected_.find("kube-2", "u")) << "another cluster";
  EXPECT_FALSE(unselected_.find("kube-1", "v"));
  EXPECT_FALSE(stored("u"));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_FALSE(unselected_.find("kube-1", "u"));
  EXPECT_TRUE(stored("u"));
}

TEST_F(UnselectedTest, PodThatIsDeletedBefore_IsNotWritten) {
  add(pod("u"));
  unselected_.remove("kube-1", "u");
  unselected_.remove("kube-1", "never-seen");
  EXPECT_FALSE(unselected_.find("kube-1", "u"));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_FALSE(stored("u"));
}

TEST_F(UnselectedTest, FullDisk_KeepsWhatIsToBeWritten) {
  full_.full = true;
  const TreeSize before = log_size();
  add(pod("a"));
  EXPECT_EQ(unselected_.flush().error().code, ErrorCode::kStorage);
  add(pod("b"));
  add(deployment());
  EXPECT_EQ(unselected_.flush().error().code, ErrorCode::kStorage);
  EXPECT_TRUE(unselected_.find("kube-1", "a"));
  EXPECT_TRUE(unselected_.find("kube-1", "b"));
  full_.full = false;
  ASSERT_TRUE(unselected_.flush());
  EXPECT_EQ(log_size(), before + 1);
  EXPECT_EQ(newest_detail()["count"], 3);
  EXPECT_TRUE(stored("a"));
  EXPECT_TRUE(stored("b"));
}

TEST_F(UnselectedTest, ManyGroups_AreCountedTogetherAndFitARecord) {
  const std::string name(200, '\x01');  // six bytes each in JSON
  for (std::size_t i = 0; i < 2 * UnselectedWorkloads::kMaxGroups; ++i) {
    add({name, std::to_string(i) + name, name, std::nullopt});
  }
  ASSERT_TRUE(unselected_.flush());
  const Json detail = newest_detail();
  EXPECT_EQ(detail["count"], 2 * UnselectedWorkloads::kMaxGroups);
  std::uint64_t named = 0;
  for (const Json& group : detail["groups"]) {
    named += group["count"].get<std::uint64_t>();
  }
  EXPECT_EQ(named + detail["others"].get<std::uint64_t>(), 2 * UnselectedWorkloads::kMaxGroups);
  EXPECT_GE(detail["others"], UnselectedWorkloads::kMaxGroups);
}

TEST_F(UnselectedTest, LongNames_AreCutBetweenCharacters) {
  std::string name(63, 'n');
  name += "\u00e9\u00e9";
  add({"kube-1", name, "Pod", std::nullopt});
  ASSERT_TRUE(unselected_.flush());
  EXPECT_EQ(newest_detail()["groups"][0]["namespace"], std::string(63, 'n'));
}

TEST_F(UnselectedTest, TooManyPods_ForgetsTheOldestAndSaysSo) {
  full_.full = true;
  for (std::size_t i = 0; i < UnselectedWorkloads::kMaxPods + 3; ++i) {
    add(pod(std::to_string(i)));
  }
  for (const char* uid : {"0", "1", "2"}) {
    EXPECT_FALSE(unselected_.find("kube-1", uid));
  }
  EXPECT_TRUE(unselected_.find("kube-1", "3"));
  full_.full = false;
  full_.writes = 0;
  ASSERT_TRUE(unselected_.flush());
  EXPECT_EQ(full_.writes, UnselectedWorkloads::kMaxPods / UnselectedWorkloads::kMaxRows);
  EXPECT_EQ(newest_detail()["pods_forgotten"], 3);
  EXPECT_TRUE(stored("3"));
}

TEST_F(UnselectedTest, LargePods_AreBoundedByTheirBytes) {
  add(of_size("huge", UnselectedWorkloads::kMaxPodBytes));
  EXPECT_FALSE(unselected_.find("kube-1", "huge"));
  const std::size_t most = largest_of("most");
  add(of_size("most", most));
  EXPECT_TRUE(unselected_.find("kube-1", "most"));
  add(of_size("more", most + 1));  // a name of the same length
  EXPECT_FALSE(unselected_.find("kube-1", "more"));
  for (const char* uid : {"a", "b", "c"}) {
    add(of_size(uid, UnselectedWorkloads::kMaxPodBytes / 2 - 4096));
  }
  EXPECT_FALSE(unselected_.find("kube-1", "a"));
  EXPECT_TRUE(unselected_.find("kube-1", "b"));
  EXPECT_TRUE(unselected_.find("kube-1", "c"));
}

TEST_F(UnselectedTest, LargePodsOfOneTemplate_AreCountedOnce) {
  use_up(kMaxNewBytesAnHour - 170'000);
  for (int i = 0; i < 100; ++i) {
    add(large(std::to_string(i), "same"));
  }
  ASSERT_TRUE(unselected_.flush());
  add(large("100", "same"));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_TRUE(stored("0"));
  EXPECT_TRUE(stored("99"));
  EXPECT_EQ(store_->snapshot().value()->pod("kube-1", "100")->workload,
            large("100", "same").pod->workload);
}

TEST_F(UnselectedTest, LargePodsUnlikeAllBefore_AreForgottenBeyondTheirHour) {
  use_up(kMaxNewBytesAnHour - 170'000);
  for (const char* uid : {"a", "b"}) {
    add(large(uid, uid));
  }
  add(large("c", "c", "elsewhere"));
  add(pod("d"));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_TRUE(stored("a"));
  EXPECT_FALSE(stored("b"));
  EXPECT_FALSE(unselected_.find("kube-1", "b"));
  EXPECT_TRUE(stored("c")) << "of another namespace";
  EXPECT_TRUE(stored("d")) << "an ordinary one";
  ASSERT_TRUE(unselected_.flush());
  EXPECT_EQ(newest_detail()["pods_forgotten"], 1);
  clock_.advance(std::chrono::hours(1));
  add(large("b", "b"));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_TRUE(stored("b"));
}

TEST_F(UnselectedTest, LargePodsThatCouldNotBeWritten_AreCountedWhenTheyAre) {
  full_.full = true;
  add(large("a", "a"));
  EXPECT_FALSE(unselected_.flush());
  use_up(kMaxNewBytesAnHour - 170'000);
  full_.full = false;
  ASSERT_TRUE(unselected_.flush());
  EXPECT_TRUE(stored("a"));
  EXPECT_FALSE(namespace_quota_.reserve("kube-1/tools", 20'000, clock_.now()));
}

// What the pod was before must not be what its binding is judged by.
TEST_F(UnselectedTest, ChangeThatIsForgotten_TakesTheOlderRowWithIt) {
  add(pod("u"));
  ASSERT_TRUE(unselected_.flush());
  ASSERT_TRUE(stored("u"));
  use_up(kMaxNewBytesAnHour);
  add(changed(large("u", "u")));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_FALSE(stored("u"));
  EXPECT_FALSE(unselected_.find("kube-1", "u"));
}

TEST_F(UnselectedTest, ChangeThatIsForgottenForLackOfMemory_MakesThePodUnknownAtOnce) {
  for (const char* uid : {"u", "v"}) {
    add(pod(uid));
  }
  ASSERT_TRUE(unselected_.flush());
  full_.full = true;
  add(changed(pod("u")));
  fill_memory();
  const auto found = unselected_.find("kube-1", "u");
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->row) << "unknown, whatever the store has";
  full_.full = false;
  ASSERT_TRUE(unselected_.flush());
  EXPECT_FALSE(stored("u"));
  EXPECT_TRUE(stored("v"));
  add(pod("u"));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_TRUE(stored("u")) << "seen again, it is known again";
}

TEST_F(UnselectedTest, ChangeThatCannotBeRemembered_IsRefused) {
  full_.full = true;
  const auto too_large = [](const std::string& uid) {
    return changed(of_size(uid, UnselectedWorkloads::kMaxPodBytes));
  };
  for (std::size_t i = 0; i < UnselectedWorkloads::kMaxForgotten; ++i) {
    add(changed(pod(std::to_string(i))));
  }
  fill_memory();
  EXPECT_FALSE(unselected_.add(too_large("one more")));
  EXPECT_TRUE(unselected_.add(of_size("a new one", UnselectedWorkloads::kMaxPodBytes)))
      << "its binding is refused instead";
}

// There is no room for it, and none to remember that one more was forgotten.
TEST_F(UnselectedTest, PodThatChangesAgainWithoutRoom_IsNotWhatItWasBefore) {
  constexpr std::size_t kHalf = UnselectedWorkloads::kMaxPodBytes / 2 - 600;
  constexpr std::size_t kNearlyAll = UnselectedWorkloads::kMaxPodBytes - 2000;
  full_.full = true;
  for (std::size_t i = 1; i < UnselectedWorkloads::kMaxForgotten; ++i) {
    add(changed(pod(std::to_string(i))));
  }
  fill_memory();
  add(changed(of_size("waits", kHalf)));
  add(changed(of_size("waits too", kHalf)));
  add(changed(of_size("is the last", UnselectedWorkloads::kMaxPodBytes)));
  add(changed(of_size("1", kNearlyAll)));
  const auto forgotten = unselected_.find("kube-1", "1");
  ASSERT_TRUE(forgotten);
  EXPECT_FALSE(forgotten->row) << "unknown, as it was";
  EXPECT_FALSE(unselected_.add(changed(of_size("waits", kNearlyAll))));
  const auto waiting = unselected_.find("kube-1", "waits");
  ASSERT_TRUE(waiting && waiting->row);
  EXPECT_EQ(waiting->row->workload, of_size("waits", kHalf).pod->workload);
}

// Another write may know better while a flush is on its way.
TEST_F(UnselectedTest, RowThatIsWrittenAfterTheChangeWasForgotten_Stays) {
  add(pod("u"));
  ASSERT_TRUE(unselected_.flush());
  full_.full = true;
  add(changed(pod("u")));
  fill_memory();
  full_.full = false;
  storage::PodRow newer = *pod("u").pod;
  newer.decision = "0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11";
  newer.admitted_at = clock_.now();
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) {
    unselected_.remove("kube-1", "u");
    return transaction.put_pod(newer);
  }));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_TRUE(stored("u"));
}

// A later review of the same pod replaces what is kept.
TEST_F(UnselectedTest, PodSeenAgain_IsKeptOnceAsItIsNow) {
  add(pod("u", "tools"));
  Unselected again = pod("u", "tools");
  again.pod->nodes = {"gpu-1"};
  add(again);
  EXPECT_EQ(unselected_.find("kube-1", "u")->row->nodes, again.pod->nodes);
  ASSERT_TRUE(unselected_.flush());
  EXPECT_EQ(store_->snapshot().value()->pod("kube-1", "u")->nodes, again.pod->nodes);
}

// Another write may know better while a flush is on its way.
TEST_F(UnselectedTest, PodThatIsRemovedWhileItIsWritten_DoesNotOverwriteTheNewerRow) {
  add(pod("u"));
  storage::PodRow newer = *pod("u").pod;
  newer.decision = "0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11";
  ASSERT_TRUE(store_->write([&](storage::Transaction& transaction) {
    unselected_.remove("kube-1", "u");
    return transaction.put_pod(newer);
  }));
  ASSERT_TRUE(unselected_.flush());
  EXPECT_EQ(store_->snapshot().value()->pod("kube-1", "u")->decision, newer.decision);
}

TEST_F(UnselectedTest, ManyThreads_LoseNothing) {
  constexpr int kEach = 200;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < kEach; ++i) {
        add(pod(std::to_string(thread) + "-" + std::to_string(i)));
        if (i % 50 == 0) {
          EXPECT_TRUE(unselected_.flush());
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(unselected_.flush());
  for (int thread = 0; thread < 4; ++thread) {
    for (int i = 0; i < kEach; ++i) {
      EXPECT_TRUE(stored(std::to_string(thread) + "-" + std::to_string(i)));
    }
  }
}

}  // namespace
}  // namespace assay::server::test
