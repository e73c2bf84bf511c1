// SPDX-License-Identifier: Apache-2.0
// The service's own log while nobody reads it.

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "tests/server/app_fixture.h"

namespace assay::server {
namespace {

// More than the queue of the log takes: requests are answered, the metric says how much is lost,
// and so does the log when somebody reads it again.
TEST_F(AppTest, LogThatNobodyReads_IsCountedAndToldLater) {
  const std::string name = folder_ / "log.pipe";
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  const Descriptor pipe(::open(name.c_str(), O_RDONLY | O_NONBLOCK));
  log_ = Log::open(LogLevel::kInfo, name, clock_).value();
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  start_app();
  const auto lost = [this] {
    const std::string text = ask("/metrics", "Authorization: Bearer assay_root\r\n").value().body;
    const std::size_t at = text.find("\nlogging_lines_lost_total ");
    return at == std::string::npos ? -1.0 : std::stod(text.substr(at + 26));
  };
  EXPECT_EQ(lost(), 0);
  while (log_->lost() < 100) {
    log_->info("flood");
  }
  EXPECT_EQ(ask("/livez")->status, 200);
  EXPECT_EQ(ask("/nothing/here", "Authorization: Bearer assay_root\r\n")->status, 404);
  EXPECT_GE(lost(), 101) << "the request before has no line either";
  std::string text;
  std::array<char, 65536> piece{};
  while (text.find(R"("event":"log_lines_lost","lines":)") == std::string::npos) {
    pollfd ready{pipe.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, 30'000), 1);
    const ssize_t got = ::read(pipe.get(), piece.data(), piece.size());
    ASSERT_GT(got, 0);
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  EXPECT_GE(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(kMaxQueuedLogLines));
}

}  // namespace
}  // namespace assay::server
