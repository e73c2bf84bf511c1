// SPDX-License-Identifier: Apache-2.0
// Device memory: hashed in place, imported from a file descriptor, and checked again with keyed
// tags.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu_hash/exported.h"
#include "gpu_hash/opencl/engine.h"
#include "gpu_hash/tags.h"
#include "schemas/core/sha.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

// A memory file with `bytes` in it, sealed against shrinking, and a mapping of it to write through.
class Owner {
 public:
  explicit Owner(ByteView bytes, bool sealed = true)
      : fd_(::memfd_create("owner", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size_(bytes.size()) {
    EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(size_)), 0);
    memory_ = static_cast<std::uint8_t*>(
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    std::ranges::copy(bytes, memory_);
    if (sealed) {
      EXPECT_EQ(::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    }
  }
  ~Owner() { ::munmap(memory_, size_); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  [[nodiscard]] Descriptor share() const {
    return Descriptor(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  }
  [[nodiscard]] std::uint8_t* memory() const { return memory_; }

 private:
  Descriptor fd_;
  std::size_t size_;
  std::uint8_t* memory_ = nullptr;
};

class Resident : public testing::TestWithParam<HashAlgorithm> {
 protected:
  void SetUp() override {
    auto devices = find_cl_devices();
    if (devices.empty()) {
      GTEST_SKIP() << "no OpenCL device";
    }
    // One cache for all tests: programs are built once.
    static const TempDir cache;
    auto engine = ClEngine::open(devices.front(), {}, KernelCache(cache.path()));
    ASSERT_TRUE(engine.has_value());
    engine_ = std::move(*engine);
  }

  std::shared_ptr<ClMemory> upload(ByteView bytes) {
    auto memory = engine_->allocate(std::max<std::size_t>(bytes.size(), 1));
    EXPECT_TRUE(memory.has_value());
    EXPECT_TRUE(engine_->write(**memory, 0, bytes).has_value());
    return *memory;
  }

  [[nodiscard]] HashRequest request(std::uint32_t chunk_size = 4096, std::uint64_t span = 0) const {
    return {TreeParameters{GetParam(), chunk_size}, span, {}, {}};
  }

  std::unique_ptr<ClEngine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Both, Resident,
                         testing::Values(HashAlgorithm::kSha256, HashAlgorithm::kSha384),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(Resident, RandomPieces_EqualReference) {
  Random random;
  SCOPED_TRACE(random.text());
  for (int round = 0; round < 8; ++round) {
    const HashRequest wanted = request(4096U << random.below(3));
    std::vector<Region> regions(1 + random.below(5));
    std::vector<Bytes> objects(regions.size());
    for (std::size_t i = 0; i < regions.size(); ++i) {
      // More pieces than one launch takes buffers, now and then.
      for (std::size_t n = random.below(4) == 0 ? 90 : random.below(5); n > 0; --n) {
        const Bytes bytes = pattern(64 + random.below(30000));
        const std::uint64_t skip = random.below(2) == 0 ? 16 * random.below(4) : random.below(64);
        regions[i].pieces.emplace_back(DevicePiece{upload(bytes), skip, bytes.size() - skip});
        objects[i].insert(objects[i].end(), bytes.begin() + static_cast<std::ptrdiff_t>(skip),
                          bytes.end());
      }
    }
    const auto digests = engine_->hash(regions, wanted);
    ASSERT_TRUE(digests.has_value()) << digests.error().detail;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      EXPECT_EQ((*digests)[i].root, reference_root(wanted.parameters, objects[i])) << round;
    }
    EXPECT_TRUE(engine_->last_path().resident || objects.size() == 0 ||
                std::ranges::all_of(objects, [](const Bytes& o) { return o.empty(); }));
  }
}

// Work-groups join 256 chunks at a time, so these need one launch over nodes, or two.
TEST_P(Resident, MoreChunksThanOneLaunchJoins_EqualReference) {
  std::vector<Region> regions;
  std::vector<Bytes> objects;
  for (const std::size_t chunks : {1U, 2U, 255U, 256U, 257U, 770U}) {
    objects.push_back(pattern(chunks * 4096 - 1));
    regions.emplace_back().pieces.emplace_back(
        DevicePiece{upload(objects.back()), 0, objects.back().size()});
  }
  const auto digests = engine_->hash(regions, request(4096));
  ASSERT_TRUE(digests.has_value()) << digests.error().detail;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    EXPECT_EQ((*digests)[i].root, reference_root(request(4096).parameters, objects[i]))
        << objects[i].size();
  }
}

TEST_P(Resident, Outline_IsTheOneOfHostMemory) {
  const Bytes object = pattern(300'001);
  const HashRequest wanted = request(4096, 65536);
  const Region host = host_region(object);
  Region device;
  device.pieces.emplace_back(DevicePiece{upload(object), 0, object.size()});
  const auto expected = engine_->hash({&host, 1}, wanted);
  const auto got = engine_->hash({&device, 1}, wanted);
  ASSERT_TRUE(expected.has_value() && got.has_value());
  EXPECT_EQ((*got)[0].root, (*expected)[0].root);
  EXPECT_EQ((*got)[0].outline, (*expected)[0].outline);
  EXPECT_EQ((*got)[0].outline.size(), 5U);
}

TEST_P(Resident, ImportedMemory_IsHashedInPlace) {
  if (engine_->session().device().imports_fds) {
    GTEST_SKIP() << "the device imports what its driver exports";
  }
  const Bytes object = pattern(2'000'003);
  std::vector<std::unique_ptr<Owner>> owners;
  Region region;
  for (std::size_t at = 0; at < object.size(); at += 20'000) {
    const std::size_t size = std::min<std::size_t>(20'000, object.size() - at);
    owners.push_back(std::make_unique<Owner>(ByteView(object).subspan(at, size)));
    const auto memory = engine_->import_memory(owners.back()->share(), size);
    ASSERT_TRUE(memory.has_value()) << memory.error().detail;
    region.pieces.emplace_back(DevicePiece{*memory, 0, size});
  }
  EXPECT_EQ(hash_one(*engine_, request().parameters, region).root,
            reference_root(request().parameters, object));
  // What the owner writes is seen: nothing was copied at the import.
  owners[37]->memory()[99] ^= 1;
  Bytes changed = object;
  changed[37 * 20'000 + 99] ^= 1;
  EXPECT_EQ(hash_one(*engine_, request().parameters, region).root,
            reference_root(request().parameters, changed));
}

// In a buffer of more than 2^32 bytes, of which no more are ever there than this test writes.
TEST_P(Resident, OffsetsAroundFourGiB_AreReadWhereTheyAre) {
  constexpr std::uint64_t border = std::uint64_t{1} << 32;
  constexpr std::uint64_t size = border + (1U << 20);
  const DeviceInfo& device = engine_->session().device().info;
  if (engine_->session().device().imports_fds || device.max_allocation_bytes < size) {
    GTEST_SKIP() << "the device cannot import so large a memory file";
  }
  const Bytes object = pattern(200'003);
  const Descriptor fd(::memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const auto memory =
      engine_->import_memory(Descriptor(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)), size);
  ASSERT_TRUE(memory.has_value()) << memory.error().detail;
  for (const std::uint64_t begin : {border - 100'000, border - 1, border, border + 7}) {
    ASSERT_EQ(::pwrite(fd.get(), object.data(), object.size(), static_cast<off_t>(begin)),
              static_cast<ssize_t>(object.size()));
    Region region;
    region.pieces.emplace_back(DevicePiece{*memory, begin, object.size()});
    EXPECT_EQ(hash_one(*engine_, request().parameters, region).root,
              reference_root(request().parameters, object))
        << begin;
  }
}

TEST_P(Resident, StopRequested_EndsWithCancelled) {
  const Bytes object = pattern(100'000);
  Region region;
  region.pieces.emplace_back(DevicePiece{upload(object), 0, object.size()});
  std::stop_source stop;
  stop.request_stop();
  HashRequest wanted = request();
  wanted.stop = stop.get_token();
  const auto result = engine_->hash({&region, 1}, wanted);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  // The engine is as good as before.
  EXPECT_EQ(hash_one(*engine_, request().parameters, region).root,
            reference_root(request().parameters, object));
}

TEST_P(Resident, ImportOfWhatMayShrinkOrIsTooSmallOrIsNoMemory_IsRefused) {
  if (engine_->session().device().imports_fds) {
    GTEST_SKIP() << "the device imports what its driver exports";
  }
  const Bytes bytes = pattern(5000);
  const Owner open(bytes, false);
  const Owner sealed(bytes);
  EXPECT_FALSE(engine_->import_memory(open.share(), 5000).has_value());
  EXPECT_FALSE(engine_->import_memory(sealed.share(), 5001).has_value());
  EXPECT_FALSE(engine_->import_memory(sealed.share(), 0).has_value());
  EXPECT_FALSE(engine_->import_memory(Descriptor(), 5000).has_value());
  EXPECT_FALSE(
      engine_->import_memory(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), 1).has_value());
  EXPECT_TRUE(engine_->import_memory(sealed.share(), 5000).has_value());
}

constexpr std::string_view kNvidia = "NVIDIA Corporation";
constexpr std::string_view kAnother = "Intel(R) Corporation";

// What can be opened without a GPU, as the kernel describes it.
TEST(Exported, FilesThatAreNoDeviceMemory_AreNoneForAnyDriver) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const Descriptor other_end(pair[1]);
  const TempDir folder;
  const std::string file = folder.path() / "nvidiactl";
  const std::array<std::pair<std::string, Descriptor>, 7> files = {{
      {"file", Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600))},
      {"directory", Descriptor(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC))},
      {"memory file", Descriptor(::memfd_create("/dmabuf:", MFD_CLOEXEC))},
      {"socket", Descriptor(pair[0])},
      {"eventfd", Descriptor(::eventfd(0, EFD_CLOEXEC))},
      {"device", Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC))},
      {"path only", Descriptor(::open("/dev/null", O_PATH | O_CLOEXEC))},
  }};
  for (const auto& [name, fd] : files) {
    ASSERT_TRUE(fd) << name;
    const auto kind = kind_of(fd);
    ASSERT_TRUE(kind.has_value()) << name;
    EXPECT_FALSE(is_device_memory(*kind, kNvidia)) << name;
    EXPECT_FALSE(is_device_memory(*kind, kAnother)) << name;
    EXPECT_FALSE(is_device_memory(*kind)) << name;
    // The file system of a file that has a type is never asked.
    EXPECT_EQ(kind->filesystem != 0, name == "eventfd") << name;
  }
  EXPECT_FALSE(kind_of(Descriptor()).has_value());
}

TEST(Exported, EachDriverHasItsKind) {
  const FileKind control{S_IFCHR | 0666, makedev(195, 255), TMPFS_MAGIC};
  const FileKind dma_buf{0600, 0, DMA_BUF_MAGIC};
  EXPECT_TRUE(is_device_memory(control, kNvidia));
  EXPECT_TRUE(is_device_memory(dma_buf, kAnother));
  EXPECT_TRUE(is_device_memory(control));
  EXPECT_TRUE(is_device_memory(dma_buf));
  EXPECT_FALSE(is_device_memory(control, kAnother));
  EXPECT_FALSE(is_device_memory(dma_buf, kNvidia));

  FileKind changed = control;
  changed.device = makedev(195, 0);  // the first GPU itself
  EXPECT_FALSE(is_device_memory(changed, kNvidia));
  changed.device = makedev(196, 255);
  EXPECT_FALSE(is_device_memory(changed, kNvidia));
  changed = control;
  changed.mode = S_IFBLK | 0666;
  EXPECT_FALSE(is_device_memory(changed, kNvidia));
  changed = dma_buf;
  changed.filesystem = ANON_INODE_FS_MAGIC;
  EXPECT_FALSE(is_device_memory(changed, kAnother));
}

// A driver that says that it imports descriptors is given none of another kind.
TEST(Exported, ADriverIsAskedForNothingElse) {
  const auto devices = find_cl_devices();
  if (devices.empty()) {
    GTEST_SKIP() << "no OpenCL device";
  }
  const Owner sealed(pattern(5000));
  for (const std::string_view vendor : {kNvidia, kAnother}) {
    ClDevice device = devices.front();
    device.imports_fds = true;
    device.vendor = vendor;
    const auto session = ClSession::open(device);
    ASSERT_TRUE(session.has_value()) << to_string(session.error());
    const auto memory = ClMemory::import(*session, sealed.share(), 5000);
    ASSERT_FALSE(memory.has_value());
    EXPECT_EQ(memory.error().code, ErrorCode::kInvalidParameter);
    EXPECT_NE(memory.error().detail.find("not one that the driver exported"), std::string::npos)
        << memory.error().detail;
  }
}

TEST_P(Resident, PieceOutsideItsMemory_OrMixedWithHostMemory_IsRefused) {
  const Bytes bytes = pattern(100);
  const auto memory = upload(bytes);
  for (const DevicePiece& piece :
       {DevicePiece{memory, 0, 101}, DevicePiece{memory, 101, 0}, DevicePiece{memory, ~0ULL, 2}}) {
    Region region;
    region.pieces.emplace_back(piece);
    const auto result = engine_->hash({&region, 1}, request());
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidParameter);
  }
  Region mixed = host_region(bytes);
  mixed.pieces.emplace_back(DevicePiece{memory, 0, 100});
  EXPECT_FALSE(engine_->hash({&mixed, 1}, request()).has_value());
}

// Both passes against the reference implementation of NH and a tree written down here.
// The tags of an object, block after block, with zeros where its last chunk has none.
Bytes tags_of(const TagKey& key, ByteView object, std::uint32_t chunk_size) {
  const std::size_t chunks = (object.size() + chunk_size - 1) / chunk_size;
  Bytes tags(chunks * (chunk_size / kTagBlock) * 16);
  for (std::size_t at = 0; at < object.size(); at += kTagBlock) {
    const std::size_t size = std::min<std::size_t>(kTagBlock, object.size() - at);
    const auto tag = tag_of_block(key, object.subspan(at, size));
    std::memcpy(tags.data() + 16 * (at / kTagBlock), tag.data(), 16);
  }
  return tags;
}

TEST_P(Resident, Tags_EqualReference) {
  SystemRandom random;
  auto key = TagKey::draw(random);
  ASSERT_TRUE(key.has_value());
  for (const std::size_t size : {1U, 31U, 64U, 4095U, 4096U, 4097U, 16384U, 50'001U}) {
    const Bytes object = pattern(size);
    const std::uint32_t chunk_size = 8192;
    Region region;
    region.pieces.emplace_back(DevicePiece{upload(object), 0, size});
    std::vector<std::vector<Digest>> fused;
    const auto digests = engine_->hash_tagged({&region, 1}, request(chunk_size), *key, fused);
    ASSERT_TRUE(digests.has_value()) << digests.error().detail;
    EXPECT_EQ((*digests)[0].root, reference_root(request(chunk_size).parameters, object));
    const auto alone = engine_->tags({&region, 1}, request(chunk_size), *key);
    ASSERT_TRUE(alone.has_value());
    const Digest expected =
        reference_root(request(4096).parameters, tags_of(*key, object, chunk_size));
    EXPECT_EQ(fused.at(0).at(0), expected) << size;
    EXPECT_EQ(alone->at(0).at(0), expected) << size;
  }
}

// Whole and short chunks, whose work is done in another order than their digests stand in.
class SmallObjects : public Resident {
 protected:
  SmallObjects() {
    for (std::size_t i = 0; i < 300; ++i) {
      const std::uint64_t size = random_.below(3 * kChunk);
      const std::uint64_t offset = 16 * random_.below((bytes_.size() - size) / 16);
      objects_.push_back(ByteView(bytes_).subspan(offset, size));
    }
  }
  std::vector<Region> regions() {
    const auto memory = upload(bytes_);
    std::vector<Region> regions(objects_.size());
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const auto offset = static_cast<std::uint64_t>(objects_[i].data() - bytes_.data());
      regions[i].pieces.emplace_back(DevicePiece{memory, offset, objects_[i].size()});
    }
    return regions;
  }

  static constexpr std::uint32_t kChunk = 8192;
  Random random_;
  const Bytes bytes_ = pattern(400'000);
  std::vector<ByteView> objects_;
};

INSTANTIATE_TEST_SUITE_P(Both, SmallObjects,
                         testing::Values(HashAlgorithm::kSha256, HashAlgorithm::kSha384),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(SmallObjects, Roots_EqualReference) {
  SCOPED_TRACE(random_.text());
  const auto digests = engine_->hash(regions(), request(kChunk));
  ASSERT_TRUE(digests.has_value()) << digests.error().detail;
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    ASSERT_EQ(digests->at(i).root, reference_root(request(kChunk).parameters, objects_[i]))
        << objects_[i].size();
  }
}

// Resident.Tags_EqualReference has both algorithms; building the programs takes most of the time.
class SmallTaggedObjects : public SmallObjects {};

INSTANTIATE_TEST_SUITE_P(Sha256, SmallTaggedObjects, testing::Values(HashAlgorithm::kSha256));

TEST_P(SmallTaggedObjects, RootsAndTags_EqualReference) {
  SCOPED_TRACE(random_.text());
  SystemRandom system;
  auto key = TagKey::draw(system);
  ASSERT_TRUE(key.has_value());
  std::vector<std::vector<Digest>> fused;
  const auto digests = engine_->hash_tagged(regions(), request(kChunk), *key, fused);
  const auto alone = engine_->tags(regions(), request(kChunk), *key);
  ASSERT_TRUE(digests.has_value() && alone.has_value());
  EXPECT_EQ(fused, *alone);
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    ASSERT_EQ(digests->at(i).root, reference_root(request(kChunk).parameters, objects_[i]));
    if (!objects_[i].empty()) {
      ASSERT_EQ(fused.at(i).at(0),
                reference_root(request(4096).parameters, tags_of(*key, objects_[i], kChunk)));
    }
  }
}

// More chunks than a batch of a full pass has: their tags alone are cut into other batches (one, or
// several that are larger), and are the same.
TEST_P(SmallTaggedObjects, TagsOfALargeCall_EqualThoseOfTheFullPass) {
  constexpr std::uint64_t kSize = std::uint64_t{40} << 20;
  EngineOptions options;
  options.batch_bytes = 1U << 20;  // the smallest batch: 2^15 chunks, 128 MiB
  const TempDir cache;
  auto engine = ClEngine::open(find_cl_devices().front(), options, KernelCache(cache.path()));
  ASSERT_TRUE(engine.has_value());
  const auto memory = (*engine)->allocate(kSize);
  ASSERT_TRUE(memory.has_value());
  ASSERT_TRUE((*engine)->write(**memory, 0, pattern(kSize)).has_value());
  SystemRandom random;
  auto key = TagKey::draw(random);
  ASSERT_TRUE(key.has_value());
  for (const std::uint64_t objects : {4U, 14U}) {
    std::vector<Region> regions(objects);
    for (std::uint64_t i = 0; i < objects; ++i) {
      regions[i].pieces.emplace_back(DevicePiece{*memory, 16 * i, kSize - 16 * i});
    }
    std::vector<std::vector<Digest>> expected;
    ASSERT_TRUE((*engine)->hash_tagged(regions, request(4096), *key, expected).has_value());
    for (int i = 0; i < 2; ++i) {  // buffers of the other kind of batch are there, and of this one
      const auto tags = (*engine)->tags(regions, request(4096), *key);
      ASSERT_TRUE(tags.has_value()) << tags.error().detail;
      EXPECT_EQ(*tags, expected) << objects;
    }
  }
}

TEST_P(Resident, KeyedCheck_SeesOneChangedBit_AndThenNeedsAFullPass) {
  const Bytes object = pattern(200'000);
  const auto memory = upload(object);
  const auto other = upload(object);
  std::vector<Region> regions(2);
  regions[0].pieces.emplace_back(DevicePiece{other, 0, object.size()});
  regions[1].pieces.emplace_back(DevicePiece{memory, 0, object.size()});
  SystemRandom random;
  auto check = KeyedCheck::start(*engine_, regions, request(), random);
  ASSERT_TRUE(check.has_value()) << check.error().detail;
  EXPECT_EQ(check->digests()[1].root, reference_root(request().parameters, object));
  EXPECT_EQ(check->recheck().value(), std::vector<std::size_t>{});
  const std::uint8_t byte = object[123'456] ^ 0x40;
  ASSERT_TRUE(engine_->write(*memory, 123'456, {&byte, 1}).has_value());
  EXPECT_EQ(check->recheck().value(), std::vector<std::size_t>{1});
  ASSERT_TRUE(engine_->write(*memory, 123'456, ByteView(object).subspan(123'456, 1)).has_value());
  EXPECT_FALSE(check->recheck().has_value());
  EXPECT_TRUE(KeyedCheck::start(*engine_, regions, request(), random).has_value());
}

TEST_P(Resident, TagsOfOddAddressesOrHostMemory_AreRefused) {
  const Bytes object = pattern(6'000'000);
  SystemRandom random;
  Region host = host_region(object);
  EXPECT_FALSE(KeyedCheck::start(*engine_, {host}, request(), random).has_value());
  Region odd;
  odd.pieces.emplace_back(DevicePiece{upload(object), 1, object.size() - 1});
  EXPECT_FALSE(KeyedCheck::start(*engine_, {odd}, request(), random).has_value());
}

// NH by hand: only words 0 and 4 differ from zero.
TEST(Tags, Block_IsNhOfRfc4418) {
  SystemRandom random;
  const auto key = TagKey::draw(random);
  ASSERT_TRUE(key.has_value());
  const auto k = key->words();
  Bytes block(20);
  block[0] = 3;
  block[16] = 7;
  std::array<std::uint64_t, 2> zero = tag_of_block(*key, Bytes(20));
  for (std::size_t t = 0; t < 2; ++t) {
    const auto product = [&](std::uint32_t a, std::uint32_t b) {
      return std::uint64_t{a} * std::uint64_t{b};
    };
    zero[t] += product(3 + k[4 * t], 7 + k[4 + 4 * t]) - product(k[4 * t], k[4 + 4 * t]);
  }
  EXPECT_EQ(tag_of_block(*key, block), zero);
}

}  // namespace
}  // namespace assay::gpu_hash::test
