// SPDX-License-Identifier: Apache-2.0
// Evidence of a node: the kernel's interface as it behaves and misbehaves, and the simulator.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/provider/configfs_tsm.h"
#include "attestation/simulate/event_log.h"
#include "attestation/simulate/simulator.h"
#include "tests/attestation/evidence.h"
#include "tests/attestation/limits.h"

namespace assay::attestation {
namespace {

class CountingRandom final : public Random {
 public:
  Status fill(std::span<std::uint8_t> out) override {
    std::ranges::fill(out, ++count_);
    return {};
  }

 private:
  std::uint8_t count_ = 0;
};

class FixedClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override { return tdx::testing::now(); }
};

Bytes quote_over(const ReportDataBytes& data) {
  auto spec = tdx::testing::valid_v4();
  spec.quote.report.report_data = data;
  return tdx::simulate(spec).quote;
}

// The kernel's folder of reports. Members say how it misbehaves.
struct Kernel {
  std::string root = "/reports";
  std::string provider = "tdx_guest\n";
  std::map<std::string, int> errors;  // of an operation or attribute
  int busy_times = 0;                 // how often outblob is busy before it works
  int strangers = 0;                  // how many quotes somebody else's write disturbs
  bool writes_get_lost = false;
  std::function<Bytes(const ReportDataBytes&)> quote = quote_over;
  std::function<std::string(std::uint64_t)> generation = [](std::uint64_t number) {
    return std::to_string(number) + "\n";
  };

  // What it saw.
  struct Item {
    std::uint64_t generation = 41;
    ReportDataBytes inblob{};
  };
  std::map<std::string, Item> items;
  int made = 0;
  int writes = 0;
};

class FakeFiles final : public TsmFiles {
 public:
  explicit FakeFiles(Kernel& kernel) : kernel_(kernel) {}

  std::expected<void, int> make_folder(const std::string& path) override {
    if (const int error = error_of("mkdir"); error != 0) {
      return std::unexpected(error);
    }
    if (!path.starts_with(kernel_.root + "/") || kernel_.items.contains(path)) {
      return std::unexpected(kernel_.items.contains(path) ? EEXIST : ENOENT);
    }
    kernel_.items[path] = {};
    ++kernel_.made;
    return {};
  }

  std::expected<void, int> remove_folder(const std::string& path) override {
    return kernel_.items.erase(path) == 1 ? std::expected<void, int>()
                                          : std::unexpected(int{ENOENT});
  }

  std::expected<void, int> write(const std::string& path, ByteView bytes) override {
    auto& item = item_of(path, "inblob");
    if (const int error = error_of("inblob"); error != 0) {
      return std::unexpected(error);
    }
    EXPECT_EQ(bytes.size(), 64U);
    ++kernel_.writes;
    if (!kernel_.writes_get_lost) {
      std::ranges::copy(bytes, item.inblob.begin());
      ++item.generation;
    }
    return {};
  }

  std::expected<Bytes, int> read(const std::string& path, std::size_t limit) override {
    const std::string attribute = path.substr(path.rfind('/') + 1);
    auto& item = item_of(path, attribute);
    if (const int error = error_of(attribute); error != 0) {
      return std::unexpected(error);
    }
    Bytes bytes;
    if (attribute == "provider") {
      bytes = to_bytes(kernel_.provider);
    } else if (attribute == "generation") {
      bytes = to_bytes(kernel_.generation(item.generation));
    } else if (kernel_.busy_times > 0) {
      --kernel_.busy_times;
      return std::unexpected(int{EBUSY});
    } else {
      if (kernel_.strangers > 0) {
        --kernel_.strangers;
        ++item.generation;
      }
      bytes = kernel_.quote(item.inblob);
    }
    bytes.resize(std::min(bytes.size(), limit));
    return bytes;
  }

 private:
  int error_of(const std::string& what) {
    const auto found = kernel_.errors.find(what);
    return found == kernel_.errors.end() ? 0 : found->second;
  }
  Kernel::Item& item_of(const std::string& path, const std::string& attribute) {
    return kernel_.items.at(path.substr(0, path.size() - attribute.size() - 1));
  }

  Kernel& kernel_;
};

class ConfigfsTsm : public ::testing::Test {
 protected:
  Result<Bytes> quote() { return provider().quote(test::expected_report_data()); }

  EvidenceProvider& provider() {
    if (provider_ == nullptr) {
      provider_ = make_configfs_tsm(
          random_,
          {kernel_.root, [this](std::chrono::milliseconds time) { pauses_.push_back(time); }},
          std::make_unique<FakeFiles>(kernel_));
    }
    return *provider_;
  }

