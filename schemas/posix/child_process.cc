// SPDX-License-Identifier: Apache-2.0
#include "schemas/posix/child_process.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <spawn.h>

namespace assay {
namespace {

// Undoes what posix_spawn() needs.
struct Spawn {
  Spawn() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// Copies of the descriptors with numbers above all those that they get in the child, so that none
// is overwritten while they are put in place. Empty when the system has no more.
std::vector<Descriptor> copies_above(std::span<const int> descriptors) {
  const int above = kFirstChildDescriptor + static_cast<int>(descriptors.size());
  std::vector<Descriptor> copies;
  for (const int descriptor : descriptors) {
    Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, above));
    if (!copy) {
      return {};
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

bool place(Spawn& spawn, const std::vector<Descriptor>& copies) {
  int number = kFirstChildDescriptor;
  for (const Descriptor& copy : copies) {
    if (::posix_spawn_file_actions_adddup2(&spawn.actions, copy.get(), number++) != 0) {
      return false;
    }
  }
  return ::posix_spawn_file_actions_addclosefrom_np(&spawn.actions, number) == 0;
}

bool place_output(Spawn& spawn, int output) {
  return output < 0
             ? ::posix_spawn_file_actions_addopen(&spawn.actions, 1, "/dev/null", O_WRONLY, 0) == 0
             : ::posix_spawn_file_actions_adddup2(&spawn.actions, output, 1) == 0;
}

bool place_errors(Spawn& spawn, const ChildProgram& program) {
  if (program.errors >= 0) {
    return ::posix_spawn_file_actions_adddup2(&spawn.actions, program.errors, 2) == 0;
  }
  return program.inherits_errors ||
         ::posix_spawn_file_actions_addopen(&spawn.actions, 2, "/dev/null", O_WRONLY, 0) == 0;
}

bool prepare(Spawn& spawn, const std::vector<Descriptor>& copies, const ChildProgram& program) {
  sigset_t none;
  sigset_t usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  ::sigaddset(&usual, SIGPIPE);
  ::sigaddset(&usual, SIGXFSZ);
  return ::posix_spawn_file_actions_addopen(&spawn.actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
         place_output(spawn, program.output) && place_errors(spawn, program) &&
         place(spawn, copies) && ::posix_spawnattr_setsigmask(&spawn.attributes, &none) == 0 &&
         ::posix_spawnattr_setsigdefault(&spawn.attributes, &usual) == 0 &&
         ::posix_spawnattr_setpgroup(&spawn.attributes, 0) == 0 &&
         ::posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETSIGMASK |
                                                           POSIX_SPAWN_SETSIGDEF |
                                                           POSIX_SPAWN_SETPGROUP) == 0;
}

std::vector<char*> environment_of_child(bool inherits) {
  std::vector<char*> kept;
  for (char** variable = environ; inherits && variable != nullptr && *variable != nullptr;
       ++variable) {
    if (!std::string_view(*variable).starts_with("ASSAY_")) {
      kept.push_back(*variable);
    }
  }
  kept.push_back(nullptr);
  return kept;
}

std::string words_for(const siginfo_t& end) {
  return end.si_code == CLD_EXITED ? "exit status " + std::to_string(end.si_status)
                                   : "signal " + std::to_string(end.si_status);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const ChildProgram& program,
                                         std::span<const int> descriptors) {
  std::vector<std::string> words = program.words;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  Spawn spawn;
  const std::vector<Descriptor> copies = copies_above(descriptors);
  const std::vector<char*> environment = environment_of_child(program.inherits_environment);
  if (copies.size() != descriptors.size() || !prepare(spawn, copies, program)) {
    return fail(ErrorCode::kInternal, "the system has no more descriptors or memory for a process");
  }
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.path.c_str(), &spawn.actions, &spawn.attributes,
                                  argv.data(), environment.data());
  if (error != 0) {
    return fail(ErrorCode::kInternal,
                "the system does not start the program: " + std::generic_category().message(error));
  }
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return ChildProcess(pid, std::move(pidfd));
}

ChildProcess::~ChildProcess() {
  if (pid_ >= 0) {
    kill();
    (void)wait(Steady::time_point::max());
  }
}

void ChildProcess::kill() const {
  // Its number is not given to another process before its end was seen.
  if (pid_ >= 0) {
    (void)::kill(pid_, SIGKILL);
  }
}

std::string ChildProcess::wait(Steady::time_point deadline) {
  constexpr std::int64_t kLook = 100;  // milliseconds, where the system has no pidfd
  while (true) {
    siginfo_t end{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) != 0) {
      return "unknown cause";
    }
    if (end.si_pid != 0) {
      const pid_t pid = std::exchange(pid_, -1);
      (void)::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED);
      return words_for(end);
    }
    const Steady::time_point now = Steady::now();
    if (now >= deadline) {
      return {};
    }
    const auto left = std::min<Steady::duration>(deadline - now, std::chrono::milliseconds(kLook));
    pollfd ended{pidfd_.get(), POLLIN, 0};
    (void)::poll(&ended, 1,
                 static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
  }
}

}  // namespace assay
