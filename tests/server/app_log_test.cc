// SPDX-License-Identifier: Apache-2.0
// The service's own log: while nobody reads it, opened anew, and what it says of the certificate.

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/stat.h>

#include "server/http/tls.h"
#include "tests/server/app_fixture.h"
#include "tests/support/manual_clock.h"

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

// How often `name` stands in `text`.
std::size_t count_of(const std::string& text, std::string_view name) {
  std::size_t count = 0;
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    ++count;
  }
  return count;
}

// Whoever rotates log files moves the file away and sends SIGHUP (docs/operations.md).
TEST_F(AppTest, Reload_OpensTheLogAnew) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  start_app();
  log_text();
  std::filesystem::rename(folder_ / "assayd.log", folder_ / "assayd.log.1");
  log_->info("before");
  ASSERT_TRUE(log_->flush(std::chrono::seconds(30)));
  app_->reload();
  log_->info("after");
  const std::string text = log_text();
  EXPECT_EQ(count_of(text, R"("event":"reloaded")"), 1U) << text;
  EXPECT_EQ(count_of(text, R"("event":"after")"), 1U) << text;
  EXPECT_EQ(count_of(text, R"("event":"before")"), 0U) << text;
}

TEST_F(AppTest, CertificateThatEnds_IsWarnedOfOnceADayAndInMetrics) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  const auto end = certificate_end(config_.certificate_file);
  ASSERT_TRUE(end) << to_string(end.error());
  constexpr std::chrono::hours kDay{24};
  ManualClock wall(*end - 30 * kDay - std::chrono::hours(1));
  auto app = App::start(config_, wall, random_, *log_);
  ASSERT_TRUE(app) << to_string(app.error());
  app_ = *std::move(app);
  const auto told = [this, &wall](std::chrono::hours later) {
    wall.advance(later);
    app_->watch_certificate();
    const std::string text = log_text();
    return std::pair{count_of(text, "certificate_expires"), count_of(text, "certificate_expired")};
  };
  using Told = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(told(std::chrono::hours(0)), Told(0, 0)) << "more than 30 days are left";
  EXPECT_EQ(told(std::chrono::hours(1)), Told(1, 0));
  EXPECT_EQ(told(kDay - std::chrono::hours(1)), Told(1, 0)) << "once a day";
  EXPECT_EQ(told(std::chrono::hours(1)), Told(2, 0));
  EXPECT_EQ(told(29 * kDay), Told(2, 1)) << "it has ended";
  const std::string metrics = ask("/metrics", "Authorization: Bearer assay_root\r\n").value().body;
  const std::string name = "\ntls_certificate_expiry_timestamp_seconds ";
  const std::size_t at = metrics.find(name);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(std::stod(metrics.substr(at + name.size())),
            std::chrono::duration<double>(end->time_since_epoch()).count());
  app_.reset();  // before its clock
}

// Intel's own, valid from February 18 to March 20, 2026. Its CRLs end within that time as well.
TEST_F(AppTest, CollateralThatEnds_IsWarnedOfOnceADayAndInMetrics) {
  const auto end = parse_rfc3339("2026-03-20T10:58:51Z").value();  // of the TCB info
  constexpr std::chrono::hours kDay{24};
  ManualClock wall(end - 20 * kDay);
  ASSERT_TRUE(initialise(config_, bootstrap_document(), wall, random_));
  auto app = App::start(config_, wall, random_, *log_);
  ASSERT_TRUE(app) << to_string(app.error());
  app_ = *std::move(app);
  const Json bundle = test::load_vectors("tdx/2026-03.collateral.json");
  const std::string body = Json{{"type", "tdx"}, {"collateral", bundle}}.dump();
  TlsClient client({.port = app_->port(Listener::kApi)});
  ASSERT_TRUE(client.handshake());
  const auto put = client.exchange(
      "PUT /v1/collateral HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer assay_root\r\n"
      "Content-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  ASSERT_TRUE(put);
  ASSERT_EQ(put->status, 201) << put->body;
  const auto told = [this, &wall](std::chrono::hours later) {
    wall.advance(later);
    app_->watch_certificate();
    std::pair<std::size_t, std::size_t> count;
    std::istringstream lines(log_text());
    for (std::string line; std::getline(lines, line);) {
      const bool ours = line.find("tcb-info") != std::string::npos;
      count.first += ours ? count_of(line, "collateral_expires") : 0;
      count.second += ours ? count_of(line, "collateral_expired") : 0;
    }
    return count;
  };
  using Told = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(told(5 * kDay), Told(0, 0)) << "more than fourteen days are left";
  EXPECT_EQ(told(kDay), Told(1, 0));
  EXPECT_EQ(told(kDay - std::chrono::hours(1)), Told(1, 0)) << "once a day";
  EXPECT_EQ(told(std::chrono::hours(1)), Told(2, 0));
  EXPECT_EQ(told(13 * kDay), Told(2, 1)) << "it has ended";
  const std::string metrics = ask("/metrics", "Authorization: Bearer assay_root\r\n").value().body;
  const std::string name = "\ncollateral_seconds_to_next_update{part=\"tcb-info\"} ";
  const std::size_t at = metrics.find(name);
  ASSERT_NE(at, std::string::npos) << metrics;
  EXPECT_NEAR(std::stod(metrics.substr(at + name.size())), 0, 60);
  app_.reset();  // before its clock
}

}  // namespace
}  // namespace assay::server
