// SPDX-License-Identifier: Apache-2.0
// The whole program in one process, in a folder of its own, with a log file there.
#pragma once

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "schemas/trust.h"
#include "server/app.h"
#include "server/init.h"
#include "tests/server/operator_key.h"
#include "tests/support/tls_client.h"
#include "tests/support/vectors.h"

namespace assay::server {

class AppTest : public testing::Test {
 protected:
  AppTest() {
    std::signal(SIGPIPE, SIG_IGN);
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-app-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    write("admission.secret", secret_ + "\n");
    config_ = parse_config(configuration().dump(), folder_).value();
    log_ = Log::open(LogLevel::kInfo, folder_ / "assayd.log", clock_).value();
  }
  ~AppTest() override {
    app_.reset();
    std::filesystem::remove_all(folder_);
  }

  static Json configuration() {
    return {{"api", {{"port", 0}}},
            {"admission",
             {{"port", 0}, {"client_auth", "path"}, {"path_secret_file", "admission.secret"}}},
            {"tls", {{"certificate_file", "tls/tls.crt"}, {"private_key_file", "tls/tls.key"}}},
            {"store", {{"kind", "sqlite"}, {"path", "data/assay.db"}}},
            {"anchor_file", "anchor/checkpoint"},
            {"log", {{"origin", "example.com/log"}, {"key_file", "keys/log.key"}}},
            {"service_key_file", "keys/service.key"},
            {"limits", {{"worker_threads", 2}}},
            {"ready_file", "ready.json"}};
  }

  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name) << content;
    ::chmod((folder_ / name).c_str(), 0600);
  }

  Bytes bootstrap_document() {
    Bootstrap start;
    start.keys = {test::operator_key("olga"), test::operator_key("omar")};
    start.principals = {{"root",
                         {AccessRole::kAdmin, AccessRole::kAuditor},
                         {{CredentialKind::kToken, sha256(as_bytes("assay_root"))}},
                         {}}};
    return to_bytes(canonical_json(to_json(start)).value());
  }

  void start_app() {
    auto app = App::start(config_, clock_, random_, *log_);
    ASSERT_TRUE(app) << to_string(app.error());
    app_ = *std::move(app);
  }

  std::string log_text() {
    EXPECT_TRUE(log_->flush(std::chrono::seconds(30)));
    return test::read_file(folder_ / "assayd.log");
  }

  std::optional<HttpAnswer> ask(const std::string& target, const std::string& fields = "",
                                Listener listener = Listener::kApi, const std::string& body = "") {
    TlsClient client({.port = app_->port(listener)});
    EXPECT_TRUE(client.handshake());
    const std::string method = body.empty() ? "GET " : "POST ";
    return client.exchange(method + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields +
                           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  const std::string secret_ = "0123456789abcdef0123456789abcdef";
  std::filesystem::path folder_;
  SystemClock clock_;
  SystemRandom random_;
  Config config_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<App> app_;
};

}  // namespace assay::server
