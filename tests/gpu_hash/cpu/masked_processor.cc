// SPDX-License-Identifier: Apache-2.0
// Hides instructions of the processor from a program:
//   HIDE_INSTRUCTIONS=avx512,gfni LD_PRELOAD=.../libmasked_processor.so PROGRAM
// The program and what it starts, where they are ours or our tests, see a processor without them,
// at full speed: Linux makes CPUID a trap (arch_prctl(2), ARCH_SET_CPUID), and the handler answers
// with bits left out. The loader has looked before, so the C library alone still knows. Ends with
// 77, which tests read as skipped, where processor or hypervisor cannot trap CPUID.
#include <cpuid.h>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include <asm/prctl.h>
#include <ucontext.h>

namespace {

// Bits of leaf 7 that are left out (Intel SDM volume 2A, CPUID).
struct Mask {
  const char* name;
  std::uint32_t ebx;
  std::uint32_t ecx;
  std::uint32_t edx;
};
constexpr Mask kMasks[] = {
    {"avx2", 1U << 5, 0, 0},
    {"avx512", 0xdc230000U, 0x00005842U, 0x0080010cU},
    {"gfni", 0, 1U << 8, 0},
    {"sha", 1U << 29, 0, 0},
};
Mask hidden{};  // all that HIDE_INSTRUCTIONS names

bool set_cpuid(unsigned long allowed) {
  return syscall(SYS_arch_prctl, ARCH_SET_CPUID, allowed) == 0;
}

void answer(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr unsigned char kCpuid[] = {0x0f, 0xa2};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of the instruction
  if (std::memcmp(reinterpret_cast<const void*>(registers[REG_RIP]), kCpuid, sizeof kCpuid) != 0) {
    std::signal(SIGSEGV, SIG_DFL);  // a fault of the program: it happens again
    return;
  }
  const auto leaf = static_cast<std::uint32_t>(registers[REG_RAX]);
  const auto part = static_cast<std::uint32_t>(registers[REG_RCX]);
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  set_cpuid(1);
  __cpuid_count(leaf, part, eax, ebx, ecx, edx);
  set_cpuid(0);
  if (leaf == 7 && part == 0) {
    ebx &= ~hidden.ebx;
    ecx &= ~hidden.ecx;
    edx &= ~hidden.edx;
  }
  registers[REG_RAX] = eax;
  registers[REG_RBX] = ebx;
  registers[REG_RCX] = ecx;
  registers[REG_RDX] = edx;
  registers[REG_RIP] += sizeof kCpuid;
}

void hide(const char* names) {
  for (const Mask& mask : kMasks) {
    if (std::strstr(names, mask.name) != nullptr) {
      hidden.ebx |= mask.ebx;
      hidden.ecx |= mask.ecx;
      hidden.edx |= mask.edx;
    }
  }
}

// Whether to hide anything from this program: not from compilers, which handle SIGSEGV themselves.
bool is_ours(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  return std::strncmp(name, "assay", 5) == 0 || std::strstr(name, "test") != nullptr ||
         std::strcmp(path, "/proc/self/exe") == 0;
}

// Before any other library looks, the C library included (the linker marks this one with
// -z initfirst), so getenv() does not work yet.
__attribute__((constructor)) void begin(int, char** arguments, char** environment) {
  if (!is_ours(arguments[0])) {
    return;
  }
  constexpr char kName[] = "HIDE_INSTRUCTIONS=";
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, kName, sizeof kName - 1) == 0) {
      hide(*environment + sizeof kName - 1);
    }
  }
  struct sigaction action{};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  if (sigaction(SIGSEGV, &action, nullptr) != 0 || !set_cpuid(0)) {
    constexpr char kNo[] = "masked_processor: this machine cannot hide what its processor has\n";
    (void)!write(STDERR_FILENO, kNo, sizeof kNo - 1);
    _exit(77);
  }
}

}  // namespace
