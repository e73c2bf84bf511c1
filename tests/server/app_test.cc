// SPDX-License-Identifier: Apache-2.0
// The whole program in one process: init, start, requests over TLS, metrics, stop, start again.

#include <atomic>
#include <filesystem>
#include <latch>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

#include "attestation/dsse.h"
#include "attestation/keys.h"
#include "schemas/enrolment.h"
#include "schemas/trust.h"
#include "server/admission_principals.h"
#include "server/check.h"
#include "server/http/self_signed.h"
#include "server/http/tls.h"
#include "server/init.h"
#include "server/rotate.h"
#include "tests/server/app_fixture.h"
#include "tests/support/folder_events.h"
#include "tests/support/manual_clock.h"
#include "tests/support/tls_client.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using test::code_of;

TEST_F(AppTest, ClockBehindTheLog_IsHeldAndTold) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  const ManualClock back(clock_.now() - std::chrono::hours(1));
  auto app = App::start(config_, back, random_, *log_);
  ASSERT_TRUE(app) << to_string(app.error());
  (*app)->stop();
  const std::string text = log_text();
  EXPECT_NE(text.find("clock_set_back"), std::string::npos) << text;
}

TEST_F(AppTest, ClockBehindTheLastWriteAtStart_IsNotReady_AndDecidesNothing) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  ManualClock wall(clock_.now() - std::chrono::hours(1));
  auto app = App::start(config_, wall, random_, *log_);
  ASSERT_TRUE(app) << to_string(app.error());
  app_ = *std::move(app);
  const auto answer = ask("/readyz");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_NE(answer->body.find("clock-behind: "), std::string::npos) << answer->body;
  EXPECT_EQ(ask("/livez")->status, 200);
  const auto metrics = ask("/metrics", "Authorization: Bearer assay_root\r\n");
  EXPECT_NE(metrics->body.find("\nclock_known 0"), std::string::npos);
  EXPECT_NE(metrics->body.find("\nclock_behind_seconds 3"), std::string::npos) << metrics->body;
  wall.advance(std::chrono::hours(2));
  EXPECT_EQ(ask("/readyz")->status, 200);
  app_.reset();  // before its clock
}

// The wall clock was ahead when something was written, and was set right while the service ran.
TEST_F(AppTest, ClockSetRightWhileRunning_NoRestartWaits_AndSettingItBackIsStillNoticed) {
  ManualClock wall(clock_.now() + std::chrono::hours(1));
  ASSERT_TRUE(initialise(config_, bootstrap_document(), wall, random_));
  const auto restart = [&] {
    app_.reset();
    auto app = App::start(config_, wall, random_, *log_);
    ASSERT_TRUE(app) << to_string(app.error());
    app_ = *std::move(app);
  };
  restart();
  wall.advance(-std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask("/readyz")->status, 200) << i;
    restart();
  }
  // Another program that opens the store leaves that as it is.
  app_.reset();
  ASSERT_TRUE(rotate_key(config_, attestation::RotatedKind::kService, folder_ / "next.key", wall));
  config_.service_key_file = folder_ / "next.key";
  restart();
  EXPECT_EQ(ask("/readyz")->status, 200);
  app_.reset();
  wall.advance(-std::chrono::minutes(1));
  for (int i = 0; i < 3; ++i) {
    restart();
    EXPECT_EQ(ask("/readyz")->status, 503) << i;
  }
  app_.reset();  // before its clock
}

