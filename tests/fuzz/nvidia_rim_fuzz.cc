// SPDX-License-Identifier: Apache-2.0
// RIMs: only bytes that NVIDIA's key signed open, whatever is around them. The measurements that
// are read are those of the RIMs in the corpus, because nobody here can sign others.
#include <cstdlib>

#include "attestation/nvidia/device_chain.h"
#include "attestation/nvidia/rim.h"
#include "attestation/nvidia/rim_content.h"

namespace {

using namespace assay;
namespace nvidia = attestation::nvidia;

constexpr const char* kIds[] = {"NV_SWITCH_BIOS_5612_0002_890_9610550001",
                                "NV_GPU_VBIOS_1010_0205_862_96005E0004",
                                "NV_GPU_DRIVER_GH100_550.144.03"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(data, size);
  for (const char* id : kIds) {
    const auto rim = nvidia::open_rim(id, input, std::span(&nvidia::rim_root(), 1), {});
    // The RIM of the switch demands 31 measurements, that of the VBIOS 12, that of the driver 21.
    if (rim && rim->goldens.size() != 31 && rim->goldens.size() != 12 &&
        rim->goldens.size() != 21) {
      std::abort();
    }
    if (!rim && rim.error().error != nvidia::NvidiaError::kRimIdMismatch) {
      break;  // under another id as well: the id is looked at last
    }
  }
  // The content alone, as if it were signed.
  const auto content = nvidia::read_content(input);
  if (content) {
    for (const nvidia::Golden& golden : content->goldens) {
      if (golden.alternatives.empty() || golden.alternatives.size() > nvidia::kMaxRimAlternatives) {
        std::abort();
      }
    }
  }
  static_cast<void>(nvidia::parse_rim_answer(input));
  return 0;
}
