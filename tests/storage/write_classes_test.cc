// SPDX-License-Identifier: Apache-2.0
// Admission and API have a share of the writer each: neither keeps the other waiting.
#include <algorithm>
#include <atomic>
#include <deque>
#include <latch>
#include <mutex>
#include <thread>

#include "storage/sqlite/write_queue.h"
#include "tests/storage/sqlite_files.h"
#include "tests/support/asleep.h"

namespace assay::storage {
namespace {

using sqlite::WriteClass;
using sqlite::WriteGroup;
using sqlite::WriteJob;
using sqlite::WriteQueue;

const std::function<Status(Transaction&)> kNothing = [](Transaction&) { return Status(); };

// "a" for a write of the API, "K" for one of admission.
std::string text_of(const WriteGroup& group) {
  std::string text;
  for (const auto& job : group) {
    text += job->of == WriteClass::kApi ? 'a' : 'K';
  }
  return text;
}

WriteQueue queue_of(const std::string& text) {
  WriteQueue queue;
  for (const char one : text) {
    queue.push(std::make_shared<WriteJob>(kNothing,
                                          one == 'a' ? WriteClass::kApi : WriteClass::kAdmission));
  }
  return queue;
}

TEST(WriteQueue, BothClasses_TakeTurnsWhicheverCameFirst) {
  WriteQueue api_first = queue_of("aaaaaaaaKK");
  EXPECT_EQ(text_of(api_first.take(6)), "KaKaaa");
  EXPECT_EQ(text_of(api_first.take(6)), "aaaa");
  EXPECT_TRUE(api_first.empty());
  WriteQueue admission_first = queue_of("KKKKKKKKaa");
  EXPECT_EQ(text_of(admission_first.take(6)), "KaKaKK");
}

TEST(WriteQueue, GroupsOfOneWrite_TakeTurnsToo) {
  WriteQueue queue = queue_of("KKKaaa");
  std::string all;
  while (!queue.empty()) {
    all += text_of(queue.take(1));
  }
  EXPECT_EQ(all, "KaKaKa");
}

TEST(WriteQueue, OneClassAlone_HasTheWholeGroup) {
  EXPECT_EQ(text_of(queue_of("aaaaa").take(4)), "aaaa");
  EXPECT_EQ(text_of(queue_of("KKKKK").take(4)), "KKKK");
  EXPECT_EQ(text_of(queue_of("aa").take(0)), "a") << "never an empty group";
}

TEST(WriteQueue, PutBack_KeepsTheOrderOfEachClass) {
  WriteQueue queue = queue_of("aaaaa");
  const WriteGroup before = queue.take(5);
  WriteGroup group = before;
  queue.push(std::make_shared<WriteJob>(kNothing, WriteClass::kAdmission));
  queue.push(std::make_shared<WriteJob>(kNothing, WriteClass::kApi));
  queue.put_back(group, 2);
  EXPECT_EQ(group.size(), 2U);
  const WriteGroup after = queue.take(8);
  EXPECT_EQ(text_of(after), "aKaaa");
  EXPECT_EQ(after[0], before[2]);
  EXPECT_EQ(after[2], before[3]);
  EXPECT_EQ(after[3], before[4]);
}

// Writers that queue up while the first write holds the writer's thread. Each notes when it ran.
class WriteClasses : public SqliteTest {
 protected:
  static constexpr std::size_t kGroup = 4;

  void SetUp() override {
    SqliteOptions groups = options();
    groups.max_group = max_group_;
    auto opened = open(groups);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_ = *std::move(opened);
  }

  void note(char mark) {
    const std::lock_guard lock(mutex_);
    order_ += mark;
  }
  // Starts `count` writers of a class; `inside` runs in each write.
  void start(
      Store& handle, char mark, std::size_t count, const std::function<void()>& inside = [] {}) {
    for (std::size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this, &handle, mark, inside, &queued = queued_.emplace_back()] {
        queued.about_to_wait();
        EXPECT_TRUE(handle.write([&](Transaction& transaction) -> Status {
          ASSAY_TRY(transaction.append(make_record("test.appended")));
          inside();
          note(mark);
          return {};
        }));
      });
    }
  }
  // Until all that was started waits.
  void await_queued() {
    for (const test::Asleep& one : queued_) {
      one.await();
    }
    queued_.clear();
  }
  // Holds the writer's thread until what `queue` starts waits for it.
  void hold(const std::function<void()>& queue) {
    std::latch held(1);
    std::latch go(1);
    std::thread holder([&] {
      EXPECT_TRUE(store_->write([&](Transaction& /*transaction*/) -> Status {
        held.count_down();
        go.wait();
        return {};
      }));
    });
    held.wait();
    queue();
    await_queued();
    go.count_down();
    holder.join();
  }
  std::string finish() {
    for (auto& thread : threads_) {
      thread.join();
    }
    threads_.clear();
    return order_;
  }

  std::size_t max_group_ = kGroup;
  std::unique_ptr<Store> store_;
  std::vector<std::thread> threads_;
  std::deque<test::Asleep> queued_;  // those of `threads_` that nobody awaited yet
  std::mutex mutex_;
  std::string order_;
};

TEST_F(WriteClasses, AdmissionBesideAFloodOfTheApi_IsInTheNextGroup) {
  hold([&] {
    start(*store_, 'a', 24);
    await_queued();
    start(store_->for_admission(), 'K', 1);
  });
  const std::string order = finish();
  EXPECT_EQ(order.size(), 25U);
  EXPECT_LT(order.find('K'), kGroup) << order;
}

TEST_F(WriteClasses, ApiBesideAFloodOfAdmission_IsInTheNextGroup) {
  hold([&] {
    start(store_->for_admission(), 'K', 24);
    await_queued();
    start(*store_, 'a', 1);
  });
  const std::string order = finish();
  EXPECT_EQ(order.size(), 25U);
  EXPECT_LT(order.find('a'), kGroup) << order;
}

TEST_F(WriteClasses, TwoFloods_ShareEachGroup) {
  hold([&] {
    start(*store_, 'a', 12);
    start(store_->for_admission(), 'K', 12);
  });
  const std::string order = finish();
  for (std::size_t begin = 0; begin < order.size(); begin += kGroup) {
    const std::string group = order.substr(begin, kGroup);
    EXPECT_EQ(std::ranges::count(group, 'a'), 2) << order;
  }
}

class LongGroups : public WriteClasses {
 protected:
  LongGroups() { max_group_ = 64; }
};

// The group of the API has begun when the review comes, and would run for long.
TEST_F(LongGroups, OfTheApi_EndForAdmission) {
  std::latch reviewed(1);
  std::atomic<bool> first = true;
  test::Asleep review;
  std::thread admission([&] {
    reviewed.wait();
    review.about_to_wait();
    EXPECT_TRUE(store_->for_admission().write([&](Transaction& /*transaction*/) -> Status {
      note('K');
      return {};
    }));
  });
  hold([&] {
    start(*store_, 'a', 12, [&] {
      if (first.exchange(false)) {
        reviewed.count_down();
        review.await();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // this write takes long
      }
    });
  });
  admission.join();
  const std::string order = finish();
  EXPECT_EQ(order.size(), 13U);
  EXPECT_LE(order.find('K'), 2U) << order;
}

}  // namespace
}  // namespace assay::storage
