// SPDX-License-Identifier: Apache-2.0
#include "attestation/provider/configfs_tsm.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "attestation/snp/verify.h"
#include "attestation/tdx/event_log_parse.h"
#include "attestation/tdx/quote_parse.h"

namespace assay::attestation {
namespace {

constexpr std::string_view kTdxGuest = "tdx_guest";
constexpr std::string_view kSnpGuest = "sev_guest";
constexpr std::size_t kAttributeBytes = 128;
constexpr int kTries = 5;
constexpr std::chrono::milliseconds kFirstPause{50};

// Why a try gave no quote, and whether another one may.
struct Obstacle {
  std::string why;
  bool may_pass = false;
};
template <typename T>
using Tried = std::expected<T, Obstacle>;

std::unexpected<Obstacle> stop(std::string why) {
  return std::unexpected(Obstacle{std::move(why), false});
}
std::unexpected<Obstacle> again(std::string why) {
  return std::unexpected(Obstacle{std::move(why), true});
}

std::unexpected<Obstacle> failed(const char* action, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return stop(
          "this machine has no configfs-tsm: it is no confidential guest, the kernel is older than "
          "6.7, or configfs is not mounted");
    case ENXIO:
    case ENOTTY:
      return stop("the kernel has no driver for evidence: load tdx_guest or sev-guest");
    case EACCES:
    case EPERM:
    case EROFS:
      return stop("no permission for configfs-tsm: run as root, or give this user the folder");
    case EBUSY:
    case EAGAIN:
    case EINTR:
    case ETIMEDOUT:
    case EEXIST:
      return again(std::string("configfs-tsm is busy (") + action + ")");
    default:
      return stop(std::string("configfs-tsm failed to ") + action + ": errno " +
                  std::to_string(error));
  }
}

std::optional<std::uint64_t> parse_generation(ByteView bytes) {
  std::string_view text = as_text(bytes);
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size()
             ? std::optional(value)
             : std::nullopt;
}

// One entry below the root, removed when it goes.
class Entry {
 public:
  Entry(TsmFiles& files, std::string path) : files_(files), path_(std::move(path)) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  // An entry that cannot be removed costs the kernel some memory and nobody anything else.
  ~Entry() { static_cast<void>(files_.remove_folder(path_)); }

  [[nodiscard]] Tried<Bytes> read(const char* attribute, std::size_t limit) {
    auto bytes = files_.read(path_ + "/" + attribute, limit);
    if (!bytes) {
      return failed((std::string("read ") + attribute).c_str(), bytes.error());
    }
    return std::move(*bytes);
  }

  [[nodiscard]] Tried<std::uint64_t> generation() {
    const auto bytes = read("generation", kAttributeBytes);
    if (!bytes) {
      return std::unexpected(bytes.error());
    }
    const auto value = parse_generation(*bytes);
    if (!value) {
      return stop("configfs-tsm has a generation that is no number");
    }
    return *value;
  }

  [[nodiscard]] Tried<void> check_provider(bool is_snp) {
    const auto bytes = read("provider", kAttributeBytes);
    if (!bytes) {
      return std::unexpected(bytes.error());
    }
    std::string_view provider = as_text(*bytes);
    if (provider.ends_with('\n')) {
      provider.remove_suffix(1);
    }
    if (provider != (is_snp ? kSnpGuest : kTdxGuest)) {
      return stop(is_snp ? "the evidence of this machine is not of an AMD SEV-SNP guest"
                         : "the evidence of this machine is not of an Intel TDX guest");
    }
    return {};
  }

  [[nodiscard]] Tried<void> write_inblob(const ReportDataBytes& report_data) {
    const auto written = files_.write(path_ + "/inblob", report_data);
    if (!written) {
      return failed("write inblob", written.error());
    }
    return {};
  }

