// SPDX-License-Identifier: Apache-2.0
// Starting, reading and killing the child. ASSAY_KILL_CHILD is the path of its program.
#include "tests/storage/kill_rounds.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/storage/durability.h"
#include "tests/storage/store_contract.h"
#include "tests/support/seed.h"

namespace assay::storage {
namespace {

// What the child printed until it was killed: `after` its start, or (`writing`) after its first
// acknowledged write.
std::string run_and_kill(const std::string& folder, const std::string& prefix, bool writing,
                         std::chrono::microseconds after) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) {
    return {};
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::close(pipe[0]);
    ::close(pipe[1]);
    ::execl(ASSAY_KILL_CHILD, ASSAY_KILL_CHILD, folder.c_str(), prefix.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(pipe[1]);
  std::string output;
  const auto read_more = [&] {
    std::array<char, 4096> piece{};
    const ssize_t count = ::read(pipe[0], piece.data(), piece.size());
    output.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return count > 0;
  };
  if (writing) {
    read_more();
  }
  std::thread killer([&] {
    std::this_thread::sleep_for(after);  // wherever the child is then
    ::kill(child, SIGKILL);
  });
  while (read_more()) {
  }
  killer.join();
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);
  ::close(pipe[0]);
  return output;
}

std::vector<AcknowledgedWrite> parse(const std::string& output) {
  std::vector<AcknowledgedWrite> writes;
  std::istringstream lines(output);
  LeafIndex index = 0;
  std::string actor;
  TreeSize size = 0;
  std::string root;
  while (lines >> index >> actor >> size >> root) {
    writes.push_back(
        {index, actor, {size, Digest::from_hex(HashAlgorithm::kSha256, root).value(), {}}});
  }
  return writes;
}

}  // namespace

void kill_rounds(int rounds, int max_ms) {
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  const TemporaryFolder folder;
  const TestSigner signer;
  const ManualClock clock;
  std::vector<AcknowledgedWrite> acknowledged;
  int kills = 0;
  std::size_t appends = 0;
  for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    const auto limit = static_cast<std::uint64_t>(max_ms) * 1000;
    const std::chrono::microseconds after(static_cast<std::int64_t>(random() % limit));
    SCOPED_TRACE("round " + std::to_string(round) + " killed after " +
                 std::to_string(after.count()) + " us");
    const std::string prefix = "r" + std::to_string(round);
    const bool writing = round % 3 != 0;
    const auto fresh = parse(run_and_kill(folder.path(), prefix, writing, after));
    EXPECT_TRUE(!writing || !fresh.empty());
    acknowledged.insert(acknowledged.end(), fresh.begin(), fresh.end());
    appends += fresh.size();
    // The newest of all are the ones in danger; the older ones were checked before.
    if (acknowledged.size() > 2000) {
      acknowledged.erase(acknowledged.begin(), acknowledged.end() - 2000);
    }
    const SqliteOptions options = kill_test_options(folder.path());
    auto store = open_sqlite(options, signer, clock);
    ASSERT_TRUE(store) << to_string(store.error());
    expect_durable(**store, acknowledged);
    store->reset();
    expect_intact(options.path);
    ++kills;
  }
  ::testing::Test::RecordProperty("kills", kills);
  ::testing::Test::RecordProperty("acknowledged_appends", std::to_string(appends));
  std::cout << "kills: " << kills << ", acknowledged appends " << appends << ", "
            << (::testing::Test::HasFailure() ? "NOT all found" : "all found") << '\n';
}

}  // namespace assay::storage