// What was written keeps its time: a restore does not make what is old fresh again.
TEST_F(AppTest, RestoredWhereTheClockIsBehind_IsNotReady_AndDecidesNothing) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  const auto database = folder_ / "data/assay.db";
  std::filesystem::copy_file(database, folder_ / "old.db");
  ASSERT_TRUE(
      rotate_key(config_, attestation::RotatedKind::kService, folder_ / "lost.key", clock_));
  std::filesystem::copy_file(folder_ / "old.db", database,
                             std::filesystem::copy_options::overwrite_existing);
  Json json = configuration();
  json["log"]["origin"] = "example.com/log/2";
  config_ = parse_config(json.dump(), folder_).value();
  ManualClock wall(clock_.now() - std::chrono::hours(1));
  const auto restored = restore_installation(config_, wall, true);
  ASSERT_TRUE(restored) << to_string(restored.error());
  EXPECT_TRUE(restored->needed && restored->done);
  auto app = App::start(config_, wall, random_, *log_);
  ASSERT_TRUE(app) << to_string(app.error());
  app_ = *std::move(app);
  const auto answer = ask("/readyz");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_NE(answer->body.find("clock-behind: "), std::string::npos) << answer->body;
  wall.advance(std::chrono::hours(2));
  EXPECT_EQ(ask("/readyz")->status, 200);
  app_.reset();  // before its clock
}

// The keys of a service are those that its log names.
TEST_F(AppTest, KeysThatWereSwappedInTheConfiguration_AreRefusedAtStart) {
  config_.ear_key_files = {folder_ / "keys/ear.key"};
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  const auto swapped = [&](const char* name, SignatureAlgorithm algorithm) {
    const auto key = attestation::generate_key(algorithm).value();
    const std::string path = folder_ / name;
    EXPECT_TRUE(attestation::save_private_key(*key, path, {}));
    return path;
  };
  const auto refusal = [&](const Config& config) {
    const auto app = App::start(config, clock_, random_, *log_);
    EXPECT_FALSE(app);
    return app ? std::string() : to_string(app.error());
  };
  Config other = config_;
  other.service_key_file = swapped("other-service.key", SignatureAlgorithm::kEd25519);
  std::string why = refusal(other);
  EXPECT_TRUE(why.starts_with("invalid-config")) << why;
  EXPECT_NE(why.find("assayd rotate service"), std::string::npos) << why;
  other = config_;
  other.log_key_file = swapped("other-log.key", SignatureAlgorithm::kEd25519);
  why = refusal(other);
  EXPECT_TRUE(why.starts_with("invalid-config")) << why;
  other = config_;
  other.ear_key_files = {swapped("other-ear.key", SignatureAlgorithm::kEcdsaP256)};
  why = refusal(other);
  EXPECT_TRUE(why.starts_with("invalid-config")) << why;
  EXPECT_NE(why.find("assayd rotate ear"), std::string::npos) << why;
  other.ear_key_files.clear();
  EXPECT_TRUE(refusal(other).starts_with("invalid-config")) << "none is another one, too";
  start_app();
}

// Results of appraisals are signed from some day on: the log names that key, and holds on to it.
TEST_F(AppTest, KeyThatIsConfiguredLater_IsNamedOnce) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  const auto key = attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value();
  const std::string path = folder_ / "keys/ear.key";
  ASSERT_TRUE(attestation::save_private_key(*key, path, {}));
  config_.ear_key_files = {path};
  start_app();
  app_.reset();
  start_app();
  const auto events =
      ask("/v1/audit/events?type=key.named", "Authorization: Bearer assay_root\r\n");
  ASSERT_EQ(events->status, 200);
  const Json items = parse_json(as_bytes(events->body)).value()["items"];
  ASSERT_EQ(items.size(), 2U) << "one a kind: " << items.dump();
}

TEST_F(AppTest, Init_MakesEverythingOnce) {
  const auto report = initialise(config_, bootstrap_document(), clock_, random_);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->created.size(), 6U) << "with FILE.vkey";
  EXPECT_TRUE(report->log_verifier_key.starts_with("example.com/log+"));
  EXPECT_EQ(report->certificate_pin, certificate_pin(config_.certificate_file)->text());
  for (const std::string& secret :
       {config_.log_key_file, config_.service_key_file, config_.private_key_file}) {
    struct stat facts{};
    ASSERT_EQ(::stat(secret.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U) << secret;
  }
  EXPECT_EQ(code_of(initialise(config_, bootstrap_document(), clock_, random_)), "conflict");
}

