// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/pickles.h"

#include <array>
#include <memory>

#include "schemas/core/bytes.h"
#include "schemas/core/model_format.h"

namespace assay::gpu_hash {
namespace {

Result<bool> is_pickle(const SourceFile& file) {
  std::array<std::uint8_t, 4> start{};
  if (file.size() < start.size()) {
    return false;
  }
  ASSAY_ASSIGN(const std::shared_ptr<const OpenFile> opened, file.open());
  ASSAY_TRY(opened->read(0, start));
  constexpr std::uint8_t kProtocol = 0x80;  // the instruction that begins protocols 2 to 5
  const bool is_archive = as_text(start) == "PK\x03\x04";
  return is_archive || (start[0] == kProtocol && start[1] >= 2 && start[1] <= 5);
}

}  // namespace

std::vector<std::string> find_pickles(const std::vector<WalkedFile>& files) {
  std::vector<std::string> found;
  for (const WalkedFile& file : files) {
    if (format_of(file.path) == ModelFormat::kExecutable &&
        is_pickle(*file.source).value_or(false)) {
      found.push_back(file.path);
    }
  }
  return found;
}

}  // namespace assay::gpu_hash
