// SPDX-License-Identifier: Apache-2.0
// The configuration: schema, defaults, paths, secrets; the log's lines.

#include "server/config.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "server/operational_log.h"
#include "server/thread_shares.h"
#include "tests/support/manual_clock.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using test::code_of;
using test::where_of;

Json minimal() {
  return {{"api", {{"port", 0}}},
          {"tls", {{"certificate_file", "tls.crt"}, {"private_key_file", "tls.key"}}},
          {"store", {{"kind", "sqlite"}, {"path", "assay.db"}}},
          {"anchor_file", "../anchor"},
          {"log", {{"origin", "example.com/log"}, {"key_file", "/keys/log.key"}}},
          {"service_key_file", "service.key"}};
}

Result<Config> parse(const Json& json) { return parse_config(json.dump(), "/etc/assay"); }

TEST(Config, Minimal_HasDefaults) {
  const auto config = parse(minimal());
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->api.address, "127.0.0.1");
  EXPECT_FALSE(config->console);
  EXPECT_FALSE(config->admission);
  EXPECT_GE(config->limits.worker_threads, 1U);
  EXPECT_EQ(config->limits.max_connections, 1024U);
  EXPECT_EQ(config->log_level, LogLevel::kInfo);
  EXPECT_EQ(config->ready_file, "");
}

TEST(Config, RelativePaths_StartFromTheFolder) {
  const auto config = parse(minimal());
  EXPECT_EQ(config->store_path, "/etc/assay/assay.db");
  EXPECT_EQ(config->anchor_file, "/etc/anchor");
  EXPECT_EQ(config->log_key_file, "/keys/log.key");
}

TEST(Config, ExampleOfTheSchema_NamesEveryMemberAndIsRead) {
  for (const auto& [name, text] : embedded::kJsonSchemasFiles) {
    if (name != "config.schema.json") {
      continue;
    }
    const Json schema = parse_json(text).value();
    const Json& example = schema["examples"][0];
    for (const auto& [member, unused] : schema["properties"].items()) {
      EXPECT_TRUE(example.contains(member)) << member;
    }
    for (const auto& [member, unused] : schema["properties"]["limits"]["properties"].items()) {
      EXPECT_TRUE(example["limits"].contains(member)) << member;
    }
    EXPECT_TRUE(parse(example));
    return;
  }
  FAIL() << "no config.schema.json";
}

TEST(Config, Effective_IsAConfigurationAndTheSame) {
  Json json = minimal();
  json["admission"] = {{"port", 1}, {"client_auth", "path"}, {"path_secret_file", "secret"}};
  json["api"]["console"] = true;
  json["limits"] = {{"idle_timeout_ms", 1234}};
  json["logging"] = {{"level", "debug"}, {"file", "a.log"}};
  json["ready_file"] = "ready";
  json["passphrase_file"] = "pass";
  const Json effective = to_json(*parse(json));
  EXPECT_EQ(effective["limits"]["idle_timeout_ms"], 1234);
  EXPECT_EQ(effective["api"]["console"], true);
  EXPECT_EQ(to_json(*parse(effective)), effective);
}

TEST(Config, UnknownMember_IsAnError) {
  Json json = minimal();
  json["limits"] = {{"max_conections", 5}};
  const auto config = parse(json);
  EXPECT_EQ(code_of(config), "unknown-member");
  EXPECT_EQ(where_of(config), "/limits/max_conections");
}

TEST(Config, MissingOrWrongMember_IsAnError) {
  for (const char* member : {"api", "tls", "store", "anchor_file", "log", "service_key_file"}) {
    Json json = minimal();
    json.erase(member);
    EXPECT_EQ(code_of(parse(json)), "schema-violation") << member;
  }
  Json json = minimal();
  json["api"]["port"] = 65536;
  EXPECT_EQ(code_of(parse(json)), "schema-violation");
  json = minimal();
  json["log"]["origin"] = "two words";
  EXPECT_EQ(code_of(parse(json)), "schema-violation");
  EXPECT_EQ(code_of(parse_config("{", "/")), "malformed-json");
}

TEST(Config, WhatTheSchemaCannotSay_IsChecked) {
  Json json = minimal();
  json["admission"] = {{"port", 1}, {"client_auth", "path"}};
  EXPECT_EQ(code_of(parse(json)), "invalid-config");
  json["admission"] = {{"port", 1}, {"client_auth", "required"}, {"path_secret_file", "s"}};
  EXPECT_EQ(code_of(parse(json)), "invalid-config");
  json = minimal();
  json["service_key_file"] = "/keys/log.key";
  EXPECT_EQ(code_of(parse(json)), "invalid-config");
}