TEST_F(AppTest, Init_WrongDocumentMakesNothing) {
  EXPECT_EQ(code_of(initialise(config_, as_bytes("{}"), clock_, random_)), "schema-violation");
  EXPECT_FALSE(std::filesystem::exists(config_.log_key_file));
}

TEST_F(AppTest, Init_HalfACertificateIsAnError) {
  std::filesystem::create_directory(folder_ / "tls");
  write("tls/tls.crt", "x");
  EXPECT_EQ(code_of(initialise(config_, bootstrap_document(), clock_, random_)), "invalid-config");
}

TEST_F(AppTest, Start_WithoutInitIsAnError) {
  EXPECT_FALSE(App::start(config_, clock_, random_, *log_));
}

TEST_F(AppTest, Service_AnswersOnBothListeners) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  start_app();
  const Json ready = Json::parse(test::read_file(config_.ready_file));
  EXPECT_EQ(ready["api_port"], app_->port(Listener::kApi));
  EXPECT_EQ(ready["admission_port"], app_->port(Listener::kAdmission));
  EXPECT_EQ(ask("/livez")->body, "ok\n");
  EXPECT_EQ(ask("/readyz")->status, 200) << "probes have no credential";
  const std::string fields = "Content-Type: application/json\r\n";
  EXPECT_EQ(
      ask("/" + secret_ + "/v1/admission/validate", fields, Listener::kAdmission, "{}")->status,
      400);
  EXPECT_EQ(ask("/v1/admission/validate", fields, Listener::kAdmission, "{}")->status, 404);
  const Json keys = Json::parse(ask("/.well-known/jwks.json")->body);
  EXPECT_EQ(keys["keys"][0]["crv"], "Ed25519");
}

class WaitingWorker : public AppTest {
 protected:
  WaitingWorker() {
    Json json = configuration();
    json["nodes"] = {{"dangerous_allow_unmeasured", true}};
    config_ = parse_config(json.dump(), folder_).value();
    Bootstrap start = parse_bootstrap(bootstrap_document()).value();
    start.principals.push_back({"agent",
                                {AccessRole::kWorker},
                                {{CredentialKind::kToken, sha256(as_bytes("assay_agent"))}},
                                {}});
    start.registrations = {{"gpu-1", "gpu-1", "agent", {}, 1, {}}};
    EXPECT_TRUE(initialise(config_, as_bytes(to_json(start).dump()), clock_, random_));
    start_app();
  }

