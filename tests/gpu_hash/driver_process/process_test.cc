// SPDX-License-Identifier: Apache-2.0
// Processes that do not do what a process for drivers does: a shell plays them.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>

#include <gtest/gtest.h>

#include "gpu_hash/driver_process.h"
#include "gpu_hash/driver_process/wire.h"
#include "schemas/posix/frames.h"

namespace assay::gpu_hash {
namespace {

using driver::FromProcess;

// A command of the shell that sends these messages.
std::string says(const std::vector<FromProcess>& messages) {
  std::string command = "printf '";
  for (const FromProcess& message : messages) {
    for (const std::uint8_t byte : frame_of(driver::write(message))) {
      std::array<char, 8> text{};
      (void)std::snprintf(text.data(), text.size(), "\\%03o", byte);
      command += text.data();
    }
  }
  return command + "' >&3; ";
}

const driver::Hello kHello{"1"};
const driver::Listed kOne{{{"", "GPU", "P", "1", "gpu", 1, 1, 1}}, {}};
const driver::Opened kOpened{"GPU", "1", "", "", ""};
// Does nothing until the socket is closed.
const std::string kWaits = "cat <&3 >/dev/null";

std::unique_ptr<Drivers> played(const std::string& script) {
  DriverProgram program{.path = "/bin/sh", .words = {"sh", "-c", script}, .build = "1"};
  program.times.silent = std::chrono::seconds(2);
  program.times.stalled = std::chrono::seconds(1);
  return make_driver_processes(std::move(program));
}

// Why the platforms cannot be listed.
std::string listing_error(const std::string& script) {
  const DeviceListing listing = played(script)->list();
  EXPECT_TRUE(listing.devices.empty());
  if (listing.failed.empty()) {
    return "no error";
  }
  EXPECT_EQ(listing.failed.front().error.code, ErrorCode::kDeviceFailed);
  return listing.failed.front().error.detail;
}

TEST(DriverProcess, ThatEndsHangsOrLies_IsAnErrorOfTheDevice) {
  const auto expect = [](const std::string& script, const std::string& words) {
    const std::string error = listing_error(script);
    EXPECT_NE(error.find(words), std::string::npos) << error;
  };
  expect("exit 3", "ended (exit status 3)");
  expect("kill -ABRT $$", "ended (signal 6)");
  expect("printf 'a\\nlast \\033[31mwords\\n\\n' >&2; exit 1", R"(last words: last \x1b[31mwords)");
  expect(kWaits, "said nothing for 2 s (killed)");
  expect(says({driver::Hello{"2"}}) + kWaits, "not of this build");
  expect(says({driver::Done{}}) + kWaits, "not of this build");
  expect("printf '\\001\\000\\000\\000\\377' >&3; " + kWaits, "no message of this protocol");
  expect("printf '\\377\\377\\377\\377' >&3; " + kWaits, "too long");
  expect(says({kHello, driver::Done{}}) + kWaits, "answers what it was not asked");
  expect(says({kHello}) + "yes >&2 & sleep 0; kill -9 $$", "signal 9");
}

TEST(DriverProcess, ThatCannotBeStarted_IsAnErrorOfTheDevice) {
  const auto drivers = make_driver_processes({.path = "/nowhere", .words = {"x"}});
  const DeviceListing listing = drivers->list();
  ASSERT_FALSE(listing.failed.empty());
  EXPECT_EQ(listing.failed.front().error.code, ErrorCode::kDeviceFailed);
}

Status hash_by(const std::string& script, const std::vector<Region>& regions,
               const HashRequest& request = {}) {
  const auto drivers = played(says({kHello, kOne, kOpened}) + script);
  auto engine = drivers->make_engine(0, {});
  if (!engine) {
    return std::unexpected(engine.error());
  }
  const auto digests = (*engine)->hash(regions, request);
  return digests ? Status{} : std::unexpected(digests.error());
}

TEST(ProcessEngine, AnswersThatDoNotFit_AreErrorsOfTheDevice) {
  const Bytes bytes(10, 1);
  const std::vector<Region> regions{host_region(bytes)};
  const Digest digest = Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data());
  const auto expect = [&](const std::vector<FromProcess>& answer, const std::string& words) {
    // List and Open have 5 and 29 bytes with their length; the next one begins the call.
    const Status status = hash_by("head -c 35 <&3 >/dev/null; " + says(answer) + kWaits, regions);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kDeviceFailed);
    EXPECT_NE(status.error().detail.find(words), std::string::npos) << status.error().detail;
  };
  expect({driver::Done{}}, "digests are missing");
  expect({driver::Digests{{digest}}, driver::Done{{0}}}, "how it read the files");
  expect({driver::Digests{{digest, digest}}}, "other digests");
  expect({driver::Digests{}}, "other digests");
  expect({driver::Progress{11}}, "not asked");
  expect({driver::Progress{2}, driver::Progress{1}}, "not asked");
  expect({driver::Opened{}}, "not asked");
  expect({driver::Failed{{"cancelled", "odd", ""}}}, "odd");
  expect({driver::Failed{{"no-such-code", "odd", ""}}}, "odd");
  EXPECT_TRUE(hash_by("head -c 35 <&3 >/dev/null; " +
                          says({driver::Progress{10}, driver::Digests{{digest}}, driver::Done{}}) +
                          kWaits,
                      regions));
}

