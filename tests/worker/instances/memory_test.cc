// SPDX-License-Identifier: Apache-2.0
// Descriptors are looked at before they are used, few are open at a time, and nothing stays.
#include "worker/instances/memory.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "schemas/posix/descriptor_limit.h"
#include "tests/worker/instances/engines.h"
#include "tests/worker/instances/fake_owner.h"
#include "tests/worker/instances/memory_seals.h"

namespace assay::worker::test {
namespace {

const ArtifactId kArtifact(Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data()));

class InstanceMemoryTest : public OnEngine {
 protected:
  static std::string refusal(const Result<InstanceMemory>& memory) {
    return memory ? "" : std::string(info(memory.error().code).code) + ": " + memory.error().detail;
  }
  Result<InstanceMemory> import(FakeOwner& owner, std::size_t pieces) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      all.push_back(i);
    }
    ExportTime exports;
    return InstanceMemory::import(owner, *engine_, all, {}, exports);
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, InstanceMemoryTest, testing::Values("cpu", "opencl"),
                         engine_name);

TEST_P(InstanceMemoryTest, WhatIsNoSealedMemoryFileOfThatSize_IsRefused) {
  const Bytes bytes = some_bytes(10'000, 1);
  FakeOwner owner(kArtifact);
  owner.add("a", bytes);
  const auto with = [&](std::function<Descriptor()> make) {
    owner.hand_out(0, std::move(make));
    return refusal(import(owner, 1));
  };
  const MemoryFile open(bytes, 0);
  const MemoryFile shrinks(bytes, kOwnerSeals & ~F_SEAL_SHRINK);
  const MemoryFile grows(bytes, kOwnerSeals & ~F_SEAL_GROW);
  const MemoryFile holes(bytes, kOwnerSeals & ~F_SEAL_FUTURE_WRITE);
  const MemoryFile small(ByteView(bytes).first(9'999));
  const auto lacks = [](const std::string& seals) {
    return "invalid-parameter: a memory file lacks the seals " + seals +
           ": add them with fcntl(F_ADD_SEALS) after it is mapped writable";
  };
  EXPECT_EQ(with([&] { return open.share(); }),
            lacks("F_SEAL_SHRINK F_SEAL_GROW F_SEAL_FUTURE_WRITE"));
  EXPECT_EQ(with([&] { return shrinks.share(); }), lacks("F_SEAL_SHRINK"));
  EXPECT_EQ(with([&] { return grows.share(); }), lacks("F_SEAL_GROW"));
  EXPECT_EQ(with([&] { return holes.share(); }), lacks("F_SEAL_FUTURE_WRITE"));
  EXPECT_EQ(with([&] { return small.share(); }),
            "invalid-parameter: a memory file has another size than was said");
  const std::string no_memory = "invalid-parameter: a piece of host memory is not a memory file";
  for (const char* path : {"/dev/zero", "/proc/self/exe", "/"}) {
    EXPECT_EQ(with([&] { return Descriptor(::open(path, O_RDONLY | O_CLOEXEC)); }), no_memory)
        << path;
  }
  EXPECT_EQ(with([] { return Descriptor(::eventfd(0, EFD_CLOEXEC)); }), no_memory);
  EXPECT_EQ(with([] { return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }),
            no_memory);
  EXPECT_EQ(with([] { return Descriptor(); }), "invalid-parameter: a descriptor is missing");
  const MemoryFile right(bytes);
  EXPECT_EQ(with([&] { return right.share(); }), "");
}

// A driver keeps the descriptor of what it imported, and closes that number when it lets go.
TEST_P(InstanceMemoryTest, MorePiecesOfDevicesThanDescriptors_AreRefusedWithAdvice) {
  FakeOwner owner(kArtifact);
  owner.add("a", some_bytes(4096, 1));
  owner.edit().pieces[0].kind = PieceKind::kDevice;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{300, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string refused = refusal(import(owner, 1));
  EXPECT_EQ(refused,
            "limit-exceeded: the node agent may open 300 files and needs 318: raise its limit "
            "(LimitNOFILE, ulimit -n)");
  raise_descriptor_limit();
  EXPECT_EQ(descriptor_limit(), limit.rlim_max);
  EXPECT_NE(refusal(import(owner, 1)), refused);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_P(InstanceMemoryTest, ManyPieces_AFewDescriptorsAtATime_AndNoneAfter) {
  constexpr std::size_t kPieces = 600;
  FakeOwner owner(kArtifact);
  for (std::size_t i = 0; i < kPieces; ++i) {
    owner.add("t" + std::to_string(i), some_bytes(5000, i));
  }
  const std::size_t before = open_descriptors();
  std::size_t most = 0;
  owner.on_call([&] { most = std::max(most, open_descriptors()); });
  {
    const auto memory = import(owner, kPieces);
    ASSERT_TRUE(memory) << refusal(memory);
    EXPECT_EQ(memory->pieces(), kPieces);
    EXPECT_EQ(open_descriptors(), before);
    const gpu_hash::Region region = memory->region(owner.registration().tensors[599].parts);
    const Bytes bytes = some_bytes(5000, 599);
    const gpu_hash::Region host = gpu_hash::host_region(bytes);
    EXPECT_EQ(engine_->hash({&region, 1}, {}).value()[0].root,
              engine_->hash({&host, 1}, {}).value()[0].root);
  }
  EXPECT_EQ(most, before);  // every batch was closed before the next one came
  EXPECT_EQ(owner.largest_export(), kMaxFrameDescriptors);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(InstanceMemoryTest, DevicePieces_AreNotTakenByAnEngineOfTheHost) {
  FakeOwner owner(kArtifact);
  owner.add("a", some_bytes(100, 1), PieceKind::kDevice);
  EXPECT_EQ(refusal(import(owner, 1)),
            "invalid-parameter: the engine imports no memory of devices");
  owner.edit().device = "GPU-5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c11";
  EXPECT_EQ(engine_for(*engine_, owner.registration()).error().code, ErrorCode::kDeviceNotFound);
}

TEST_P(InstanceMemoryTest, ATensorInMemoryOfSeveralKinds_IsRefused) {
  FakeOwner owner(kArtifact);
  owner.add_piece(PieceKind::kHost, some_bytes(100, 1));
  owner.add_piece(PieceKind::kStaged, some_bytes(100, 2));
  owner.add_tensor("a", {{0, 0, 100}, {1, 0, 100}});
  EXPECT_FALSE(reach_of(*engine_, owner.registration(), owner.registration().tensors[0].parts));
}

}  // namespace
}  // namespace assay::worker::test