TEST(Config, KeyOfTheService_MayBeInAToken) {
  Json json = minimal();
  const std::string uri = "pkcs11:token=a;object=b?module-path=/x.so&pin-source=/run/pin";
  json["service_key_file"] = uri;
  EXPECT_EQ(parse(json)->service_key_file, uri);
  json["service_key_file"] = "pkcs11:token=a";
  EXPECT_EQ(code_of(parse(json)), "invalid-config");
  json = minimal();
  json["log"]["key_file"] = uri;
  EXPECT_EQ(code_of(parse(json)), "invalid-config");
  json = minimal();
  json["attestation"] = {{"ear_key_files", {uri}}};
  EXPECT_EQ(code_of(parse(json)), "invalid-config");
}

TEST(Config, Nodes_HaveSafeDefaults) {
  const auto config = parse(minimal());
  EXPECT_FALSE(config->nodes.dangerous_allow_unmeasured);
  EXPECT_FALSE(config->nodes.dangerous_allow_unregistered);
  EXPECT_EQ(config->nodes.mirror, "");
  EXPECT_TRUE(config->ear_key_files.empty());
  EXPECT_EQ(to_json(*config)["attestation"]["audience"], "example.com/log");
}

TEST(Config, LivesOfNodes_HaveADefaultAndARange) {
  struct Life {
    const char* section;
    const char* member;
    int usual;
    int least;
    int most;
  };
  for (const Life& life : {Life{"attestation", "challenge_seconds", 120, 1, 3600},
                           Life{"attestation", "enrolment_seconds", 86'400, 60, 31'536'000},
                           Life{"nodes", "lease_seconds", 60, 1, 3600}}) {
    EXPECT_EQ(to_json(*parse(minimal()))[life.section][life.member], life.usual) << life.member;
    const auto with = [&](int seconds) {
      Json json = minimal();
      json[life.section][life.member] = seconds;
      return code_of(parse(json));
    };
    EXPECT_EQ(with(life.least), "ok") << life.member;
    EXPECT_EQ(with(life.most), "ok") << life.member;
    EXPECT_NE(with(life.least - 1), "ok") << life.member;
    EXPECT_NE(with(life.most + 1), "ok") << life.member;
  }
}

TEST(Config, Nodes_AreRead) {
  Json json = minimal();
  json["attestation"] = {{"audience", "me"},
                         {"ear_key_files", {"ear.key", "/old/ear.key"}},
                         {"challenge_seconds", 5},
                         {"enrolment_seconds", 600}};
  json["nodes"] = {{"dangerous_allow_unmeasured", true},
                   {"dangerous_allow_unregistered", true},
                   {"lease_seconds", 7},
                   {"mirror", "models"},
                   {"spot_checks", 3}};
  const auto config = parse(json);
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->nodes.audience, "me");
  EXPECT_EQ(config->ear_key_files,
            (std::vector<std::string>{"/etc/assay/ear.key", "/old/ear.key"}));
  EXPECT_EQ(config->nodes.mirror, "/etc/assay/models");
  EXPECT_TRUE(config->nodes.dangerous_allow_unmeasured);
  EXPECT_TRUE(config->nodes.dangerous_allow_unregistered);
  EXPECT_EQ(to_json(*parse(to_json(*config))), to_json(*config));
  EXPECT_EQ(to_json(*config)["nodes"]["spot_checks"], 3);
}

TEST(Config, Plugins_AreReadAndPrinted) {
  Json json = minimal();
  const std::string pin = "sha256:" + std::string(64, 'a');
  json["attestation"]["plugins"] = {{{"type", "snp"},
                                     {"media_type", "application/vnd.example.snp"},
                                     {"path", "snp.so"},
                                     {"sha256", pin},
                                     {"deadline_ms", 500}}};
  json["attestation"]["plugin_host"] = "host";
  const auto config = parse(json);
  ASSERT_TRUE(config) << to_string(config.error());
  ASSERT_EQ(config->plugins.size(), 1U);
  EXPECT_EQ(config->plugins[0].path, "/etc/assay/snp.so");
  EXPECT_EQ(config->plugins[0].deadline, std::chrono::milliseconds(500));
  EXPECT_EQ(config->plugin_host, "/etc/assay/host");
  EXPECT_EQ(to_json(*parse(to_json(*config))), to_json(*config));
  for (const char* member : {"type", "media_type", "path", "sha256"}) {
    Json without = json;
    without["attestation"]["plugins"][0].erase(member);
    EXPECT_EQ(code_of(parse(without)), "schema-violation") << member;
  }
  json["attestation"]["plugins"][0]["sha256"] = std::string(64, 'a');
  EXPECT_EQ(code_of(parse(json)), "schema-violation");
}