 private:
  TsmFiles& files_;
  std::string path_;
};

std::unexpected<Obstacle> other_data() { return again("the quote is over other report data"); }

// The report is one, its table can be read, and it is over what was asked for.
Tried<void> check_report(const Bytes& evidence, const ReportDataBytes& report_data) {
  const auto claimed = snp::claimed(evidence);
  if (!claimed) {
    return stop("the kernel gave something that is no SEV-SNP report with its certificates");
  }
  if (claimed->report.report_data != report_data) {
    return other_data();
  }
  return {};
}

// The quote is one, and it is over what was asked for.
Tried<void> check_quote(const Bytes& quote, const ReportDataBytes& report_data) {
  if (quote.empty()) {
    return stop("the kernel gave an empty quote: no quoting service answers this guest");
  }
  if (quote.size() > tdx::kMaxQuoteBytes) {
    return stop("the kernel gave more bytes than any quote has");
  }
  const auto parsed = tdx::parse_quote(quote);
  if (!parsed) {
    return stop("the kernel gave something that is no TDX quote: " + code(parsed.error()));
  }
  if (parsed->report.report_data != report_data) {
    return other_data();
  }
  return {};
}

// The entry is this provider's own and nobody else should know it. Should somebody write to it all
// the same, then `generation` says so: it counts the writes. (A write to inblob takes effect when
// the file is closed, where errors get lost; then generation stays as it was.)
Tried<Bytes> take_quote(Entry& entry, const ReportDataBytes& report_data, bool is_snp) {
  if (auto checked = entry.check_provider(is_snp); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  const auto before = entry.generation();
  if (!before) {
    return std::unexpected(before.error());
  }
  if (auto written = entry.write_inblob(report_data); !written) {
    return std::unexpected(std::move(written).error());
  }
  auto quote = entry.read("outblob", tdx::kMaxQuoteBytes + 1);
  if (!quote) {
    return quote;
  }
  if (is_snp) {
    // A host without certificates gives none, which is no failure of the report.
    const auto table = entry.read("auxblob", snp::kMaxEvidenceBytes);
    if (table) {
      quote->insert(quote->end(), table->begin(), table->end());
    }
  }
  const auto after = entry.generation();
  if (!after) {
    return std::unexpected(after.error());
  }
  if (*after != *before + 1) {
    return again("somebody else writes to this provider's entry of configfs-tsm");
  }
  if (auto checked = is_snp ? check_report(*quote, report_data) : check_quote(*quote, report_data);
      !checked) {
    return std::unexpected(std::move(checked).error());
  }
  return quote;
}

class ConfigfsTsm final : public EvidenceProvider {
 public:
  ConfigfsTsm(Random& random, ConfigfsTsmOptions options, std::unique_ptr<TsmFiles> files)
      : random_(random), options_(std::move(options)), files_(std::move(files)) {
    if (!options_.pause) {
      options_.pause = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
    }
  }

  [[nodiscard]] std::string_view name() const override { return "configfs-tsm"; }
  [[nodiscard]] std::string_view type() const override { return options_.type; }
  [[nodiscard]] Result<Json> collateral() override { return Json(nullptr); }

  [[nodiscard]] Result<std::string> platform() override {
    if (!is_snp()) {
      return EvidenceProvider::platform();
    }
    ASSAY_ASSIGN(const Bytes evidence, quote(ReportDataBytes{}));
    const auto claimed = snp::claimed(evidence);
    return claimed ? Result<std::string>(
                         plugin_platform(kSnpEvidence, snp::platform_of(claimed->report)))
                   : fail(ErrorCode::kEvidenceUnavailable, "the report of this machine is none");
  }

  [[nodiscard]] Result<Bytes> event_log() override {
    if (is_snp()) {
      return Bytes();
    }
    auto area = files_->read(options_.event_log, tdx::kMaxEventLogAreaBytes + 1);
    if (!area) {
      return Bytes();
    }
    const auto log = tdx::parse_event_log(*area);
    if (!log) {
      return fail(ErrorCode::kEvidenceUnavailable,
                  "the event log of this machine has another form: " + code(log.error()));
    }
    if (log->size > kMaxEventLogBytes) {
      return fail(ErrorCode::kEvidenceUnavailable,
                  "the event log of this machine has more than 256 KiB");
    }
    area->resize(log->size);
    return std::move(*area);
  }

  [[nodiscard]] Result<Bytes> quote(const ReportDataBytes& report_data) override {
    std::string why;
    for (int number = 0; number < kTries; ++number) {
      if (number > 0) {
        options_.pause(kFirstPause * (1 << (number - 1)));
      }
      ASSAY_ASSIGN(const std::string name, entry_name());
      auto tried = try_once(options_.root + "/" + name, report_data);
      if (tried) {
        return std::move(*tried);
      }
      why = std::move(tried.error().why);
      if (!tried.error().may_pass) {
        break;
      }
    }
    return fail(ErrorCode::kEvidenceUnavailable, std::move(why));
  }

 private:
  [[nodiscard]] bool is_snp() const { return options_.type == kSnpEvidence; }

  [[nodiscard]] Result<std::string> entry_name() {
    std::array<std::uint8_t, 16> id{};
    ASSAY_TRY(random_.fill(id));
    return "assay-" + hex_encode(id);
  }

  [[nodiscard]] Tried<Bytes> try_once(const std::string& path, const ReportDataBytes& report_data) {
    if (const auto made = files_->make_folder(path); !made) {
      return failed("make an entry", made.error());
    }
    Entry entry(*files_, path);
    return take_quote(entry, report_data, is_snp());
  }

  Random& random_;
  ConfigfsTsmOptions options_;
  std::unique_ptr<TsmFiles> files_;
};

}  // namespace

std::unique_ptr<EvidenceProvider> make_configfs_tsm(Random& random, ConfigfsTsmOptions options,
                                                    std::unique_ptr<TsmFiles> files) {
  return std::make_unique<ConfigfsTsm>(random, std::move(options), std::move(files));
}

}  // namespace assay::attestation