  std::optional<HttpAnswer> post(const std::string& target, const std::string& body) {
    TlsClient client({.port = app_->port(Listener::kApi)});
    EXPECT_TRUE(client.handshake());
    return client.exchange("POST " + target +
                           " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer assay_agent\r\n" +
                           (body.empty() ? "" : "Content-Type: application/json\r\n") +
                           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  void enrol() {
    const Json challenge =
        Json::parse(post("/v1/challenges", R"({"purpose":"enrol","node":"gpu-1"})").value().body);
    const auto key = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
    const Enrolment made{{challenge["audience"], "gpu-1", {}},
                         parse_nonce(challenge["nonce"].get<std::string>()).value(),
                         key->public_key(),
                         {},
                         {}};
    const Signer* const signers[] = {key.get()};
    const std::string payload = canonical_json(to_json(made)).value();
    const auto envelope =
        attestation::sign_envelope(kEnrolmentPayloadType, as_bytes(payload), signers).value();
    ASSERT_EQ(post("/v1/nodes", attestation::encode_envelope(envelope)).value().status, 201);
  }
};

TEST_F(WaitingWorker, Stop_AnswersItAtOnce) {
  enrol();
  // Two ask; there is room for one to wait (half of the threads), and the other hears so. Then the
  // first one certainly waits.
  std::latch turned_away(1);
  std::atomic<int> answered = 0;
  const auto ask_for_job = [&] {
    const auto answer = post("/v1/nodes/gpu-1/lease?wait=25", "");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 204);
    EXPECT_EQ(answer->header("retry-after"), "1");
    if (answered++ == 0) {
      turned_away.count_down();
    }
  };
  std::thread first(ask_for_job);
  std::thread second(ask_for_job);
  turned_away.wait();
  EXPECT_EQ(answered, 1);
  app_->stop();
  first.join();
  second.join();
  EXPECT_EQ(answered, 2);
}

// Configures these files, the first in use.
class EarKeys : public AppTest {
 protected:
  void use(const Json& files) {
    Json json = configuration();
    json["attestation"] = {{"ear_key_files", files}};
    config_ = parse_config(json.dump(), folder_).value();
  }
  Json published() {
    start_app();
    Json keys = Json::parse(ask("/.well-known/jwks.json")->body)["keys"];
    app_.reset();
    return keys;
  }
};

TEST_F(EarKeys, Init_MakesTheFirst) {
  use({"keys/ear.key"});
  const auto report = initialise(config_, bootstrap_document(), clock_, random_);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->created.size(), 7U);
  const Json keys = published();
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[1]["alg"], "ES256");
  EXPECT_EQ(keys[1]["crv"], "P-256");
  EXPECT_EQ(keys[1]["kid"], report->ear_key_id);
}

TEST_F(EarKeys, Rotation_KeepsTheOlderOnePublished) {
  use({"keys/ear.key"});
  const auto report = initialise(config_, bootstrap_document(), clock_, random_);
  ASSERT_TRUE(report) << to_string(report.error());
  const auto rotated =
      rotate_key(config_, attestation::RotatedKind::kEar, folder_ / "keys/next.key", clock_);
  ASSERT_TRUE(rotated) << to_string(rotated.error());
  use({"keys/next.key", "keys/ear.key"});
  const Json keys = published();
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[1]["kid"], rotated->new_key_id);
  EXPECT_EQ(keys[2]["kid"], report->ear_key_id);
}

TEST_F(EarKeys, OtherAlgorithm_DoesNotStart) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  const auto wrong = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
  ASSERT_TRUE(attestation::save_private_key(*wrong, folder_ / "keys/wrong.key", {}));
  use({"keys/wrong.key"});
  EXPECT_EQ(code_of(App::start(config_, clock_, random_, *log_)), "unsupported-key");
}

