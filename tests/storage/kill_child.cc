// SPDX-License-Identifier: Apache-2.0
// Program of the kill tests: appends from four threads, and prints what was acknowledged, one line
// each, until it is killed. Usage: storage_kill_child FOLDER PREFIX
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "storage/store.h"
#include "tests/storage/durability.h"
#include "tests/storage/store_contract.h"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::storage;
  if (argc != 3) {
    return 2;
  }
  const TestSigner signer;
  const SystemClock clock;
  const auto store = open_sqlite(kill_test_options(argv[1]), signer, clock);
  if (!store) {
    std::fprintf(stderr, "%s\n", to_string(store.error()).c_str());
    return 1;
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string prefix = std::string(argv[2]) + "-" + std::to_string(thread) + "-";
      for (int i = 0;; ++i) {
        for (const AcknowledgedWrite& one :
             write_some(**store, prefix + std::to_string(i) + "-", 1)) {
          // One write() of less than PIPE_BUF bytes: lines are whole.
          const std::string line = std::to_string(one.index) + " " + one.actor + " " +
                                   std::to_string(one.state.size) + " " + one.state.root.hex() +
                                   "\n";
          if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) {
            std::_Exit(3);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}
