// SPDX-License-Identifier: Apache-2.0
// A process reads memory for the node agent: what it finds, and that nothing is called verified
// when it dies, hangs or lies.
#include "worker/reader/readers.h"

#include <fcntl.h>
#include <fstream>
#include <future>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>

#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "tests/worker/reader/played_reader.h"
#include "worker/instances/watch.h"

namespace assay::worker::test {
namespace {

using Kind = Finding::Kind;

class ReadersTest : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t i = 0; i < 3; ++i) {
      tensors_.push_back({"t" + std::to_string(i), some_bytes(30'000 + i, i)});
    }
    manifest_ = manifest_of(tensors_);
  }
  static gpu_hash::Engine& engine() {
    static const auto cpu = gpu_hash::make_engine(gpu_hash::drivers_in_this_process(),
                                                  gpu_hash::parse_device("cpu").value(), {});
    return **cpu;
  }
  [[nodiscard]] ArtifactId id() const { return artifact_id(manifest_).value(); }
  // One process with two host pieces and a staged one.
  [[nodiscard]] std::shared_ptr<FakeOwner> owner() const {
    auto owner = std::make_shared<FakeOwner>(id());
    owner->add(tensors_[0].name, tensors_[0].bytes);
    owner->add(tensors_[1].name, tensors_[1].bytes);
    owner->add(tensors_[2].name, tensors_[2].bytes, PieceKind::kStaged);
    return owner;
  }
  std::shared_ptr<InstanceModel> model(const std::shared_ptr<FakeOwner>& owner, Checks& checks) {
    return std::make_shared<InstanceModel>(std::vector<std::shared_ptr<Owner>>{owner}, id(),
                                           manifest_, checks);
  }
  // A right process reads all of an owner's memory.
  void expect_verified(Checks& checks) {
    const auto hashed = model(owner(), checks)->hash(2, {});
    ASSERT_TRUE(hashed) << hashed.error().detail;
    EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
    EXPECT_TRUE(hashed->not_covered.empty());
  }
  static void expect_failed(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kDeviceFailed) << error.detail;
  }
  static ReaderTimes hasty() {
    return {.silent = std::chrono::seconds(1), .end = std::chrono::milliseconds(500)};
  }