TEST_F(AppTest, AdmissionByCertificate_TakesThePinnedKeyOnly) {
  for (const char* name : {"webhook", "other"}) {
    const std::string base = (folder_ / name).string();
    ASSERT_TRUE(make_self_signed({base + ".crt", base + ".key", "127.0.0.1", clock_.now()}));
  }
  Bootstrap start = parse_bootstrap(bootstrap_document()).value();
  const Digest pin = certificate_pin(folder_ / "webhook.crt").value();
  start.principals.push_back(
      {"webhook", {AccessRole::kAdmission}, {{CredentialKind::kClientCertificate, pin}}, {}});
  Json json = configuration();
  json["admission"] = {{"port", 0}, {"client_auth", "required"}};
  config_ = parse_config(json.dump(), folder_).value();
  ASSERT_TRUE(initialise(config_, as_bytes(to_json(start).dump()), clock_, random_));
  start_app();
  const auto status = [this](const std::string& name) {
    TlsClientOptions options;
    options.port = app_->port(Listener::kAdmission);
    if (!name.empty()) {
      options.certificate_file = folder_ / (name + ".crt");
      options.private_key_file = folder_ / (name + ".key");
    }
    TlsClient client(options);
    EXPECT_TRUE(client.handshake());
    const auto answer = client.exchange(
        "POST /v1/admission/validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        "Content-Length: 2\r\n\r\n{}");
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status("webhook"), 400);  // it may ask; this is no review
  EXPECT_EQ(status("other"), 401);
  EXPECT_EQ(status(""), 0);
}

// API servers that were set up with the role of orchestrators are named, and stay out.
TEST_F(AppTest, DeciderWithACertificate_IsNamedAtTheStart) {
  const std::string base = (folder_ / "old").string();
  ASSERT_TRUE(make_self_signed({base + ".crt", base + ".key", "127.0.0.1", clock_.now()}));
  const Digest pin = certificate_pin(folder_ / "old.crt").value();
  Bootstrap start = parse_bootstrap(bootstrap_document()).value();
  start.principals.push_back(
      {"old-apiserver", {AccessRole::kDecider}, {{CredentialKind::kClientCertificate, pin}}, {}});
  start.principals.push_back({"orchestrator",
                              {AccessRole::kDecider},
                              {{CredentialKind::kToken, sha256(as_bytes("assay_o"))}},
                              {}});
  Json json = configuration();
  json["admission"] = {{"port", 0}, {"client_auth", "required"}};
  config_ = parse_config(json.dump(), folder_).value();
  ASSERT_TRUE(initialise(config_, as_bytes(to_json(start).dump()), clock_, random_));
  start_app();
  TlsClient client({.port = app_->port(Listener::kAdmission),
                    .certificate_file = folder_ / "old.crt",
                    .private_key_file = folder_ / "old.key"});
  ASSERT_TRUE(client.handshake());
  const auto answer = client.exchange(
      "POST /v1/admission/validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\n\r\n{}");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 403);
  const std::string lines = log_text();
  const std::size_t line = lines.find("admission_role_missing");
  ASSERT_NE(line, std::string::npos) << lines;
  EXPECT_NE(lines.find(R"(["old-apiserver"])", line), std::string::npos) << lines;
  EXPECT_NE(lines.find("admission_unused"), std::string::npos) << lines;
}

TEST(AdmissionPrincipals, OnlyDecidersWithACertificateAndWithoutTheRole_AreMissingIt) {
  const Credential certificate{CredentialKind::kClientCertificate, sha256(as_bytes("a"))};
  const Credential token{CredentialKind::kToken, sha256(as_bytes("b"))};
  const AdmissionPrincipals found =
      admission_principals({{"new", {AccessRole::kAdmission}, {certificate}, {}},
                            {"both", {AccessRole::kAdmission, AccessRole::kDecider}, {token}, {}},
                            {"old", {AccessRole::kDecider}, {token, certificate}, {}},
                            {"orchestrator", {AccessRole::kDecider}, {token}, {}},
                            {"desk", {AccessRole::kReader}, {certificate}, {}}});
  EXPECT_EQ(found.with_role, (std::vector<std::string>{"new", "both"}));
  EXPECT_EQ(found.deciders_without_it, std::vector<std::string>{"old"});
}

TEST_F(AppTest, WhatNoPolicySelects_IsOneRecordAtTheEnd) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  start_app();
  const std::string pod =
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
      R"("kind":{"group":"","version":"v1","kind":"Pod"},"namespace":"tools","name":"p",)"
      R"("operation":"CREATE","object":{"metadata":{"name":"p"},)"
      R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})";
  for (int i = 0; i < 5; ++i) {
    const auto answer = ask("/" + secret_ + "/v1/admission/validate",
                            "Content-Type: application/json\r\n", Listener::kAdmission, pod);
    ASSERT_TRUE(answer);
    EXPECT_NE(answer->body.find(R"("allowed":true)"), std::string::npos) << answer->body;
  }
  app_.reset();
  start_app();
  const auto events =
      ask("/v1/audit/events?type=admission.", "Authorization: Bearer assay_root\r\n");
  ASSERT_TRUE(events);
  const Json items = Json::parse(events->body)["items"];
  ASSERT_GE(items.size(), 1U);
  std::uint64_t count = 0;
  for (const Json& item : items) {
    count += item["detail"]["count"].get<std::uint64_t>();
    EXPECT_EQ(item["detail"]["groups"][0]["cluster"], "admission-webhook");
  }
  EXPECT_EQ(count, 5U);
}

