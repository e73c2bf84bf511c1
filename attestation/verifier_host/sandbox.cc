// SPDX-License-Identifier: Apache-2.0
// A filter of system calls (libseccomp), limits of resources (setrlimit(2)), and the one file
// that can be opened. The filter cannot see a path, so it traps openat(2): the kernel sends SIGSYS
// instead, and the handler answers in its place.
#include "attestation/verifier_host/sandbox.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <seccomp.h>
#include <ucontext.h>

namespace assay::attestation::verifier_host {
namespace {

constexpr rlim_t kMemoryBytes = rlim_t{256} << 20;  // address space, the libraries included
constexpr rlim_t kDescriptors = 16;

// What computing, memory, loading the one file and answering need. clone, fork, execve, socket,
// ptrace, kill and whatever is in none of the lists end the process.
constexpr std::array kAllowed = {__NR_read,           __NR_write,
                                 __NR_close,          __NR_fstat,
                                 __NR_lseek,          __NR_pread64,
                                 __NR_mmap,           __NR_mprotect,
                                 __NR_munmap,         __NR_mremap,
                                 __NR_madvise,        __NR_brk,
                                 __NR_futex,          __NR_exit,
                                 __NR_exit_group,     __NR_rt_sigreturn,
                                 __NR_rt_sigprocmask, __NR_rt_sigaction,
                                 __NR_sigaltstack,    __NR_getrandom,
                                 __NR_recvmsg,        __NR_getpid,
                                 __NR_gettid,         __NR_clock_gettime,
                                 __NR_nanosleep,      __NR_clock_nanosleep,
                                 __NR_sched_yield,    __NR_restart_syscall,
                                 __NR_gettimeofday};

// What libraries ask for and do without.
constexpr std::array kRefused = {
    __NR_faccessat, __NR_readlinkat, __NR_getcwd,    __NR_ioctl,      __NR_fcntl,
    __NR_getuid,    __NR_geteuid,    __NR_getgid,    __NR_getegid,    __NR_uname,
    __NR_sysinfo,   __NR_prlimit64,  __NR_getrusage, __NR_getdents64, __NR_sched_getaffinity,
    __NR_writev,    __NR_statfs,
#if defined(__x86_64__)
    __NR_access,    __NR_readlink,   __NR_stat,      __NR_lstat,      __NR_open,
    __NR_getrlimit,
#endif
};

// Answered by the handler.
constexpr std::array kTrapped = {__NR_openat, __NR_newfstatat};

// Of the one file; -1 after it was opened. Only before and in the handler of this process.
int the_plugin = -1;

#if defined(__x86_64__)
std::array<std::uint64_t, 4> arguments_of(const ucontext_t& context) {
  const auto& registers = context.uc_mcontext.gregs;
  return {static_cast<std::uint64_t>(registers[REG_RDI]),
          static_cast<std::uint64_t>(registers[REG_RSI]),
          static_cast<std::uint64_t>(registers[REG_RDX]),
          static_cast<std::uint64_t>(registers[REG_R10])};
}
void answer(ucontext_t& context, std::int64_t value) { context.uc_mcontext.gregs[REG_RAX] = value; }
#elif defined(__aarch64__)
std::array<std::uint64_t, 4> arguments_of(const ucontext_t& context) {
  const auto& registers = context.uc_mcontext.regs;
  return {registers[0], registers[1], registers[2], registers[3]};
}
void answer(ucontext_t& context, std::int64_t value) {
  context.uc_mcontext.regs[0] = static_cast<std::uint64_t>(value);
}
#else
#error "arguments of system calls are known for x86-64 and AArch64"
#endif

template <typename Pointer>
Pointer pointer_from(std::uint64_t value) {
  return reinterpret_cast<Pointer>(value);  // NOLINT: an argument of a system call
}

std::int64_t open_in_place(const char* name) {
  if (name == nullptr || std::strcmp(name, kPluginName) != 0 || the_plugin < 0) {
    return -EACCES;
  }
  const int opened = the_plugin;
  the_plugin = -1;
  return opened;
}

// The C library's fstat() is newfstatat() with an empty name.
std::int64_t stat_in_place(int descriptor, const char* name, struct stat* out) {
  if (name == nullptr || *name != '\0') {
    return -EACCES;
  }
  return ::syscall(__NR_fstat, descriptor, out) == 0 ? 0 : -errno;
}

extern "C" void on_trap(int /*signal*/, siginfo_t* info, void* raw) {
  auto* const context = static_cast<ucontext_t*>(raw);
  const int saved = errno;
  const auto arguments = arguments_of(*context);
  std::int64_t result = -EPERM;
  if (info->si_syscall == __NR_openat) {
    result = open_in_place(pointer_from<const char*>(arguments[1]));
  } else if (info->si_syscall == __NR_newfstatat) {
    result = stat_in_place(static_cast<int>(arguments[0]), pointer_from<const char*>(arguments[1]),
                           pointer_from<struct stat*>(arguments[2]));
  }
  errno = saved;
  answer(*context, result);
}

struct Limit {
  __rlimit_resource_t what;
  rlim_t value;
};

bool set_limits(std::uint32_t cpu_seconds) {
  const auto limits = std::to_array<Limit>({{RLIMIT_CORE, 0},
                                            {RLIMIT_FSIZE, 0},
                                            {RLIMIT_NPROC, 0},
                                            {RLIMIT_MEMLOCK, 0},
                                            {RLIMIT_MSGQUEUE, 0},
                                            {RLIMIT_NOFILE, kDescriptors},
                                            {RLIMIT_AS, kMemoryBytes},
                                            {RLIMIT_CPU, cpu_seconds}});
  return std::ranges::all_of(limits, [](const Limit& limit) {
    const rlimit both{limit.value, limit.value};
    return ::setrlimit(limit.what, &both) == 0;
  });
}

bool catch_traps() {
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  return ::sigaction(SIGSYS, &action, nullptr) == 0;
}

// Rules are for the architecture of this program. A call of any other, x32 among them, ends the
// process, as does a call without a rule.
bool filter_calls() {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(
      seccomp_init(SCMP_ACT_KILL_PROCESS), seccomp_release);
  int failures = seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  const auto add = [&](const auto& calls, std::uint32_t action) {
    for (const int call : calls) {
      failures |= seccomp_rule_add(filter.get(), action, call, 0);
    }
  };
  add(kAllowed, SCMP_ACT_ALLOW);
  add(kTrapped, SCMP_ACT_TRAP);
  add(kRefused, SCMP_ACT_ERRNO(EACCES));
  return failures == 0 && seccomp_load(filter.get()) == 0;
}

}  // namespace

// The filter is loaded last. From then on libseccomp does no more than free memory.
bool lock_in(int plugin, std::uint32_t cpu_seconds) {
  the_plugin = plugin;
  return catch_traps() && set_limits(cpu_seconds) && filter_calls();
}

}  // namespace assay::attestation::verifier_host
