// SPDX-License-Identifier: Apache-2.0
// The name of the processor, from what Linux writes on x86 and on arm64.
#include "gpu_hash/cpu/cpuinfo.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace assay::gpu_hash::test {
namespace {

std::string name_in(const std::string& text) {
  std::istringstream in(text);
  return processor_name(in);
}

std::string arm64(const std::string& implementer, const std::string& part) {
  return "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd sha1 sha2 sha512\n"
         "CPU implementer\t: " +
         implementer + "\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: " + part +
         "\nCPU revision\t: 0\n\n";
}

TEST(ProcessorName, X86_IsTheModelName) {
  EXPECT_EQ(name_in("processor\t: 0\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) 8480C\n"),
            "Intel(R) Xeon(R) 8480C");
}

TEST(ProcessorName, Arm64_IsTheNameOfTheFirstCore) {
  EXPECT_EQ(name_in(arm64("0x41", "0xd4f") + arm64("0x41", "0xd0c")), "Arm Neoverse V2");
}

TEST(ProcessorName, UnknownArm64Core_KeepsItsNumbers) {
  EXPECT_EQ(name_in(arm64("0x4e", "0x010")), "arm64 0x4e 0x010");
}

TEST(ProcessorName, SystemThatNamesNone_IsCpu) {
  EXPECT_EQ(name_in(""), "cpu");
  EXPECT_EQ(name_in("CPU part\t: 0xd4f\n"), "cpu");
  EXPECT_EQ(name_in("CPU implementer\t:\nCPU part\t:\n"), "cpu");
}

}  // namespace
}  // namespace assay::gpu_hash::test
