// SPDX-License-Identifier: Apache-2.0
// The program assayd itself: command line, exit status, signals, hardening.

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <spawn.h>

#include "attestation/keys.h"
#include "schemas/core/sha.h"
#include "schemas/posix/descriptor.h"
#include "schemas/trust.h"
#include "server/http/self_signed.h"
#include "tests/server/operator_key.h"
#include "tests/support/folder_events.h"
#include "tests/support/tls_client.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assayd-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ProgramTest() override {
    if (running_ > 0) {
      ::kill(running_, SIGKILL);
      wait_for(running_);
    }
    std::filesystem::remove_all(folder_);
  }

  void write(const std::string& name, const Json& content) {
    std::ofstream(folder_ / name) << content.dump();
  }
  std::string read(const std::string& name) { return test::read_file(folder_ / name); }

  // Starts the program in the folder, with its output in the files "out" and "err".
  pid_t spawn(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ASSAY_BINARY_DIR "/bin/assayd");
    std::vector<char*> raw;
    for (std::string& argument : arguments) {
      raw.push_back(argument.data());
    }
    raw.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.c_str());
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 1, "out", kFlags, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, "err", kFlags, 0600);
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, raw.front(), &actions, nullptr, raw.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }

  // Exit status, or the negative number of the signal that ended it.
  static int wait_for(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  int run(std::vector<std::string> arguments) { return wait_for(spawn(std::move(arguments))); }

  void write_files() {
    write("assayd.json",
          {{"api", {{"port", 0}}},
           {"tls", {{"certificate_file", "tls.crt"}, {"private_key_file", "tls.key"}}},
           {"store", {{"kind", "sqlite"}, {"path", "assay.db"}}},
           {"anchor_file", "anchor"},
           {"log", {{"origin", "example.com/log"}, {"key_file", "log.key"}}},
           {"service_key_file", "service.key"},
           {"limits", {{"worker_threads", 1}}},
           {"ready_file", "ready.json"}});
    Bootstrap start;
    start.keys = {test::operator_key("olga"), test::operator_key("omar")};
    start.principals = {{"root",
                         {AccessRole::kAdmin},
                         {{CredentialKind::kToken, sha256(as_bytes("assay_root"))}},
                         {}}};
    write("bootstrap.json", to_json(start));
  }

  // Starts the service and waits until it serves; its port.
  std::uint16_t serve() {
    const test::FolderEvents events(folder_);
    running_ = spawn({"run", "--config", "assayd.json"});
    EXPECT_TRUE(events.await([this] { return std::filesystem::exists(folder_ / "ready.json"); }));
    return Json::parse(read("ready.json"))["api_port"].get<std::uint16_t>();
  }

  std::filesystem::path folder_;
  pid_t running_ = 0;
};

TEST_F(ProgramTest, Help_ShowsExamples) {
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_NE(read("out").find("Examples:"), std::string::npos);
  EXPECT_EQ(run({"--version"}), 0);
}

TEST_F(ProgramTest, WrongUsage_IsStatus2) {
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(run({"walk"}), 2);
  EXPECT_EQ(run({"run"}), 2);
  EXPECT_EQ(run({"run", "--config", "absent.json"}), 2);
  EXPECT_NE(read("err").find("file-unreadable"), std::string::npos);
}

TEST_F(ProgramTest, CheckConfig_JudgesAndPrints) {
  write_files();
  EXPECT_EQ(run({"check-config", "--config", "assayd.json"}), 0);
  EXPECT_EQ(read("out"), "");
  EXPECT_EQ(run({"check-config", "--config", "assayd.json", "--print-effective"}), 0);
  const Json effective = Json::parse(read("out"));
  EXPECT_EQ(effective["store"]["path"], (folder_ / "assay.db").string());
  write("wrong.json", {{"api", {{"port", "http"}}}});
  EXPECT_EQ(run({"check-config", "--config", "wrong.json"}), 2);
  EXPECT_NE(read("err").find("schema-violation"), std::string::npos);
}

// A certificate that no client can use is refused before it is the only one that there is.
TEST_F(ProgramTest, CertificateThatNoClientCanUse_IsRefusedEverywhere) {
  write_files();
  const auto request = [this] {
    const std::string command =
        "cd '" + folder_.string() +
        "' && umask 077 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-521 -nodes "
        "-days 40 -subj /CN=x -keyout tls.key -out tls.crt 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  };
  const auto says_which = [this] {
    const std::string text = read("err");
    return text.find("P-256") != std::string::npos && text.find("secp521r1") != std::string::npos;
  };
  request();
  EXPECT_EQ(run({"check-config", "--config", "assayd.json"}), 2);
  EXPECT_TRUE(says_which()) << read("err");
  EXPECT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 2);
  std::filesystem::remove(folder_ / "tls.key");
  std::filesystem::remove(folder_ / "tls.crt");
  ASSERT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 0)
      << read("err");
  EXPECT_EQ(run({"check-config", "--config", "assayd.json"}), 0) << read("err");
  const std::uint16_t port = serve();
  TlsClient before({.port = port});
  ASSERT_TRUE(before.handshake());
  request();
  ::kill(running_, SIGHUP);
  while (read("err").find("reload_failed") == std::string::npos) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(says_which()) << read("err");
  TlsClient after({.port = port});
  ASSERT_TRUE(after.handshake());
  EXPECT_EQ(after.server_pin(), before.server_pin()) << "the old one stays in use";
  ::kill(running_, SIGTERM);
  EXPECT_EQ(wait_for(std::exchange(running_, 0)), 0);
  EXPECT_EQ(run({"run", "--config", "assayd.json"}), 2);
  EXPECT_TRUE(says_which()) << read("err");
}

