// SPDX-License-Identifier: Apache-2.0
// Evidence of a SEV-SNP guest through the kernel's interface, as it behaves and misbehaves.

#include <cerrno>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "attestation/provider/configfs_tsm.h"
#include "tests/attestation/snp/strict.h"

namespace assay::attestation {
namespace {

using snp::testing::test_seed;
using snp::testing::test_time;

class SameRandom final : public Random {
 public:
  Status fill(std::span<std::uint8_t> out) override {
    std::ranges::fill(out, std::uint8_t{1});
    return {};
  }
};

Bytes evidence_over(const ReportDataBytes& data) {
  auto spec = snp::valid_snp_simulation(test_seed(), test_time());
  spec.report.report_data = data;
  return snp::simulate(spec).evidence;
}

// One entry of the kernel's folder. Members say how it misbehaves.
struct SnpKernel {
  std::string provider = "sev_guest\n";
  bool has_table = true;
  std::function<Bytes(const ReportDataBytes&)> evidence = evidence_over;
};

class SnpFiles final : public TsmFiles {
 public:
  explicit SnpFiles(SnpKernel& kernel) : kernel_(kernel) {}
  std::expected<void, int> make_folder(const std::string&) override { return {}; }
  std::expected<void, int> remove_folder(const std::string&) override { return {}; }
  std::expected<void, int> write(const std::string&, ByteView bytes) override {
    std::ranges::copy(bytes, data_.begin());
    ++generation_;
    return {};
  }
  std::expected<Bytes, int> read(const std::string& path, std::size_t limit) override {
    Bytes bytes = answer(path.substr(path.rfind('/') + 1));
    if (bytes.empty()) {
      return std::unexpected(int{ENOENT});
    }
    bytes.resize(std::min(bytes.size(), limit));
    return bytes;
  }

 private:
  Bytes answer(const std::string& attribute) {
    if (attribute == "provider") {
      return to_bytes(kernel_.provider);
    }
    if (attribute == "generation") {
      return to_bytes(std::to_string(generation_) + "\n");
    }
    const Bytes all = kernel_.evidence(data_);
    const auto end =
        all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), snp::kReportBytes));
    if (attribute == "outblob") {
      return {all.begin(), end};
    }
    return kernel_.has_table ? Bytes(end, all.end()) : Bytes();
  }

  SnpKernel& kernel_;
  ReportDataBytes data_{};
  std::uint64_t generation_ = 1;
};

Result<Bytes> collected(SnpKernel& kernel) {
  SameRandom random;
  const auto provider =
      make_configfs_tsm(random, {.root = "/r", .pause = [](auto) {}, .type = "sev-snp"},
                        std::make_unique<SnpFiles>(kernel));
  EXPECT_EQ(provider->type(), "sev-snp");
  EXPECT_TRUE(provider->event_log().value().empty());
  return provider->quote(ReportDataBytes{9});
}

TEST(SnpProvider, ReportAndTableAreTheEvidence) {
  SnpKernel kernel;
  EXPECT_EQ(collected(kernel).value(), evidence_over(ReportDataBytes{9}));
}

TEST(SnpProvider, HostWithoutCertificatesGivesTheReportAlone) {
  SnpKernel kernel{.has_table = false};
  EXPECT_EQ(collected(kernel).value().size(), snp::kReportBytes);
}

TEST(SnpProvider, NamesTheChip) {
  SnpKernel kernel;
  SameRandom random;
  const auto provider = make_configfs_tsm(random, {.root = "/r", .pause = {}, .type = "sev-snp"},
                                          std::make_unique<SnpFiles>(kernel));
  const auto spec = snp::valid_snp_simulation(test_seed(), test_time());
  EXPECT_EQ(provider->platform().value(), plugin_platform("sev-snp", spec.report.chip_id));
}

TEST(SnpProvider, OtherBlobsAreRefused) {
  const std::vector<std::pair<const char*, SnpKernel>> cases = {
      {"another guest", {.provider = "tdx_guest\n"}},
      {"no report", {.evidence = [](const auto&) { return Bytes(64); }}},
      {"other data", {.evidence = [](const auto&) { return evidence_over({}); }}},
      {"a broken table",
       {.evidence =
            [](const auto& data) {
              Bytes bytes = evidence_over(data);
              bytes[snp::kReportBytes + 19] = 0xff;
              return bytes;
            }}},
  };
  for (auto [name, kernel] : cases) {
    const auto made = collected(kernel);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, ErrorCode::kEvidenceUnavailable) << name;
  }
}

}  // namespace
}  // namespace assay::attestation
