// SPDX-License-Identifier: Apache-2.0
// Evidence of the machine this runs on, through the kernel's configfs-tsm interface (Linux 6.7).
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

// The system calls that the provider makes; an error is the value of errno.
class TsmFiles {
 public:
  virtual ~TsmFiles() = default;
  [[nodiscard]] virtual std::expected<void, int> make_folder(const std::string& path) = 0;
  virtual std::expected<void, int> remove_folder(const std::string& path) = 0;
  // One write of all bytes to a file that is there.
  [[nodiscard]] virtual std::expected<void, int> write(const std::string& path, ByteView bytes) = 0;
  // At most `limit` bytes from the beginning.
  [[nodiscard]] virtual std::expected<Bytes, int> read(const std::string& path,
                                                       std::size_t limit) = 0;
};
// Those of the operating system.
[[nodiscard]] std::unique_ptr<TsmFiles> system_tsm_files();

struct ConfigfsTsmOptions {
  std::string root{kTsmReportRoot};
  // Waits before another try; by default the thread sleeps.
  std::function<void(std::chrono::milliseconds)> pause;
};

// `random` must outlive the provider; it names the entries. Nothing is touched before the first
// quote. A quote is taken again, a bounded number of times, when the interface is busy or when
// somebody else wrote to the same entry meanwhile.
[[nodiscard]] std::unique_ptr<EvidenceProvider> make_configfs_tsm(
    Random& random, ConfigfsTsmOptions options = {},
    std::unique_ptr<TsmFiles> files = system_tsm_files());

}  // namespace assay::attestation