TEST(ProcessEngine, ProgressThatNeverAdvances_IsAHang) {
  const Bytes bytes(10, 1);
  const std::vector<Region> regions{host_region(bytes)};
  const Status status = hash_by(
      "head -c 35 <&3 >/dev/null; while :; do " + says({driver::Progress{0}}) + "done", regions);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().detail.find("hashes nothing"), std::string::npos)
      << status.error().detail;
}

TEST(ProcessEngine, AStop_EndsTheCallAtOnce) {
  const Bytes bytes(10, 1);
  const std::vector<Region> regions{host_region(bytes)};
  std::stop_source source;
  HashRequest request;
  request.stop = source.get_token();
  request.progress = [&source](std::uint64_t) { source.request_stop(); };
  const Status status = hash_by(
      "head -c 35 <&3 >/dev/null; " + says({driver::Progress{0}}) + kWaits, regions, request);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
}

// What a process that failed leaves behind does not end the engine.
TEST(ProcessEngine, AfterAFailure_TheNextCallHasAProcessOfItsOwn) {
  const Bytes bytes(10, 1);
  const std::vector<Region> regions{host_region(bytes)};
  const Digest digest = Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data());
  char name[] = "/tmp/assay-played-XXXXXX";
  const Descriptor file(::mkostemp(name, O_CLOEXEC));
  ASSERT_TRUE(file);
  // The first process hears List and Open, and ends; the second one hears no List.
  const std::string first = says({kHello, kOne, kOpened}) + "head -c 35 <&3 >/dev/null; exit 7";
  const std::string second = says({kHello, kOpened}) + "head -c 30 <&3 >/dev/null; " +
                             says({driver::Digests{{digest}}, driver::Done{}}) + kWaits;
  const auto drivers = played("if [ -e " + std::string(name) + " ]; then rm " + name + "; " +
                              first + "; fi; " + second);
  const auto engine = drivers->make_engine(0, {});
  ASSERT_TRUE(engine) << to_string(engine.error());
  const auto failed = (*engine)->hash(regions, {});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().detail.find("exit status 7"), std::string::npos);
  const auto digests = (*engine)->hash(regions, {});
  ASSERT_TRUE(digests) << to_string(digests.error());
  EXPECT_EQ(digests->at(0).root, digest);
}

TEST(ProcessEngine, MemoryOfADevice_IsRefused) {
  class Memory final : public DeviceMemory {
   public:
    [[nodiscard]] std::uint64_t size() const override { return 1; }
  };
  Region region;
  region.pieces.emplace_back(DevicePiece{std::make_shared<Memory>(), 0, 1});
  const Status status = hash_by(kWaits, {region});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidParameter);
}

}  // namespace
}  // namespace assay::gpu_hash
