// SPDX-License-Identifier: Apache-2.0
// Full passes, second looks and pieces that are drawn anew.
#include "worker/instances/check.h"

#include "tests/worker/instances/engines.h"
#include "tests/worker/instances/fake_owner.h"
#include "worker/instances/staging.h"

namespace assay::worker::test {
namespace {

const ArtifactId kArtifact(Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data()));

class InstanceCheckTest : public OnEngine {
 protected:
  Result<std::unique_ptr<InstanceCheck>> start(unsigned slices = 1) {
    std::vector<std::size_t> tensors;
    for (std::size_t i = 0; i < owner_->registration().tensors.size(); ++i) {
      tensors.push_back(i);
    }
    return InstanceCheck::start(owner_, *engine_, tensors, {parameters_, slices, stop_.get_token()},
                                random_);
  }
  Digest root(ByteView bytes) {
    const gpu_hash::Region region = gpu_hash::host_region(bytes);
    return engine_->hash({&region, 1}, {parameters_, 0, {}, {}}).value()[0].root;
  }
  // All slices, one after the other. After tags found a change, their key is spent.
  static std::vector<std::size_t> recheck(InstanceCheck& check) {
    std::vector<std::size_t> changed;
    for (unsigned i = 0; i < check.slices(); ++i) {
      const auto some = check.recheck(i);
      if (!some) {
        EXPECT_EQ(some.error().code, ErrorCode::kInvalidParameter);
        EXPECT_FALSE(changed.empty());
        continue;
      }
      changed.insert(changed.end(), some->begin(), some->end());
    }
    return changed;
  }

