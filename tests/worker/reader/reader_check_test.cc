// SPDX-License-Identifier: Apache-2.0
// A check that another process makes finds what one in this process finds.
#include "worker/reader/reader_check.h"

#include "schemas/core/sha.h"
#include "tests/worker/instances/engines.h"
#include "tests/worker/reader/played_reader.h"
#include "worker/instances/check.h"

namespace assay::worker::test {
namespace {

// Both look at the last slice and at pieces that were drawn before, and find the same.
void look_at_last(MemoryCheck& check, MemoryCheck& expected) {
  ASSERT_TRUE(check.draw(16, nullptr));
  const unsigned last = check.slices() - 1;
  const auto looked = check.look(last, 16, nullptr);
  const auto in_process = expected.look(last, 16, nullptr);
  ASSERT_EQ(looked.has_value(), in_process.has_value());
  if (looked) {
    EXPECT_EQ(looked->changed, in_process->changed);
    EXPECT_EQ(looked->redraw.changed, in_process->redraw.changed);
  }
}

// With keyed tags where the engine has them, and without.
class ReaderCheckTest : public OnEngine {
 protected:
  void compare(bool tags);
};
INSTANTIATE_TEST_SUITE_P(Engines, ReaderCheckTest, testing::Values("cpu", "opencl"), engine_name);

void ReaderCheckTest::compare(bool tags) {
  PlayedReaders played(*engine_, kRight, "");
  SystemRandom random;
  LocalChecks local(*engine_, random);
  const auto owner = std::make_shared<FakeOwner>(ArtifactId(sha256({})));
  owner->add("a", some_bytes(30'000, 0));
  owner->add("b", some_bytes(30'001, 1));
  owner->add("c", some_bytes(30'002, 2), PieceKind::kStaged);
  const std::vector<std::size_t> tensors = {2, 0, 1};
  for (Checks* checks :
       {static_cast<Checks*>(played.readers.get()), static_cast<Checks*>(&local)}) {
    const auto check = checks->start(owner, tensors, {.slices = 2, .tags = tags});
    ASSERT_TRUE(check) << check.error().detail;
    const auto expected = local.start(owner, tensors, {.slices = 2, .tags = tags});
    EXPECT_EQ((*check)->roots(), (*expected)->roots());
    EXPECT_EQ((*check)->reached().in_place, 60'001U);
    EXPECT_EQ((*check)->reached().staged, 30'002U);
    EXPECT_EQ((*check)->reached().staged_causes, std::vector<std::string>{"cudaMalloc"});
    ASSERT_EQ((*check)->slices(), (*expected)->slices());
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < (*check)->slices(); ++i) {
      bytes += (*check)->bytes_of(i);
      EXPECT_TRUE((*check)->recheck(i)->empty());
    }
    EXPECT_EQ(bytes, 90'003U);
    const auto redraw = (*check)->redraw(16);
    ASSERT_TRUE(redraw) << redraw.error().detail;
    EXPECT_EQ(redraw->drawn, 2U);
    EXPECT_EQ(redraw->pieces, 2U);
    EXPECT_TRUE(redraw->changed.empty());
    owner->flip(1, 20'000);
    owner->flip(2, 20'000);
    std::vector<std::size_t> changed;
    for (unsigned i = 0; i < (*check)->slices(); ++i) {
      std::ranges::copy((*check)->recheck(i).value(), std::back_inserter(changed));
    }
    std::ranges::sort(changed);
    EXPECT_EQ(changed, (std::vector<std::size_t>{0, 2}));
    for (const std::size_t tensor : {std::size_t{0}, std::size_t{2}}) {
      const auto outline = (*check)->outline({&tensor, 1}, 16'384);
      ASSERT_TRUE(outline) << outline.error().detail;
      EXPECT_EQ(outline->at(0).outline, (*expected)->outline({&tensor, 1}, 16'384)->at(0).outline);
      EXPECT_EQ(outline->at(0).outline.size(), 2U);
    }
    owner->replace(0, some_bytes(30'000, 99));
    EXPECT_EQ((*check)->redraw(16)->changed, std::vector<std::size_t>{1});
    look_at_last(**check, **expected);
    owner->replace(0, some_bytes(30'000, 0));
    owner->flip(1, 20'000);
    owner->flip(2, 20'000);
  }
  EXPECT_EQ(played.news.count(false), 1U);
  EXPECT_EQ(played.news.count(true), 0U);
}

TEST_P(ReaderCheckTest, FindsWhatACheckInThisProcessFinds) {
  compare(true);
  compare(false);
}

}  // namespace
}  // namespace assay::worker::test
