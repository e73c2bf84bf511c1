// SPDX-License-Identifier: Apache-2.0
// Which files are taken as memory when they come, and what their owner can no longer change then.
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/worker/instances/owner_end.h"

namespace assay::worker::test {
namespace {

// Registers one piece with this descriptor.
std::string with_file(Agent& agent, int file) {
  OwnerEnd owner(agent);
  return owner.enter(host_registration(1), {file});
}

TEST(MemoryFiles, DescriptorsThatAreNoSealedMemory_AreRefused) {
  Agent agent;
  const std::size_t before = open_descriptors();
  for (const int seal : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE}) {
    const Descriptor file = memory_file(64, kOwnerSeals & ~seal);
    EXPECT_EQ(with_file(agent, file.get()), "refused invalid-parameter") << seal;
  }
  EXPECT_EQ(with_file(agent, memory_file(63).get()), "refused invalid-parameter");
  EXPECT_EQ(with_file(agent, memory_file(65).get()), "refused invalid-parameter");
  const auto [pipe, other] = socket_pair();
  EXPECT_EQ(with_file(agent, pipe.get()), "refused invalid-parameter");
  const Descriptor disk(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(with_file(agent, disk.get()), "refused invalid-parameter");
  EXPECT_EQ(open_descriptors(), before + 3);
  EXPECT_TRUE(agent.registry.all().empty());
  EXPECT_EQ(with_file(agent, memory_file(64).get()), "registered");
}

// A hole in such a file would become a page of a pool that the whole machine shares.
TEST(MemoryFiles, MemoryOfHugePages_IsRefused) {
  if (!Descriptor(::memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB))) {
    GTEST_SKIP() << "this kernel has no files of huge pages";
  }
  Agent agent;
  const Descriptor huge = sparse_file(1 << 30, kOwnerSeals, MFD_HUGETLB);  // whole pages
  EXPECT_EQ(with_file(agent, huge.get()), "refused invalid-parameter");
}

TEST(MemoryFiles, MissingSeal_IsNamedWithTheCallThatAddsIt) {
  Agent agent;
  OwnerEnd owner(agent);
  owner.send(OwnerHello{"test"});
  EXPECT_EQ(owner.next_type(), "welcome");
  owner.send(host_registration(1));
  owner.send(OwnerPieces{0, 0, 1}, {memory_file(64, F_SEAL_SHRINK | F_SEAL_GROW).get()});
  EXPECT_EQ(owner.next()["detail"],
            "a memory file lacks the seals F_SEAL_FUTURE_WRITE: add them with fcntl(F_ADD_SEALS) "
            "after it is mapped writable");
}

// Finding holes takes time with the size of a file, and one frame may have it 253 times. The first
// look decides, and ends the connection.
TEST(MemoryFiles, OneFileOfAFrame_IsSearchedForHolesOnce) {
  const Descriptor file = sparse_file(1 << 20, kOwnerSeals);
  const InstancePiece piece{1 << 20, PieceKind::kHost, ""};
  ForeignFiles files;
  EXPECT_FALSE(files.check(file, piece));
  EXPECT_TRUE(files.check(file, piece));
  EXPECT_FALSE(ForeignFiles().check(file, piece));
}

// Reading a hole makes a page, which the kernel charges to the process that reads.
TEST(MemoryFiles, FileWithHoles_IsRefused_AlsoWithBlocksBehindItsEnd) {
  constexpr std::int64_t kPage = 64 << 10;  // no page is larger
  Agent agent;
  InstanceRegistration registration = host_registration(1);
  registration.pieces[0].size = 4 * kPage;
  const auto enter = [&](const auto& make) {
    const Descriptor file = sparse_file(4 * kPage, 0);
    make(file.get());
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, kOwnerSeals), 0);
    OwnerEnd owner(agent);
    return owner.enter(registration, {file.get()});
  };
  const auto write = [](int file, std::int64_t page) {
    EXPECT_EQ(::pwrite(file, "x", 1, page * kPage), 1);
  };
  const auto fill = [](int file) {
    const std::string zeros(4 * kPage, '\0');
    EXPECT_EQ(::pwrite(file, zeros.data(), zeros.size(), 0), 4 * kPage);
  };
  const std::string refused = "refused invalid-parameter";
  EXPECT_EQ(enter([](int) {}), refused);
  EXPECT_EQ(enter([&](int file) { write(file, 0); }), refused);
  EXPECT_EQ(enter([&](int file) { write(file, 3); }), refused);
  EXPECT_EQ(enter([&](int file) {
              fill(file);
              const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
              EXPECT_EQ(::fallocate(file, how, 2 * kPage, kPage), 0);
            }),
            refused);
  EXPECT_EQ(enter([](int file) {
              EXPECT_EQ(::fallocate(file, FALLOC_FL_KEEP_SIZE, 4 * kPage, 4 * kPage), 0);
            }),
            refused);
  EXPECT_EQ(enter(fill), "registered");
}

// What the check found stays: the owner writes, and nobody can make a hole.
TEST(MemoryFiles, AcceptedFile_GetsNoHolesLater) {
  const MappedFile memory(64);
  ASSERT_TRUE(ForeignFiles().check(memory.file, {64, PieceKind::kHost, ""}));
  const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  EXPECT_EQ(::fallocate(memory.file.get(), how, 0, 64), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::madvise(memory.bytes, 64, MADV_REMOVE), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(memory.file.get(), 0), -1);
  memory.bytes[0] = 7;
  EXPECT_EQ(::lseek(memory.file.get(), 0, SEEK_HOLE), 64);
}

}  // namespace
}  // namespace assay::worker::test