TEST_F(AppTest, Metrics_CountByTemplate) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  start_app();
  ask("/livez");
  ask("/nothing/here");
  const auto answer = ask("/metrics", "Authorization: Bearer assay_root\r\n");
  ASSERT_EQ(answer->status, 200);
  for (const char* line :
       {"http_requests_total{code=\"200\",method=\"GET\",route=\"/livez\"} 1",
        "http_requests_total{code=\"404\",method=\"GET\",route=\"-\"} 1",
        "http_problems_total{code=\"not-found\"} 1",
        "http_request_duration_seconds_bucket{route=\"/livez\",le=\"0.001\"}",
        "http_request_duration_seconds_bucket{route=\"/livez\",le=\"30\"} 1", "log_entries_total 2",
        "decisions_total{verdict=\"allow\"} 0", "build_info{version="}) {
    EXPECT_NE(answer->body.find(line), std::string::npos) << line << "\n" << answer->body;
  }
  EXPECT_EQ(answer->body.find("nothing"), std::string::npos);
}

TEST_F(AppTest, StopAndStart_KeepsTheLog) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  start_app();
  const std::string note = ask("/log/checkpoint")->body;
  app_->stop();
  EXPECT_FALSE(std::filesystem::exists(config_.ready_file));
  app_.reset();
  start_app();
  EXPECT_EQ(ask("/log/checkpoint")->body, note);
  EXPECT_EQ(ask("/metrics", "Authorization: Bearer assay_root\r\n")->status, 200);
  app_->stop();  // the line of a request comes after its answer
  const std::string log = log_text();
  for (const char* event : {"\"event\":\"started\"", "\"event\":\"request\"",
                            "\"event\":\"stopping\"", "\"event\":\"stopped\""}) {
    EXPECT_NE(log.find(event), std::string::npos) << event;
  }
  EXPECT_EQ(log.find("assay_root"), std::string::npos);
}

TEST_F(AppTest, ReadyFileThatCannotBeWritten_StopsNoStart_AndIsWrittenLater) {
  ASSERT_TRUE(initialise(config_, bootstrap_document(), clock_, random_));
  // As a full disk does: the new file is not made, and the one of a crashed run is still there.
  std::filesystem::create_directory(config_.ready_file + ".new");
  write("ready.json", R"({"api_port":1})");
  start_app();
  EXPECT_EQ(ask("/livez")->status, 200);
  EXPECT_FALSE(std::filesystem::exists(config_.ready_file)) << "it names a port of an earlier run";
  const auto told = [&](const std::string& event) {
    return log_text().find("\"event\":\"" + event + "\"") != std::string::npos;
  };
  EXPECT_TRUE(told("ready_file_waiting"));
  const test::FolderEvents events(folder_);
  std::filesystem::remove(config_.ready_file + ".new");
  ASSERT_TRUE(events.await([&] { return told("ready_file_written"); }));
  const Json ready = Json::parse(test::read_file(config_.ready_file));
  EXPECT_EQ(ready["api_port"], app_->port(Listener::kApi));
}

TEST_F(AppTest, SelfSigned_NeverOverwrites) {
  const SelfSignedOptions options{folder_ / "a.crt", folder_ / "a.key", "10.0.0.1", clock_.now()};
  ASSERT_TRUE(make_self_signed(options));
  const auto pin = certificate_pin(options.certificate_file);
  EXPECT_EQ(code_of(make_self_signed(options)), "file-unreadable");
  EXPECT_EQ(certificate_pin(options.certificate_file)->hex(), pin->hex());
}

}  // namespace
}  // namespace assay::server
