// SPDX-License-Identifier: Apache-2.0
// Evidence of the machine that runs this program, a TDX or SEV-SNP guest, through the kernel's
// configfs-tsm interface (Linux 6.7).
// ABI: Documentation/ABI/testing/configfs-tsm-report of the kernel.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "attestation/provider/provider.h"
#include "schemas/core/random.h"

namespace assay::attestation {

inline constexpr std::string_view kTsmReportRoot = "/sys/kernel/config/tsm/report";
// The log area of ACPI's CCEL table; the kernel lets root read it.
inline constexpr std::string_view kCcelFile = "/sys/firmware/acpi/tables/data/CCEL";

// The system calls of the provider. An error is the value of errno.
class TsmFiles {
 public:
  virtual ~TsmFiles() = default;
  [[nodiscard]] virtual std::expected<void, int> make_folder(const std::string& path) = 0;
  virtual std::expected<void, int> remove_folder(const std::string& path) = 0;
  // Writes all bytes to an existing file with one system call.
  [[nodiscard]] virtual std::expected<void, int> write(const std::string& path, ByteView bytes) = 0;
  // Reads at most `limit` bytes from the beginning.
  [[nodiscard]] virtual std::expected<Bytes, int> read(const std::string& path,
                                                       std::size_t limit) = 0;
};
// Makes the implementation that calls the operating system.
[[nodiscard]] std::unique_ptr<TsmFiles> system_tsm_files();

struct ConfigfsTsmOptions {
  std::string root{kTsmReportRoot};
  // Called to wait before another attempt at a quote. When empty, the thread sleeps.
  std::function<void(std::chrono::milliseconds)> pause;
  std::string event_log{kCcelFile};
  // Of the evidence: kTdxEvidence or kSnpEvidence. SEV-SNP evidence is the report, and behind it
  // the certificate table that the host gives; a guest has no event log.
  std::string type{kTdxEvidence};
};

// Makes the provider. `random` supplies the names of the entries below `root` and must outlive the
// provider. The interface is not touched before the first quote. quote() makes up to 5 attempts
// when the interface is busy or another program wrote to the same entry.
[[nodiscard]] std::unique_ptr<EvidenceProvider> make_configfs_tsm(
    Random& random, ConfigfsTsmOptions options = {},
    std::unique_ptr<TsmFiles> files = system_tsm_files());

}  // namespace assay::attestation