  std::vector<NamedBytes> tensors_;
  Manifest manifest_;
};

// Killed at its first message, its second, and so on to its last: see the count at the end.
TEST_F(ReadersTest, KilledAtAnyMessage_NothingIsVerifiedThatWasNot_AndTheNextPassIs) {
  int at = 1;
  for (bool died = true; died; ++at) {
    SCOPED_TRACE(at);
    PlayedReaders played(engine(), kDies, std::to_string(at));
    const auto owner = this->owner();
    const auto instance = model(owner, *played.readers);
    const auto hashed = instance->hash(2, {});
    const bool verified =
        hashed && hashed->entries == manifest_.artifact.entries && hashed->not_covered.empty();
    if (!verified) {
      ASSERT_FALSE(hashed);  // the job fails: nothing is reported
      expect_failed(hashed.error());
      owner->await(InstanceState::kUnknown);
      ASSERT_EQ(owner->told().size(), 1U);
      EXPECT_EQ(owner->told()[0].kind, Kind::kError);
    }
    std::size_t confirmed = 0;
    bool failed = !verified;
    for (unsigned i = 0; i < 3; ++i) {
      const auto found = i < 2 ? instance->recheck(i) : instance->redraw(16);
      EXPECT_FALSE(failed && found) << "a look after a failure says that all is right";
      failed = failed || !found;
      confirmed += found ? 1U : 0U;
    }
    const auto outline = instance->outline({0}, 16'384, {});
    EXPECT_FALSE(failed && outline);
    instance->release();
    died = played.is_played();
    EXPECT_TRUE(died || !failed);
    if (!died) {
      EXPECT_EQ(confirmed, 3U);
      EXPECT_TRUE(outline);
      break;
    }
    played.news.await_failure();
    expect_verified(*played.readers);
    EXPECT_EQ(played.news.count(true), 1U);
  }
  EXPECT_GT(at, 20);  // messages of all of this
}

// It neither answers nor ends: it is killed, and the owner is free.
TEST_F(ReadersTest, StoppedAtAMessage_IsKilled_AndTheNextPassIsVerified) {
  for (const int at : {1, 2, 3, 5, 9, 14}) {
    SCOPED_TRACE(at);
    ReaderTimes times = hasty();
    times.start = std::chrono::seconds(at == 1 ? 1 : 60);
    PlayedReaders played(engine(), kStops, std::to_string(at), times);
    auto owner = this->owner();
    const auto instance = model(owner, *played.readers);
    const auto hashed = instance->hash(2, {});
    if (hashed) {
      Result<std::vector<Finding>> found = std::vector<Finding>();
      for (unsigned i = 0; i < 3 && found; ++i) {
        found = i < 2 ? instance->recheck(i) : instance->redraw(16);
      }
      ASSERT_FALSE(found);
      expect_failed(found.error());
    } else {
      expect_failed(hashed.error());
    }
    instance->release();
    EXPECT_EQ(owner.use_count(), 1);  // nobody holds its memory
    played.news.await_failure();
    const pid_t pid = played.news.pid();
    EXPECT_TRUE(pid < 0 || ::kill(pid, 0) != 0);
    expect_verified(*played.readers);
  }
}

// Its engine fails at its first call, its second, and so on: what the process holds on the device
// is lost, for every instance, although the process lives and would go on.
TEST_F(ReadersTest, ADeadContextInALivingProcess_EndsItForAllItsInstances) {
  int at = 1;
  for (bool broke = true; broke; ++at) {
    SCOPED_TRACE(at);
    PlayedReaders played(engine(), kBreaks, std::to_string(at));
    const std::shared_ptr<InstanceModel> both[] = {model(owner(), *played.readers),
                                                   model(owner(), *played.readers)};
    std::vector<bool> held;  // by instance: a process has its memory
    for (const auto& instance : both) {
      const bool lost = played.is_played();
      const auto hashed = instance->hash(2, {});
      if (!hashed) {
        expect_failed(hashed.error());
      }
      EXPECT_TRUE(hashed || !lost) << "the next process is right";
      if (!lost && played.is_played()) {
        held.assign(held.size(), false);
      }
      held.push_back(hashed.has_value());
    }
    const auto look = [&](std::size_t which, const auto& call) {
      const bool lost = played.is_played();
      const auto found = call(*both[which]);
      EXPECT_EQ(found.has_value(), held[which] && (lost || !played.is_played()));
      if (!lost && played.is_played()) {
        expect_failed(found.error());
        held.assign(held.size(), false);
      }
    };
    for (std::size_t i = 0; i < 2; ++i) {
      look(i, [](InstanceModel& one) { return one.recheck(0); });
      look(i, [](InstanceModel& one) { return one.redraw(16); });
      look(i, [](InstanceModel& one) { return one.outline({0}, 16'384, {}); });
    }
    broke = played.is_played();
    if (broke) {
      played.news.await_failure();
      expect_verified(*played.readers);
      EXPECT_EQ(played.news.count(true), 1U);
    }
  }
  EXPECT_GT(at, 8);  // calls of all of this
}

TEST_F(ReadersTest, ADeadContext_MakesAllThatIsWatchedThereUnknown) {
  PlayedReaders played(engine(), kBreaks, "0");
  WatchPlan plan;
  plan.period = std::chrono::milliseconds(100);
  plan.slices = 2;
  InstanceWatch watch(plan, [](const InstanceBeat&, std::span<const Finding>) {});
  std::vector<std::shared_ptr<FakeOwner>> owners;
  for (const char* name : {"one", "two"}) {
    owners.push_back(owner());
    const auto instance = model(owners.back(), *played.readers);
    const auto hashed = instance->hash(2, {});
    ASSERT_TRUE(hashed);
    watch.watch({"", name}, id(), DocumentId(id().root()), hashed->entries, instance);
  }
  played.break_now();
  for (const auto& one : owners) {
    one->await(InstanceState::kUnknown);
  }
  EXPECT_TRUE(played.is_played());
  for (const InstanceBeat& beat : watch.beats()) {
    EXPECT_EQ(beat.state, InstanceState::kUnknown);
  }
  played.news.await_failure();
  expect_verified(*played.readers);
}

// Two instances on one device share its process; what dies with the other device is not theirs.
TEST_F(ReadersTest, EachDeviceHasOneProcess_AndOnlyItsInstancesEndWithIt) {
  const auto devices = several_devices();
  PlayedReaders played(*devices, kSeveral, "");
  std::vector<std::shared_ptr<InstanceModel>> instances;
  for (const char* device : {"GPU-a", "GPU-a", "GPU-b"}) {
    const auto one = std::make_shared<FakeOwner>(id());
    for (const NamedBytes& tensor : tensors_) {
      one->add(tensor.name, tensor.bytes);
      one->edit().pieces.back().kind = PieceKind::kDevice;
    }
    one->edit().device = device;
    instances.push_back(model(one, *played.readers));
    const auto hashed = instances.back()->hash(2, {});
    ASSERT_TRUE(hashed) << hashed.error().detail;
    EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
    ASSERT_EQ(hashed->memory.read_by.size(), 1U);
    EXPECT_EQ(hashed->memory.read_by[0].uuid, device);
  }
  EXPECT_EQ(played.news.count(false), 2U);
  ::kill(played.news.pid(), SIGKILL);  // that of the second device
  played.news.await_failure();
  EXPECT_TRUE(instances[0]->recheck(0));
  EXPECT_TRUE(instances[1]->recheck(0));
  const auto lost = instances[2]->recheck(0);
  ASSERT_FALSE(lost);
  expect_failed(lost.error());
  EXPECT_TRUE(instances[0]->redraw(16));
  EXPECT_EQ(played.news.count(false), 2U);
  EXPECT_TRUE(instances[2]->hash(2, {}));
  EXPECT_EQ(played.news.count(false), 3U);
  EXPECT_EQ(played.news.count(true), 1U);
}

// A pod whose memory ends the process that reads it ends nobody else's.
TEST_F(ReadersTest, EachPodHasItsOwnProcess_AndThoseBeyondTheLimitShareOne) {
  PlayedReaders played(engine(), kRight, "");
  std::vector<std::shared_ptr<InstanceModel>> instances;
  std::vector<pid_t> processes;
  for (const char* pod : {"a", "a", "b", "c", "d", "e"}) {
    const auto one = owner();
    one->edit_peer().pod = pod;
    instances.push_back(model(one, *played.readers));
    ASSERT_TRUE(instances.back()->hash(2, {}));
    processes.push_back(played.news.pid());
  }
  EXPECT_EQ(played.news.count(false), 4U);
  EXPECT_EQ(processes[0], processes[1]);
  EXPECT_EQ(processes[4], processes[5]);
  ::kill(processes[2], SIGKILL);  // that of `b`
  played.news.await_failure();
  for (std::size_t i = 0; i < instances.size(); ++i) {
    EXPECT_EQ(instances[i]->recheck(0).has_value(), i != 2) << i;
  }
  EXPECT_TRUE(instances[2]->hash(2, {}));
  EXPECT_EQ(played.news.count(false), 5U);
  EXPECT_EQ(played.news.count(true), 1U);
}

// Kernels are compiled for longer than a process may be silent, and it is not silent: on a busy
// machine the next one would take as long, and so on for ever.
TEST_F(ReadersTest, AProcessThatCompilesForLong_IsWaitedFor) {
  PlayedReaders played(engine(), kCompiles, "2500", hasty());
  expect_verified(*played.readers);
  EXPECT_EQ(played.news.count(true), 0U);
}

TEST_F(ReadersTest, WhatMakesNoSense_IsNoAnswer_AndEndsTheProcess) {
  for (const std::string& lie : lies()) {
    SCOPED_TRACE(lie);
    ReaderTimes times = hasty();
    times.silent = std::chrono::seconds(20);  // it is not its silence that ends it
    PlayedReaders played(engine(), kLies, lie, times);
    const auto begun = Steady::now();
    auto owner = this->owner();
    const auto instance = model(owner, *played.readers);
    const auto hashed = instance->hash(1, {});
    EXPECT_FALSE(hashed && hashed->not_covered.empty());
    instance->release();
    EXPECT_EQ(owner.use_count(), 1);
    played.news.await_failure();
    EXPECT_LT(Steady::now() - begun, std::chrono::seconds(15));
    expect_verified(*played.readers);
  }
}

TEST_F(ReadersTest, AProcessOfAnotherBuild_IsNotUsed) {
  PlayedReaders played(engine(), kForeign, "");
  const auto hashed = model(owner(), *played.readers)->hash(1, {});
  ASSERT_FALSE(hashed);
  expect_failed(hashed.error());
  played.news.await_failure();
  expect_verified(*played.readers);
}

// Each process measures which variant is fastest, so two processes may differ.
TEST_F(ReadersTest, AProcessWithAnotherVariantOfTheCpuEngine_IsUsed) {
  PlayedReaders played(engine(), kVariant, "");
  expect_verified(*played.readers);
  EXPECT_EQ(played.news.count(true), 0U);
}

TEST_F(ReadersTest, WhereNoProcessCanBeStarted_NothingIsRead) {
  ReadersSetup setup;
  setup.program = "/nowhere/assay";
  Readers readers(engine(), std::move(setup));
  const auto owner = this->owner();
  const auto hashed = model(owner, readers)->hash(1, {});
  ASSERT_FALSE(hashed);
  expect_failed(hashed.error());
  EXPECT_EQ(owner->exported(), 0U);
  owner->await(InstanceState::kUnknown);
}

TEST_F(ReadersTest, AProcessThatKeepsFailing_IsStartedAfterPauses) {
  News news;
  ReadersSetup setup;
  setup.program = "/bin/false";
  setup.pause = std::chrono::hours(1);
  // Longer than this machine has been up: the first failure costs no pause then either.
  setup.longest = std::chrono::years(100);
  setup.tell = [&news](const ReaderNews& one) { news.tell(one); };
  Readers readers(engine(), std::move(setup));
  for (int i = 0; i < 5; ++i) {
    const auto check = readers.start(owner(), {0}, {});
    ASSERT_FALSE(check);
    expect_failed(check.error());
  }
  while (news.count(true) < 2) {
    std::this_thread::yield();
  }
  EXPECT_EQ(news.count(true), 2U);  // the second failure within the pause was the last start
}

// The descriptor that it waits for never comes, since the process is gone before.
TEST_F(ReadersTest, KilledWhileItWaitsForAnExport) {
  PlayedReaders played(engine(), kRight, "");
  const auto owner = this->owner();
  bool killed = false;
  owner->on_call([&] {
    if (!std::exchange(killed, true)) {
      ::kill(played.news.pid(), SIGKILL);
      played.news.await_failure();
    }
  });
  const auto hashed = model(owner, *played.readers)->hash(1, {});
  ASSERT_FALSE(hashed);
  expect_failed(hashed.error());
  expect_verified(*played.readers);
}

TEST_F(ReadersTest, AnOwnerThatEndsWhileItIsWaitedFor_TakesOnlyItsOwnCheckWithIt) {
  PlayedReaders played(engine(), kRight, "");
  const auto other = owner();
  const auto held = played.readers->start(other, {0, 1, 2}, {});
  ASSERT_TRUE(held) << held.error().detail;
  auto owner = this->owner();
  owner->on_call([&] { owner->end(); });
  const auto check = played.readers->start(owner, {0, 1, 2}, {});
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_TRUE((*held)->recheck(0)->empty());
  EXPECT_EQ(played.news.count(false), 1U);
  EXPECT_EQ(played.news.count(true), 0U);
}

std::size_t mappings_of(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("memfd:weights") != std::string::npos ? 1U : 0U;
  }
  return count;
}

std::size_t memory_files_of(pid_t pid) {
  const std::filesystem::directory_iterator open("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::ranges::count_if(open, [](const auto& entry) {
    return std::filesystem::read_symlink(entry.path()).string().starts_with("/memfd:weights");
  }));
}

// As long as a test needs: 64 GB to hash, in 32 MiB of memory.
std::shared_ptr<FakeOwner> large_owner(const ArtifactId& artifact,
                                       std::vector<std::size_t>& tensors) {
  constexpr std::uint64_t kBytes = std::uint64_t{32} << 20;
  auto owner = std::make_shared<FakeOwner>(artifact);
  owner->add_piece(PieceKind::kHost, Bytes(kBytes));
  for (std::size_t i = 0; i < 2000; ++i) {
    owner->add_tensor("t" + std::to_string(i), {{0, 0, kBytes}});
    tensors.push_back(i);
  }
  return owner;
}

TEST_F(ReadersTest, KilledWhileItHashes) {
  PlayedReaders played(engine(), kRight, "");
  std::vector<std::size_t> many;
  auto large = large_owner(id(), many);
  auto hashed =
      std::async(std::launch::async, [&] { return played.readers->start(large, many, {}); });
  while (mappings_of(played.news.pid()) == 0) {
    std::this_thread::yield();
  }
  ::kill(played.news.pid(), SIGKILL);
  const auto check = hashed.get();
  ASSERT_FALSE(check);
  expect_failed(check.error());
  EXPECT_EQ(large.use_count(), 1);
  expect_verified(*played.readers);
}

// While one is hashed for seconds, the memory of another is let go.
TEST_F(ReadersTest, ReleasedBesideOneThatIsHashed) {
  constexpr std::uint64_t kPieces = 5120;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_GT(files.rlim_max, kPieces + 200);
  PlayedReaders played(engine(), kRight, "");
  auto small = std::make_shared<FakeOwner>(id());
  std::vector<std::size_t> tensors;
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    small->add("t" + std::to_string(i), some_bytes(64, i));
    tensors.push_back(i);
  }
  auto check = played.readers->start(small, tensors, {});
  ASSERT_TRUE(check) << check.error().detail;
  EXPECT_EQ(mappings_of(played.news.pid()), kPieces);

  std::vector<std::size_t> many;
  const auto large = large_owner(id(), many);
  auto hashed =
      std::async(std::launch::async, [&] { return played.readers->start(large, many, {}); });
  while (mappings_of(played.news.pid()) < kPieces + 1) {
    std::this_thread::yield();
  }
  const auto begun = Steady::now();
  check->reset();
  const std::chrono::duration<double> took = Steady::now() - begun;
  EXPECT_EQ(small.use_count(), 1);
  EXPECT_EQ(mappings_of(played.news.pid()), 1U);
  EXPECT_LT(took.count(), 3);  // 0.5 s where nothing else runs
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_EQ(hashed.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  const auto asked = Steady::now();
  large->end();
  EXPECT_EQ(hashed.get().error().code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::duration<double>(Steady::now() - asked).count(), 3);
  EXPECT_EQ(large.use_count(), 1);
  EXPECT_EQ(played.news.count(true), 0U);
}

// The window too: `released` promises that no descriptor is held any more.
TEST_F(ReadersTest, WhatHasEnded_LeavesNoDescriptor) {
  PlayedReaders played(engine(), kRight, "");
  auto check = played.readers->start(owner(), {0, 1, 2}, {});
  ASSERT_TRUE(check) << check.error().detail;
  EXPECT_EQ(memory_files_of(played.news.pid()), 1U);  // the window
  check->reset();
  EXPECT_EQ(memory_files_of(played.news.pid()), 0U);
}

// Neither is taken for hung: the one that hashes gets on, and so does the one behind it.
TEST_F(ReadersTest, ACheckThatWaitsForALongOne_IsWaitedFor) {
  ReaderTimes times;
  times.silent = times.stalled = std::chrono::seconds(2);
  PlayedReaders played(engine(), kRight, "", times);
  std::vector<std::size_t> many;
  const auto large = large_owner(id(), many);
  std::stop_source stop;
  auto hashed = std::async(std::launch::async, [&] {
    return played.readers->start(large, many, {.stop = stop.get_token()});
  });
  while (mappings_of(played.news.pid()) == 0) {
    std::this_thread::yield();
  }
  auto behind =
      std::async(std::launch::async, [&] { return played.readers->start(owner(), {0, 1, 2}, {}); });
  EXPECT_EQ(behind.wait_for(std::chrono::seconds(4)), std::future_status::timeout);
  stop.request_stop();
  EXPECT_EQ(hashed.get().error().code, ErrorCode::kCancelled);
  const auto check = behind.get();
  ASSERT_TRUE(check) << check.error().detail;
  EXPECT_EQ((*check)->roots().size(), 3U);
  EXPECT_EQ(played.news.count(true), 0U);
}

TEST_F(ReadersTest, WithoutAnyCheck_ItEndsAfterAWhile_AndStartsAgain) {
  ReaderTimes times;
  times.linger = std::chrono::milliseconds(50);
  PlayedReaders played(engine(), kRight, "", times);
  expect_verified(*played.readers);
  const pid_t pid = played.news.pid();
  while (::kill(pid, 0) == 0) {
    std::this_thread::yield();
  }
  expect_verified(*played.readers);
  EXPECT_NE(played.news.pid(), pid);
  EXPECT_EQ(played.news.count(true), 0U);
}

// The process has nothing of this one but the socket.
TEST_F(ReadersTest, InheritsOneSocketAndNoVariableOfOurs) {
  ::setenv("ASSAY_TOKEN_FILE", "/secret", 1);
  // A library's, without CLOEXEC.
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Descriptor careless(::fcntl(socket.get(), F_DUPFD, 100));
  PlayedReaders played(engine(), kRight, "");
  const auto check = played.readers->start(owner(), {0, 1, 2}, {});
  ASSERT_TRUE(check);
  ::unsetenv("ASSAY_TOKEN_FILE");
  const std::filesystem::path process = "/proc/" + std::to_string(played.news.pid());
  std::size_t sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator(process / "fd")) {
    const std::string to = std::filesystem::read_symlink(entry.path());
    sockets += to.starts_with("socket:") ? 1U : 0U;
    const bool is_standard = entry.path().filename().string() <= "2";
    EXPECT_TRUE(is_standard || !to.starts_with("/tmp")) << to;
  }
  EXPECT_EQ(sockets, 1U);
  std::ifstream variables(process / "environ");
  const std::string all{std::istreambuf_iterator<char>(variables), {}};
  EXPECT_NE(all.find("PATH="), std::string::npos);
  EXPECT_EQ(all.find("ASSAY_TOKEN_FILE"), std::string::npos);
}

// What was verified is unknown as soon as somebody looks, and stays so until a new full pass.
TEST_F(ReadersTest, KilledWhileItsInstanceIsWatched) {
  PlayedReaders played(engine(), kRight, "");
  const auto owner = this->owner();
  const auto instance = model(owner, *played.readers);
  const auto hashed = instance->hash(2, {});
  ASSERT_TRUE(hashed);
  WatchPlan plan;
  plan.period = std::chrono::milliseconds(100);
  plan.slices = 2;
  InstanceWatch watch(plan, [](const InstanceBeat&, std::span<const Finding>) {});
  watch.watch({"", "main"}, id(), DocumentId(id().root()), hashed->entries, instance);
  EXPECT_EQ(watch.beats().at(0).state, InstanceState::kVerified);
  ::kill(played.news.pid(), SIGKILL);
  owner->await(InstanceState::kUnknown);
  EXPECT_EQ(watch.beats().at(0).state, InstanceState::kUnknown);
  ASSERT_EQ(owner->told().size(), 1U);
  EXPECT_EQ(owner->told()[0].kind, Kind::kError);
  // Whoever knows of the end gets another process, at once.
  EXPECT_TRUE(model(this->owner(), *played.readers)->hash(2, {}));
  EXPECT_EQ(watch.beats().at(0).state, InstanceState::kUnknown);
}

}  // namespace
}  // namespace assay::worker::test