TEST(Config, KeyForTwoThings_IsInvalid) {
  for (const char* file : {"service.key", "/keys/log.key", "ear.key"}) {
    Json json = minimal();
    json["attestation"] = {{"ear_key_files", {"ear.key", file}}};
    EXPECT_EQ(code_of(parse(json)), "invalid-config") << file;
  }
}

TEST(Config, AbsentFile_IsUnreadable) {
  EXPECT_EQ(code_of(load_config("/nonexistent/assayd.json")), "file-unreadable");
}

class SecretFiles : public testing::Test {
 protected:
  SecretFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-config-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    config_.passphrase_file = folder_ / "pass";
    config_.admission = AdmissionConfig{{}, true, folder_ / "secret"};
  }
  ~SecretFiles() override { std::filesystem::remove_all(folder_); }

  static void write(const std::string& path, const std::string& text, mode_t mode = 0600) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
  }

  std::filesystem::path folder_;
  Config config_;
};

TEST_F(SecretFiles, Passphrase_IsTheFirstLine) {
  write(config_.passphrase_file, "correct horse\nmore\n");
  EXPECT_EQ(as_text(read_passphrase(config_)->view()), "correct horse");
}

TEST_F(SecretFiles, ReadableByOthers_IsRefused) {
  write(config_.passphrase_file, "correct horse\n", 0640);
  EXPECT_EQ(code_of(read_passphrase(config_)), "key-unusable");
  write(config_.admission->path_secret_file, std::string(32, 'a'), 0604);
  EXPECT_EQ(code_of(read_path_secret(config_)), "invalid-config");
}

TEST_F(SecretFiles, PathSecret_IsLongAndPlain) {
  const std::string& path = config_.admission->path_secret_file;
  write(path, std::string(32, 'a') + "\n");
  EXPECT_EQ(read_path_secret(config_), std::string(32, 'a'));
  for (const std::string& secret :
       {std::string(31, 'a'), std::string(129, 'a'), std::string(32, '/'), std::string()}) {
    write(path, secret);
    EXPECT_EQ(code_of(read_path_secret(config_)), "invalid-config");
  }
  config_.admission->secret_path = false;
  EXPECT_EQ(read_path_secret(config_), "");
}

TEST_F(SecretFiles, LogLines_AreJsonObjects) {
  const std::string file = folder_ / "assayd.log";
  const ManualClock clock;
  {
    const auto log = Log::open(LogLevel::kInfo, file, clock);
    ASSERT_TRUE(log);
    (*log)->info("request", {{"route", "/a\n{\"level\":\"error\"}"}, {"status", 200}});
    (*log)->write(LogLevel::kDebug, "quiet");
    (*log)->error("defect", {{"what", "\xFF%s{}"}});
  }
  std::ifstream in(file);
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(Json::parse(line));
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["time"], to_rfc3339(clock.now()));
  EXPECT_EQ(lines[0]["event"], "request");
  EXPECT_EQ(lines[0]["level"], "info");
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[1]["level"], "error");
}

TEST(Log, FileThatCannotBeOpened_IsAnError) {
  const ManualClock clock;
  EXPECT_EQ(code_of(Log::open(LogLevel::kInfo, "/dev/null/a.log", clock)), "file-unreadable");
}

// Threads that wait for others never are all of them.
TEST(ThreadShares, OneThreadAtLeast_StaysFree) {
  for (std::size_t threads = 2; threads <= 256; ++threads) {
    for (const bool has_plugins : {false, true}) {
      const ThreadShares shares = thread_shares(threads, has_plugins);
      EXPECT_LT(shares.plugins + shares.jobs, threads) << threads;
      EXPECT_EQ(shares.plugins > 0, has_plugins);
      EXPECT_LE(shares.plugins, kMaxPluginCalls);
    }
  }
  EXPECT_EQ(thread_shares(8, false).jobs, 4U);
  EXPECT_EQ(thread_shares(8, true).jobs, 3U);
  EXPECT_EQ(thread_shares(1, true).jobs, 0U);
}

}  // namespace
}  // namespace assay::server
