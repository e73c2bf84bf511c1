// SPDX-License-Identifier: Apache-2.0
// Who is at the other end: real processes over real sockets, with groups of a made-up /proc.
#include "worker/instances/peer.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>

#include "tests/support/vectors.h"
#include "tests/worker/instances/fake_proc.h"
#include "tests/worker/instances/support.h"

namespace assay::worker {
namespace {

using assay::test::code_of;
using test::FakeProc;
using test::socket_pair;

const std::string kId(64, 'c');

TEST(Peer, ProcessOfAPod_IsItsPod) {
  const FakeProc proc("0::/kubepods/podabc-1/" + kId + "\n");
  const auto [own, other] = socket_pair();
  const auto peer = identify_peer(own.get(), {{}, proc.path()});
  ASSERT_TRUE(peer) << to_string(peer.error());
  EXPECT_EQ(peer->peer, (Peer{::getpid(), ::getuid(), "abc-1", kId}));
}

TEST(Peer, OutsideOfPods_OnlyUsersThatAreNamed) {
  const FakeProc proc("0::/user.slice\n");
  const auto [own, other] = socket_pair();
  EXPECT_EQ(code_of(identify_peer(own.get(), {{}, proc.path()})), "forbidden");
  EXPECT_EQ(code_of(identify_peer(own.get(), {{::getuid() + 1}, proc.path()})), "forbidden");
  const auto peer = identify_peer(own.get(), {{7, ::getuid()}, proc.path()});
  ASSERT_TRUE(peer) << to_string(peer.error());
  EXPECT_EQ(peer->peer, (Peer{::getpid(), ::getuid(), "", ""}));
}

// A user that may register from outside of pods gains nothing in groups that are not clear.
TEST(Peer, GroupsThatAreNotClear_AreRefusedForNamedUsersToo) {
  const FakeProc proc("0::/kubepods/podabc-1\n");
  const auto [own, other] = socket_pair();
  EXPECT_EQ(code_of(identify_peer(own.get(), {{::getuid()}, proc.path()})), "forbidden");
}

TEST(Peer, ByCredentials_IsTheSame) {
  const auto [own, other] = socket_pair();
  const PeerRules rules{{::getuid()}, "/proc", PeerLookup::kCredentials};
  const auto peer = identify_peer(own.get(), rules);
  ASSERT_TRUE(peer) << to_string(peer.error());
  EXPECT_EQ(peer->peer.pid, ::getpid());
}

TEST(Peer, ByCredentials_NeedsTheStartTime) {
  const FakeProc proc("0::/\n", "1 (x) S 1");
  const auto [own, other] = socket_pair();
  EXPECT_EQ(
      code_of(identify_peer(own.get(), {{::getuid()}, proc.path(), PeerLookup::kCredentials})),
      "forbidden");
}

// Between the two looks at its start time its number went to another process: the first look reads
// from a pipe, which gives its text when the file for the second one is in its place.
TEST(Peer, ByCredentials_ANumberThatPassedOn_IsRefused) {
  const auto stat = [](int started) {
    return "1 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " + std::to_string(started);
  };
  for (const int later : {7, 8}) {
    const FakeProc proc("0::/kubepods/podabc-1/" + kId + "\n", stat(7));
    const std::filesystem::path file = proc.file("stat");
    std::filesystem::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    const std::jthread writer([&] {
      std::ofstream first(file);
      first << stat(7) << std::flush;
      std::filesystem::remove(file);
      std::ofstream(file) << stat(later);
    });
    const auto [own, other] = socket_pair();
    const auto peer = identify_peer(own.get(), {{}, proc.path(), PeerLookup::kCredentials});
    EXPECT_EQ(code_of(peer), later == 7 ? "ok" : "forbidden");
  }
}

TEST(Peer, ProcThatIsNotThere_IsRefused) {
  const auto [own, other] = socket_pair();
  EXPECT_EQ(code_of(identify_peer(own.get(), {{::getuid()}, "/nowhere"})), "forbidden");
}

TEST(Peer, SocketOfAnotherKind_IsRefused) {
  const Descriptor file = test::memory_file(1);
  EXPECT_EQ(code_of(identify_peer(file.get(), {{::getuid()}})), "forbidden");
}

// The process that connected has ended, its connection lives on in another one: its number may be
// somebody else's by now.
TEST(Peer, ProcessThatHasEnded_IsRefused) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("assay-peer-" + std::to_string(::getpid()));
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(static_cast<char*>(address.sun_path), path.c_str());
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), at, sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const Descriptor held(::socket(AF_UNIX, SOCK_STREAM, 0));  // shared with the child
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(::connect(held.get(), at, sizeof(address)) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const Descriptor accepted(::accept(listener.get(), nullptr, nullptr));
  for (const PeerLookup lookup : {PeerLookup::kNewest, PeerLookup::kCredentials}) {
    EXPECT_EQ(code_of(identify_peer(accepted.get(), {{::getuid()}, "/proc", lookup})), "forbidden");
  }
  (void)::unlink(path.c_str());
}

// Runs `body` in a new pid namespace that has a /proc of its own; returns its result, or -1 where
// this is not allowed.
int in_own_pid_namespace(const std::function<int()>& body) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
      ::_exit(77);
    }
    const pid_t inner = ::fork();
    if (inner == 0) {
      const bool mounted = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                           ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
      ::_exit(mounted ? body() : 77);
    }
    int status = 0;
    ::_exit(::waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  (void)::waitpid(outer, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return code == 77 ? -1 : code;
}

// The node agent is in a pid namespace that the process is not in.
TEST(Peer, ProcessThatTheAgentCannotSee_IsRefused) {
  const auto [own, other] = socket_pair();
  const int socket = own.get();
  const int found = in_own_pid_namespace([socket] {
    int refused = 0;
    for (const PeerLookup lookup : {PeerLookup::kNewest, PeerLookup::kCredentials}) {
      const auto peer = identify_peer(socket, {{::getuid()}, "/proc", lookup});
      const bool cannot_see = !peer && peer.error().detail.find("cannot see") != std::string::npos;
      refused += cannot_see ? 1 : 0;
    }
    return refused;
  });
  if (found < 0) {
    GTEST_SKIP() << "no pid namespace can be made here";
  }
  EXPECT_EQ(found, 2);
}

TEST(Peer, NumberInFdinfo) {
  EXPECT_EQ(pid_in_fdinfo("pos:\t0\nflags:\t02\nPid:\t4711\nNSpid:\t4711\t1\n"), 4711);
  EXPECT_EQ(pid_in_fdinfo("Pid:\t0\nNSpid:\t0\n"), 0);
  EXPECT_EQ(pid_in_fdinfo("Pid:\t-1\n"), -1);
  EXPECT_EQ(code_of(pid_in_fdinfo("NSpid:\t1\n")), "forbidden");
  EXPECT_EQ(code_of(pid_in_fdinfo("Pid:\tx\n")), "forbidden");
  EXPECT_EQ(code_of(pid_in_fdinfo("")), "forbidden");
}

TEST(Peer, StartTime_IsReadBehindAnyName) {
  const std::string fields = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 23 24\n";
  EXPECT_EQ(start_time_in_stat("7 (python3)" + fields), 99);
  EXPECT_EQ(start_time_in_stat("7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 1)" + fields),
            99);
  EXPECT_EQ(code_of(start_time_in_stat("7 (python3) S 1 2")), "forbidden");
  EXPECT_EQ(code_of(start_time_in_stat("")), "forbidden");
}

}  // namespace
}  // namespace assay::worker