  SystemRandom random_;
  TreeParameters parameters_{};
  std::stop_source stop_;
  std::shared_ptr<FakeOwner> owner_ = std::make_shared<FakeOwner>(kArtifact);
};

INSTANTIATE_TEST_SUITE_P(Engines, InstanceCheckTest, testing::Values("cpu", "opencl"), engine_name);

// Tensors that begin anywhere, run across pieces, or have no bytes.
TEST_P(InstanceCheckTest, FullPass_FindsTheRootOfEveryTensor) {
  const Bytes first = some_bytes(300'000, 1);
  const Bytes second = some_bytes(200'000, 2);
  owner_->add_piece(PieceKind::kHost, first);
  owner_->add_piece(PieceKind::kHost, second);
  owner_->add_tensor("across", {{0, 512, 299'488}, {1, 0, 100'000}});
  owner_->add_tensor("odd", {{1, 100'001, 777}});
  owner_->add_tensor("none", {});
  const auto check = start();
  ASSERT_TRUE(check) << check.error().detail;
  Bytes across(first.begin() + 512, first.end());
  across.insert(across.end(), second.begin(), second.begin() + 100'000);
  EXPECT_EQ((*check)->roots()[0], root(across));
  EXPECT_EQ((*check)->roots()[1], root(ByteView(second).subspan(100'001, 777)));
  EXPECT_EQ((*check)->roots()[2], root({}));
  EXPECT_EQ((*check)->reached().in_place, 400'265U);
  EXPECT_EQ((*check)->reached().staged, 0U);
  EXPECT_EQ(owner_->exported(), 2U);
}

TEST_P(InstanceCheckTest, OneFlippedBit_IsFoundWithItsTensor_InItsSlice) {
  for (int i = 0; i < 12; ++i) {
    owner_->add("t" + std::to_string(i), some_bytes(50'000, static_cast<std::uint64_t>(i)));
  }
  const auto check = start(4);
  ASSERT_TRUE(check) << check.error().detail;
  EXPECT_EQ((*check)->slices(), 4U);
  EXPECT_EQ(recheck(**check), std::vector<std::size_t>{});
  owner_->flip(7, 49'999);
  EXPECT_EQ(recheck(**check), std::vector<std::size_t>{7});
  // Where in it, and that a new full pass sees what is there now.
  const std::size_t seven = 7;
  const auto outline = (*check)->outline({&seven, 1}, 16384);
  ASSERT_TRUE(outline);
  EXPECT_EQ(outline->at(0).outline.size(), 4U);
  Bytes now = some_bytes(50'000, 7);
  now[49'999] ^= 1;
  EXPECT_EQ((*start())->roots()[7], root(now));
  EXPECT_EQ(outline->at(0).root, root(now));
}

TEST_P(InstanceCheckTest, AReplacedPiece_IsFoundByDrawing_AndNotByTags) {
  for (int i = 0; i < 10; ++i) {
    owner_->add("t" + std::to_string(i), some_bytes(20'000, static_cast<std::uint64_t>(i)));
  }
  const auto check = start();
  ASSERT_TRUE(check) << check.error().detail;
  const auto same = (*check)->redraw(kRedrawnPieces);
  ASSERT_TRUE(same) << same.error().detail;
  EXPECT_EQ(same->drawn, 10U);
  EXPECT_EQ(same->pieces, 10U);
  EXPECT_TRUE(same->changed.empty());
  EXPECT_EQ(owner_->exported(), 20U);
  Bytes other = some_bytes(20'000, 4);
  other[12'345] ^= 0x80;
  owner_->replace(4, other);
  EXPECT_EQ(recheck(**check), std::vector<std::size_t>{});  // what is held is the old memory
  EXPECT_EQ((*check)->redraw(kRedrawnPieces)->changed, std::vector<std::size_t>{4});
  // The same bytes in other memory do no harm.
  owner_->replace(4, some_bytes(20'000, 4));
  EXPECT_TRUE((*check)->redraw(kRedrawnPieces)->changed.empty());
}

// Exports come ahead of the look, which then needs nothing but the device.
TEST_P(InstanceCheckTest, DrawnPieces_AreHeldUntilTheyAreCompared_Once) {
  for (int i = 0; i < 5; ++i) {
    owner_->add("t" + std::to_string(i), some_bytes(20'000, static_cast<std::uint64_t>(i)));
  }
  const auto check = start(2);
  ASSERT_TRUE(check) << check.error().detail;
  Bytes other = some_bytes(20'000, 4);
  other[1] ^= 1;
  owner_->replace(4, other);
  ASSERT_TRUE((*check)->draw(kRedrawnPieces, nullptr));
  EXPECT_EQ(owner_->exported(), 10U);
  owner_->replace(4, some_bytes(20'000, 4));  // too late
  EXPECT_EQ((*check)->redraw(kRedrawnPieces)->changed, std::vector<std::size_t>{4});
  EXPECT_EQ(owner_->exported(), 10U);
  EXPECT_TRUE((*check)->redraw(kRedrawnPieces)->changed.empty());  // others, exported now
  EXPECT_EQ(owner_->exported(), 15U);
  ASSERT_TRUE((*check)->draw(2, nullptr));
  EXPECT_EQ((*check)->redraw(kRedrawnPieces)->drawn, 5U);  // as many as were asked for
}

TEST_P(InstanceCheckTest, ALook_FindsChangesOfItsSlice_AndOfDrawnPieces) {
  for (int i = 0; i < 8; ++i) {
    owner_->add("t" + std::to_string(i), some_bytes(20'000, static_cast<std::uint64_t>(i)));
  }
  const auto check = start(2);
  ASSERT_TRUE(check) << check.error().detail;
  for (const bool ahead : {true, false}) {
    if (ahead) {
      ASSERT_TRUE((*check)->draw(kRedrawnPieces, nullptr));
    }
    const auto same = (*check)->look(1, kRedrawnPieces, nullptr);
    ASSERT_TRUE(same) << same.error().detail;
    EXPECT_TRUE(same->changed.empty() && same->redraw.changed.empty());
    EXPECT_EQ(same->redraw.drawn, 8U);
    EXPECT_EQ(same->redraw.pieces, 8U);
  }
  owner_->replace(0, some_bytes(20'000, 99));
  const auto replaced = (*check)->look(1, kRedrawnPieces, nullptr);
  ASSERT_TRUE(replaced);
  EXPECT_TRUE(replaced->changed.empty());
  EXPECT_EQ(replaced->redraw.changed, std::vector<std::size_t>{0});
  owner_->flip(6, 3);
  EXPECT_EQ((*check)->look(1, kRedrawnPieces, nullptr)->changed, std::vector<std::size_t>{6});
}

// Several slices in one call: in any order, with drawn pieces and without.
TEST_P(InstanceCheckTest, ALookAtSeveralSlices_FindsChangesOfEach) {
  for (int i = 0; i < 8; ++i) {
    owner_->add("t" + std::to_string(i), some_bytes(20'000, static_cast<std::uint64_t>(i)));
  }
  for (const std::vector<unsigned>& slices :
       {std::vector<unsigned>{0, 1, 2, 3}, {2, 3}, {3, 1, 2}, {3}}) {
    for (const std::uint64_t count : {std::uint64_t{0}, kRedrawnPieces}) {
      const auto check = start(4);
      ASSERT_TRUE(check) << check.error().detail;
      const auto same = (*check)->look(slices, count, nullptr);
      ASSERT_TRUE(same) << same.error().detail;
      EXPECT_TRUE(same->changed.empty() && same->redraw.changed.empty());
      EXPECT_EQ(same->redraw.drawn, count == 0 ? 0U : 8U);
      owner_->flip(0, 5);  // of slice 0
      owner_->flip(7, 3);  // of slice 3
      const auto changed = (*check)->look(slices, count, nullptr);
      ASSERT_TRUE(changed) << changed.error().detail;
      EXPECT_EQ(changed->changed, slices.front() == 0 && GetParam() != "cpu"
                                      ? (std::vector<std::size_t>{0, 7})
                                      : std::vector<std::size_t>{slices.front() == 0 ? 0U : 7U});
      owner_->flip(0, 5);
      owner_->flip(7, 3);
    }
  }
}

// Bytes that lie at odd places of the drawn pieces have no tags there.
TEST_P(InstanceCheckTest, ALook_ComparesBytesAtOddPlacesToo) {
  const Bytes bytes = some_bytes(9 << 20, 1);
  owner_->add("whole", some_bytes(20'000, 2));
  owner_->add_piece(PieceKind::kHost, bytes);
  owner_->add_tensor("odd", {{1, 3, (9 << 20) - 3}});
  const auto check = start(2);
  ASSERT_TRUE(check) << check.error().detail;
  EXPECT_TRUE((*check)->look(0, kRedrawnPieces, nullptr)->redraw.changed.empty());
  Bytes other = bytes;
  other[8 << 20] ^= 1;
  owner_->replace(1, other);
  EXPECT_EQ((*check)->look(0, kRedrawnPieces, nullptr)->redraw.changed,
            std::vector<std::size_t>{1});
  owner_->flip(0, 7);
  EXPECT_EQ((*check)->look(0, kRedrawnPieces, nullptr)->changed, std::vector<std::size_t>{0});
}

TEST_P(InstanceCheckTest, OutlinesOfSeveralTensors_ComeInTheOrderAskedFor) {
  owner_->add("a", some_bytes(70'000, 0));
  owner_->add("b", some_bytes(50'000, 1), PieceKind::kStaged);
  owner_->add("c", some_bytes(30'000, 2));
  const auto check = start();
  ASSERT_TRUE(check) << check.error().detail;
  const std::vector<std::size_t> tensors = {2, 1, 0};
  const auto outlines = (*check)->outline(tensors, 16'384);
  ASSERT_TRUE(outlines) << outlines.error().detail;
  ASSERT_EQ(outlines->size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t size = 70'000 - 20'000 * tensors[i];
    EXPECT_EQ((*outlines)[i].root, root(some_bytes(size, tensors[i])));
    EXPECT_EQ((*outlines)[i].outline.size(), (size + 16'383) / 16'384);
  }
}

// What else a process keeps beside its weights may change.
TEST_P(InstanceCheckTest, BytesBetweenTensors_AreNotCompared) {
  const Bytes bytes = some_bytes(40'000, 1);
  owner_->add_piece(PieceKind::kHost, bytes);
  owner_->add_tensor("a", {{0, 0, 16'000}});
  owner_->add_tensor("b", {{0, 32'000, 8'000}});
  const auto check = start();
  ASSERT_TRUE(check);
  Bytes other = bytes;
  other[20'000] ^= 1;
  owner_->replace(0, other);
  EXPECT_TRUE((*check)->redraw(16)->changed.empty());
  other[39'999] ^= 1;
  owner_->replace(0, other);
  EXPECT_EQ((*check)->redraw(16)->changed, std::vector<std::size_t>{1});
}

TEST_P(InstanceCheckTest, DrawsAreDifferentPieces_AndReachAllOfThem) {
  for (int i = 0; i < 8; ++i) {
    owner_->add("t" + std::to_string(i), some_bytes(600, static_cast<std::uint64_t>(i)));
  }
  const auto check = start();
  ASSERT_TRUE(check);
  owner_->replace(3, some_bytes(600, 99));
  int found = 0;
  for (int i = 0; i < 64; ++i) {
    const auto redraw = (*check)->redraw(4);
    ASSERT_TRUE(redraw);
    EXPECT_EQ(redraw->drawn, 4U);
    found += redraw->changed.empty() ? 0 : 1;
  }
  // Each draw finds it with probability 1/2: outside of these bounds once in 10^14 runs.
  EXPECT_GT(found, 2);
  EXPECT_LT(found, 62);
}

TEST(Redraw, DetectionProbability_IsTheShareThatWasDrawn) {
  EXPECT_DOUBLE_EQ(detection_probability(16, 5120), 16.0 / 5120);
  EXPECT_DOUBLE_EQ(detection_probability(16, 10), 1);
  EXPECT_DOUBLE_EQ(detection_probability(0, 0), 0);
}

TEST_P(InstanceCheckTest, StagedMemory_IsReadThroughItsOwner) {
  owner_->add("a", some_bytes(70'000, 1), PieceKind::kStaged);
  owner_->add("b", some_bytes(50'000, 2));
  owner_->add("c", some_bytes(30, 3), PieceKind::kStaged);
  const auto check = start(2);
  ASSERT_TRUE(check) << check.error().detail;
  EXPECT_EQ((*check)->roots()[0], root(some_bytes(70'000, 1)));
  EXPECT_EQ((*check)->roots()[1], root(some_bytes(50'000, 2)));
  EXPECT_EQ((*check)->roots()[2], root(some_bytes(30, 3)));
  EXPECT_EQ((*check)->reached().staged, 70'030U);
  EXPECT_EQ((*check)->reached().in_place, 50'000U);
  EXPECT_EQ((*check)->reached().staged_causes, std::vector<std::string>{"cudaMalloc"});
  EXPECT_EQ((*check)->redraw(16)->pieces, 1U);
  EXPECT_EQ(owner_->exported(), 2U);
  owner_->flip(2, 29);
  EXPECT_EQ(recheck(**check), std::vector<std::size_t>{2});
}

// Tensors larger than the window: its digests are put together.
TEST_P(InstanceCheckTest, StagedTensorsOfSeveralWindows_HaveTheSameDigests) {
  const Bytes large = some_bytes(200'003, 1);
  const Bytes small = some_bytes(5'000, 2);
  owner_->add_piece(PieceKind::kStaged, ByteView(large).first(90'001));
  owner_->add_piece(PieceKind::kStaged, ByteView(large).subspan(90'001));
  owner_->add_tensor("large", {{0, 0, 90'001}, {1, 0, 110'002}});
  owner_->add("small", small, PieceKind::kStaged);
  owner_->add_tensor("none", {});
  const std::vector<InstanceTensor>& all = owner_->registration().tensors;
  const std::vector<const InstanceTensor*> tensors = {&all[0], &all[1], &all[2]};
  const std::vector<gpu_hash::Region> regions = {
      gpu_hash::host_region(large), gpu_hash::host_region(small), gpu_hash::host_region({})};
  for (const std::uint64_t span : {0U, 16'384U, 32'768U, 65'536U, 131'072U}) {
    const gpu_hash::HashRequest request{parameters_, span, {}, {}};
    const auto staged = hash_staged(*owner_, *engine_, tensors, request, 32'768);
    const auto expected = engine_->hash(regions, request);
    ASSERT_TRUE(staged && expected);
    for (std::size_t i = 0; i < regions.size(); ++i) {
      EXPECT_EQ((*staged)[i].root, (*expected)[i].root) << span;
      EXPECT_EQ((*staged)[i].outline, (*expected)[i].outline) << span;
    }
  }
}

TEST_P(InstanceCheckTest, AnOwnerThatWantsItsMemoryBack_EndsEveryCall) {
  owner_->add("a", some_bytes(70'000, 1));
  owner_->add("b", some_bytes(70'000, 2), PieceKind::kStaged);
  const auto check = start();
  ASSERT_TRUE(check);
  EXPECT_FALSE((*check)->is_over());
  owner_->end();
  EXPECT_TRUE((*check)->is_over());
  for (unsigned i = 0; i < (*check)->slices(); ++i) {
    EXPECT_EQ((*check)->recheck(i).error().code, ErrorCode::kCancelled);
  }
  EXPECT_EQ((*check)->redraw(16).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(start().error().code, ErrorCode::kCancelled);
}

TEST_P(InstanceCheckTest, MemoryTakenBackInTheMiddle_EndsThePass) {
  for (int i = 0; i < 300; ++i) {
    owner_->add("t" + std::to_string(i), some_bytes(600, static_cast<std::uint64_t>(i)));
  }
  int calls = 0;
  owner_->on_call([&] {
    if (++calls == 2) {
      owner_->end();
    }
  });
  EXPECT_EQ(start().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace assay::worker::test