  // Expects that no quote comes, after `tries` tries that left nothing behind.
  void expect_none(int tries) {
    const auto result = quote();
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kEvidenceUnavailable);
    EXPECT_FALSE(result.error().detail.empty());
    EXPECT_EQ(kernel_.made, tries);
    EXPECT_TRUE(kernel_.items.empty());
  }

  Kernel kernel_;
  CountingRandom random_;
  std::vector<std::chrono::milliseconds> pauses_;
  std::unique_ptr<EvidenceProvider> provider_;
};

TEST_F(ConfigfsTsm, Quote_IsOverTheReportData) {
  EXPECT_EQ(quote().value(), quote_over(test::expected_report_data()));
  EXPECT_EQ(kernel_.writes, 1);
  EXPECT_TRUE(kernel_.items.empty());
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(ConfigfsTsm, Describes_ItselfAndHasNoCollateral) {
  EXPECT_EQ(provider().name(), "configfs-tsm");
  EXPECT_EQ(provider().type(), "tdx");
  EXPECT_EQ(provider().collateral().value(), Json(nullptr));
}

TEST_F(ConfigfsTsm, Platform_IsThatOfTheQuote) {
  EXPECT_EQ(provider().platform().value(), hex_encode(tdx::testing::valid_v4().platform.ppid));
}

TEST_F(ConfigfsTsm, PlatformOfAQuoteWithoutCertificates_IsNotKnown) {
  kernel_.quote = [](const ReportDataBytes& data) {
    auto spec = tdx::testing::valid_v4();
    spec.quote.report.report_data = data;
    return tdx::make_quote(spec.quote, spec.seed, "");
  };
  EXPECT_EQ(provider().platform().error().code, ErrorCode::kEvidenceUnavailable);
}

TEST_F(ConfigfsTsm, EachQuote_HasAnEntryOfItsOwn) {
  ASSERT_TRUE(quote());
  ASSERT_TRUE(quote());
  EXPECT_EQ(kernel_.made, 2);
}

TEST_F(ConfigfsTsm, OtherProvider_GivesNoEvidence) {
  for (const char* name : {"sev_guest\n", "tdx_guest2\n", "\n", ""}) {
    kernel_.provider = name;
    kernel_.made = 0;
    expect_none(1);
    EXPECT_EQ(kernel_.writes, 0) << name;
  }
}

TEST_F(ConfigfsTsm, NoInterfaceOrPermission_EndsAtOnce) {
  for (const int error : {ENOENT, ENOTDIR, ENXIO, ENOTTY, EACCES, EPERM, EROFS, ENOMEM}) {
    kernel_.errors["mkdir"] = error;
    expect_none(0);
    EXPECT_TRUE(pauses_.empty());
  }
}

TEST_F(ConfigfsTsm, FailingAttribute_EndsAtOnceAndLeavesNothing) {
  for (const char* attribute : {"provider", "generation", "inblob", "outblob"}) {
    kernel_.errors = {{attribute, EIO}};
    kernel_.made = 0;
    expect_none(1);
  }
}

TEST_F(ConfigfsTsm, Busy_IsTriedAgain) {
  kernel_.busy_times = 4;
  EXPECT_TRUE(quote());
  EXPECT_EQ(kernel_.made, 5);
  EXPECT_EQ(pauses_.size(), 4U);
  EXPECT_LT(pauses_.front(), pauses_.back());
}

TEST_F(ConfigfsTsm, AlwaysBusy_GivesUp) {
  kernel_.busy_times = 1000;
  expect_none(5);
}

TEST_F(ConfigfsTsm, BusyFolder_IsTriedAgain) {
  for (const int error : {EBUSY, EAGAIN, EINTR, ETIMEDOUT, EEXIST}) {
    kernel_.errors["mkdir"] = error;
    pauses_.clear();
    expect_none(0);
    EXPECT_EQ(pauses_.size(), 4U) << error;
  }
}

// The generation alone says whether the quote is over what was asked for.
TEST_F(ConfigfsTsm, GenerationThatIsNoNumber_EndsAtOnce) {
  kernel_.generation = [](std::uint64_t number) { return std::to_string(number); };
  EXPECT_TRUE(quote()) << "a line end may be missing";
  for (const char* text :
       {"", "\n", "41 \n", "x41\n", "-1\n", "41\n\n", "0x29\n", "18446744073709551616\n"}) {
    kernel_.generation = [&](std::uint64_t) { return std::string(text); };
    kernel_.made = 0;
    expect_none(1);
    EXPECT_EQ(kernel_.writes, 1) << text;
  }
}

TEST_F(ConfigfsTsm, GenerationThatCannotBeReadAgain_GivesNoQuote) {
  kernel_.generation = [this](std::uint64_t number) {
    kernel_.errors["generation"] = EIO;
    return std::to_string(number) + "\n";
  };
  expect_none(1);
  EXPECT_EQ(kernel_.writes, 1);
}

TEST_F(ConfigfsTsm, WriteOfAStranger_IsSeenByTheGeneration) {
  kernel_.strangers = 1;
  EXPECT_EQ(quote().value(), quote_over(test::expected_report_data()));
  EXPECT_EQ(kernel_.made, 2);
}

TEST_F(ConfigfsTsm, WritesOfStrangers_EndInNothing) {
  kernel_.strangers = 1000;
  expect_none(5);
}

// The kernel reports no error when it drops a blob as the file is closed.
TEST_F(ConfigfsTsm, WriteThatGetsLost_IsSeenByTheGeneration) {
  kernel_.writes_get_lost = true;
  kernel_.quote = [](const ReportDataBytes&) { return quote_over(test::expected_report_data()); };
  expect_none(5);
}

TEST_F(ConfigfsTsm, QuoteOverOtherReportData_IsNotTaken) {
  kernel_.quote = [](const ReportDataBytes&) { return quote_over({}); };
  expect_none(5);
}

TEST_F(ConfigfsTsm, WhatIsNoQuote_IsNotTaken) {
  const Bytes whole = quote_over(test::expected_report_data());
  const std::vector<Bytes> blobs = {
      {}, to_bytes("no quote"), Bytes(whole.begin(), whole.begin() + 700), Bytes(64U << 10)};
  for (const Bytes& blob : blobs) {
    kernel_.quote = [&](const ReportDataBytes&) { return blob; };
    kernel_.made = 0;
    expect_none(1);
  }
}

TEST_F(ConfigfsTsm, LongestQuote_IsTaken) {
  Bytes padded = quote_over(test::expected_report_data());
  padded.resize(tdx::kMaxQuoteBytes);
  kernel_.quote = [&](const ReportDataBytes&) { return padded; };
  EXPECT_EQ(quote().value(), padded);
  kernel_.made = 0;
  padded.push_back(0);
  expect_none(1);
}

// The calls of the operating system, on a real folder.
class SystemFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("assay-tsm-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
  std::unique_ptr<TsmFiles> files_ = system_tsm_files();
};

TEST_F(SystemFiles, Folders_AreMadeAndRemovedOnce) {
  EXPECT_TRUE(files_->make_folder(path("entry")));
  EXPECT_EQ(files_->make_folder(path("entry")).error(), EEXIST);
  EXPECT_TRUE(files_->remove_folder(path("entry")));
  EXPECT_EQ(files_->remove_folder(path("entry")).error(), ENOENT);
  EXPECT_EQ(files_->make_folder(path("no/entry")).error(), ENOENT);
}

TEST_F(SystemFiles, Write_NeverMakesAFile) {
  EXPECT_EQ(files_->write(path("inblob"), to_bytes("abc")).error(), ENOENT);
  std::ofstream(path("inblob"));
  EXPECT_TRUE(files_->write(path("inblob"), to_bytes("abc")));
  EXPECT_EQ(files_->read(path("inblob"), 100).value(), to_bytes("abc"));
}

// A blob that is not taken as a whole is not taken.
TEST_F(SystemFiles, WriteThatFails_IsAnError) {
  EXPECT_EQ(files_->write("/dev/full", to_bytes("abc")).error(), ENOSPC);
  std::ofstream(path("inblob"));
  const test::FileSizeLimit limit(2);
  EXPECT_EQ(files_->write(path("inblob"), to_bytes("abc")).error(), EIO);
}

TEST_F(SystemFiles, WhatIsNoFile_IsNotRead) {
  ASSERT_TRUE(files_->make_folder(path("outblob")));
  EXPECT_EQ(files_->read(path("outblob"), 4).error(), EISDIR);
  std::filesystem::create_symlink("/etc/passwd", path("link"));
  EXPECT_EQ(files_->read(path("link"), 4).error(), ELOOP);
}

TEST_F(SystemFiles, Read_StopsAtTheLimit) {
  std::ofstream(path("outblob")) << "0123456789";
  EXPECT_EQ(files_->read(path("outblob"), 4).value(), to_bytes("0123"));
  EXPECT_EQ(files_->read(path("outblob"), 10).value(), to_bytes("0123456789"));
  EXPECT_EQ(files_->read(path("none"), 4).error(), ENOENT);
}

// The log area is padded; documents carry the log alone.
TEST_F(SystemFiles, EventLog_ComesWithoutItsPadding) {
  CountingRandom random;
  const auto provider = make_configfs_tsm(random, {folder_.string(), {}, path("CCEL")});
  EXPECT_TRUE(provider->event_log().value().empty());
  const Bytes log = tdx::make_event_log(tdx::valid_boot(as_bytes("seed")));
  Bytes area = log;
  area.resize(65536, 0xff);
  std::ofstream(path("CCEL"), std::ios::binary) << as_text(area);
  const Bytes read = provider->event_log().value();
  EXPECT_EQ(read, Bytes(log.begin(), log.end() - 8));
  area[30] = 0xff;
  std::ofstream(path("CCEL"), std::ios::binary) << as_text(area);
  EXPECT_EQ(provider->event_log().error().code, ErrorCode::kEvidenceUnavailable);
}

TEST_F(SystemFiles, EventLogBeyondWhatDocumentsCarry_IsRefused) {
  CountingRandom random;
  const auto provider = make_configfs_tsm(random, {folder_.string(), {}, path("CCEL")});
  std::vector<tdx::EventSpec> events = {{1, tdx::kEvNoAction, Bytes(kMaxEventLogBytes), {}}};
  const Bytes log = tdx::make_event_log(events);
  std::ofstream(path("CCEL"), std::ios::binary) << as_text(log);
  EXPECT_EQ(provider->event_log().error().code, ErrorCode::kEvidenceUnavailable);
}

TEST_F(SystemFiles, WholeProvider_OnAFolderThatIsNoConfigfs) {
  CountingRandom random;
  const auto provider = make_configfs_tsm(random, {folder_.string(), {}});
  EXPECT_EQ(provider->quote({}).error().code, ErrorCode::kEvidenceUnavailable);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// --- simulator

SimulatorOptions machine() { return {.seed = tdx::testing::seed(), .platform = {}}; }

Result<AppraisedEvidence> appraise_simulated(SimulatorOptions options) {
  const FixedClock clock;
  const auto simulator = make_simulator(std::move(options), clock).value();
  const Evidence evidence = collect_evidence(*simulator, test::expected_report_data()).value();
  EXPECT_EQ(evidence.type, simulator->type());
  EXPECT_EQ(evidence.event_log, simulator->event_log().value());
  Appraisal appraisal = test::valid_appraisal();
  appraisal.dangerous_anchors = {simulator->root()};
  auto appraised = test::appraise_now(evidence, appraisal);
  EXPECT_EQ(simulator->platform().value(), appraised->platform);
  return appraised;
}

TEST(TdxSimulator, Evidence_IsAcceptedUnderItsRoot) {
  for (const std::uint64_t version : {4U, 5U}) {
    SimulatorOptions options = machine();
    options.quote_version = version;
    const auto appraised = appraise_simulated(options).value();
    EXPECT_TRUE(appraised.accepted) << appraised.error;
    EXPECT_EQ(appraised.tcb_status, "UpToDate");
    EXPECT_EQ(appraised.result["quote_version"], version);
  }
}

TEST(TdxSimulator, TcbStatus_IsWhatTheCollateralSays) {
  for (const char* status : {"SWHardeningNeeded", "ConfigurationNeeded", "OutOfDate"}) {
    SimulatorOptions options = machine();
    options.tcb_status = status;
    EXPECT_EQ(appraise_simulated(options)->error, std::string("TCB_STATUS_NOT_ACCEPTED:") + status);
  }
  SimulatorOptions options = machine();
  options.tcb_status = "Revoked";
  EXPECT_EQ(appraise_simulated(options)->error, "TCB_REVOKED");
}

TEST(TdxSimulator, Platforms_ShareTheRootOfTheirSeed) {
  const FixedClock clock;
  SimulatorOptions options = machine();
  options.platform.emplace().fill(0xab);
  EXPECT_EQ(appraise_simulated(options)->platform, "abababababababababababababababab");
  EXPECT_EQ(make_simulator(options, clock).value()->root(),
            make_simulator(machine(), clock).value()->root());
  options.seed = to_bytes("another seed");
  EXPECT_NE(make_simulator(options, clock).value()->root(),
            make_simulator(machine(), clock).value()->root());
}

TEST(TdxSimulator, OptionsThatMakeNoSense_AreRefused) {
  const FixedClock clock;
  const std::vector<std::function<void(SimulatorOptions&)>> changes = {
      [](auto& options) { options.seed.clear(); },
      [](auto& options) { options.seed.resize(kMaxSimulatorSeedBytes + 1); },
      [](auto& options) { options.tcb_status = "Fine"; },
      [](auto& options) { options.tcb_status = "TDRelaunchAdvised"; },
      [](auto& options) { options.quote_version = 3; }};
  for (const auto& change : changes) {
    SimulatorOptions options = machine();
    change(options);
    EXPECT_EQ(make_simulator(options, clock).error().code, ErrorCode::kInvalidParameter);
  }
}

}  // namespace
}  // namespace assay::attestation