// In a volume of Kubernetes every file is a link to "..data/", which is one to the newest version.
TEST_F(ProgramTest, KeysBehindLinks_AreTaken) {
  write_files();
  ASSERT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 0);
  std::filesystem::create_directory(folder_ / "..v1");
  std::filesystem::create_symlink("..v1", folder_ / "..data");
  for (const char* name : {"log.key", "service.key", "tls.key", "tls.crt"}) {
    std::filesystem::rename(folder_ / name, folder_ / "..v1" / name);
    std::filesystem::create_symlink(std::filesystem::path("..data") / name, folder_ / name);
  }
  EXPECT_EQ(run({"check-config", "--config", "assayd.json"}), 0) << read("err");
  TlsClient client({.port = serve()});
  EXPECT_TRUE(client.handshake()) << read("err");
}

TEST_F(ProgramTest, Check_SaysWhatTheStoreHolds) {
  write_files();
  EXPECT_EQ(run({"check", "assayd.json"}), 2);  // there is no store yet
  ASSERT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 0);
  EXPECT_EQ(run({"check", "assayd.json"}), 0) << read("err");
  EXPECT_EQ(Json::parse(read("out")), (Json{{"findings", Json::array()}}));
  EXPECT_EQ(run({"check", "--config", "assayd.json"}), 0);
  serve();
  EXPECT_EQ(run({"check", "--deep", "assayd.json"}), 0) << "beside the service";
  EXPECT_EQ(run({"repair", "assayd.json"}), 2) << "a service has it open";
  EXPECT_EQ(run({"restore", "assayd.json"}), 2) << "a service has it open";
}

TEST_F(ProgramTest, Sigterm_StopsWithStatus0) {
  write_files();
  ASSERT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 0)
      << read("err");
  EXPECT_TRUE(Json::parse(read("out")).contains("log_verifier_key"));
  const std::uint16_t port = serve();
  TlsClient client({.port = port});
  ASSERT_TRUE(client.handshake());
  EXPECT_EQ(client.exchange("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")->status, 200);

  // Key material lives in the process: it leaves no core dump.
  std::ifstream limits("/proc/" + std::to_string(running_) + "/limits");
  std::string line;
  while (std::getline(limits, line) && !line.starts_with("Max core file size")) {
  }
  EXPECT_NE(line.find(" 0 "), std::string::npos) << line;

  ::kill(running_, SIGTERM);
  EXPECT_EQ(wait_for(std::exchange(running_, 0)), 0);
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ready.json"));
}

TEST_F(ProgramTest, Sighup_TakesTheNewCertificateAndGoesOn) {
  write_files();
  ASSERT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 0);
  const std::uint16_t port = serve();
  TlsClient before({.port = port});
  ASSERT_TRUE(before.handshake());
  const std::string old_pin = before.server_pin();
  const SystemClock clock;
  std::filesystem::remove(folder_ / "tls.crt");
  std::filesystem::remove(folder_ / "tls.key");
  ASSERT_TRUE(
      make_self_signed({folder_ / "tls.crt", folder_ / "tls.key", "127.0.0.1", clock.now()}));
  ::kill(running_, SIGHUP);
  std::string new_pin = old_pin;
  for (int i = 0; i < 20'000 && new_pin == old_pin; ++i) {
    TlsClient after({.port = port});
    ASSERT_TRUE(after.handshake());
    new_pin = after.server_pin();
  }
  EXPECT_NE(new_pin, old_pin);
  EXPECT_EQ(before.exchange("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")->status, 200)
      << "open connections go on";

  // What cannot be read changes nothing.
  std::filesystem::remove(folder_ / "tls.crt");
  ::kill(running_, SIGHUP);
  while (read("err").find("reload_failed") == std::string::npos) {
    std::this_thread::yield();
  }
  TlsClient later({.port = port});
  ASSERT_TRUE(later.handshake());
  EXPECT_EQ(later.server_pin(), new_pin);
}

// Standard error is a pipe, and whoever should read it has stalled.
TEST_F(ProgramTest, LogThatNobodyReads_HoldsUpNoRequestAndNoEnd) {
  write_files();
  ASSERT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 0);
  std::filesystem::remove(folder_ / "err");
  ASSERT_EQ(::mkfifo((folder_ / "err").c_str(), 0600), 0);
  const Descriptor pipe(::open((folder_ / "err").c_str(), O_RDONLY | O_NONBLOCK));
  const int room = ::fcntl(pipe.get(), F_SETPIPE_SZ, 4096);  // a page at least
  ASSERT_GT(room, 0);
  TlsClient client({.port = serve()});
  ASSERT_TRUE(client.handshake());
  // Each has its line, of 200 bytes and more: far more than the pipe takes.
  for (int i = 0; i < 300 + room / 100; ++i) {
    const auto answer = client.exchange(
        "GET /nothing HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer assay_root\r\n\r\n");
    ASSERT_TRUE(answer) << i;
    ASSERT_EQ(answer->status, 404) << i;
  }
  ::kill(running_, SIGTERM);
  EXPECT_EQ(wait_for(std::exchange(running_, 0)), 0);
}

TEST_F(ProgramTest, SecondInitAndSecondProcess_AreRefused) {
  write_files();
  ASSERT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 0);
  EXPECT_EQ(run({"init", "--config", "assayd.json", "--bootstrap", "bootstrap.json"}), 2);
  serve();
  EXPECT_EQ(run({"run", "--config", "assayd.json"}), 2);
}

}  // namespace
}  // namespace assay::server
