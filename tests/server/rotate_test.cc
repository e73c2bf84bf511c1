// SPDX-License-Identifier: Apache-2.0
// Keys that follow one another: who may replace them, what starts afterwards, and what is
// published.
#include "server/rotate.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "attestation/keys.h"
#include "attestation/signed_note.h"
#include "schemas/core/sha.h"
#include "schemas/trust.h"
#include "server/app.h"
#include "server/check.h"
#include "server/init.h"
#include "server/jwks.h"
#include "server/key_history.h"
#include "storage/handover.h"
#include "tests/server/operator_key.h"
#include "tests/support/killed_calls.h"
#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using attestation::RotatedKind;
using test::code_of;

class Rotate : public testing::Test {
 protected:
  Rotate() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-rotate-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    config_ = parse_config(configuration().dump(), folder_).value();
    log_ = Log::open(LogLevel::kInfo, folder_ / "assayd.log", clock_).value();
    Bootstrap start;
    start.keys = {test::operator_key("olga"), test::operator_key("omar")};
    start.principals = {{"root",
                         {AccessRole::kAdmin},
                         {{CredentialKind::kToken, sha256(as_bytes("assay_root"))}},
                         {}}};
    EXPECT_TRUE(initialise(config_, as_bytes(to_json(start).dump()), clock_, random_));
  }
  ~Rotate() override { std::filesystem::remove_all(folder_); }

  static Json configuration() {
    return {{"api", {{"port", 0}}},
            {"tls", {{"certificate_file", "tls.crt"}, {"private_key_file", "tls.key"}}},
            {"store", {{"kind", "sqlite"}, {"path", "assay.db"}}},
            {"anchor_file", "anchor"},
            {"log", {{"origin", "example.com/log"}, {"key_file", "log.key"}}},
            {"service_key_file", "service.key"},
            {"attestation", {{"ear_key_files", {"ear.key"}}}},
            {"limits", {{"worker_threads", 1}}}};
  }
  std::string file(const std::string& name) { return folder_ / name; }
  std::unique_ptr<Signer> key(const std::string& name) {
    return attestation::load_private_key(file(name), {}).value();
  }
  std::unique_ptr<Signer> make_key(const std::string& name, SignatureAlgorithm algorithm) {
    auto made = attestation::generate_key(algorithm).value();
    EXPECT_TRUE(attestation::save_private_key(*made, file(name), {}));
    return made;
  }
  Result<RotateReport> rotate(RotatedKind kind, const std::string& name) {
    return rotate_key(config_, kind, file(name), clock_);
  }
  // What a start says; empty when it starts.
  std::string start(const Config& config) {
    return code_of(App::start(config, clock_, random_, *log_));
  }
  Config with(const Json& patch) {
    Json json = configuration();
    json.merge_patch(patch);
    return parse_config(json.dump(), folder_).value();
  }
  // Something that only the log's key can do.
  template <typename Work>
  void write(const std::string& log_key, const Work& work) {
    const auto signer = key(log_key);
    const auto store = storage::open_sqlite(store_options(config_), *signer, clock_).value();
    ASSERT_TRUE(store->write(work));
  }
  void append(const std::string& log_key, const LogRecord& record) {
    write(log_key, [&](storage::Transaction& transaction) -> Status {
      ASSAY_TRY(transaction.append(record));
      return {};
    });
  }
  std::string newest_note(const std::string& log_key) {
    const auto signer = key(log_key);
    const auto store = storage::open_sqlite(store_options(config_), *signer, clock_).value();
    return store->snapshot().value()->log_state()->note;
  }
  attestation::NoteVerifier verifier(const std::string& log_key) {
    return attestation::parse_verifier_key(
               note_verifier_key("example.com/log", key(log_key)->public_key()).value())
        .value();
  }
  static LogRecord record_of(const attestation::KeyRotation& rotation) {
    return {.type = std::string(event::kKeyRotated),
            .time = {},
            .actor = "system",
            .subjects = {},
            .documents = {},
            .detail = attestation::to_json(rotation)};
  }
  TreeSize log_size() {
    const auto signer = key("log.key");
    const auto store = storage::open_sqlite(store_options(config_), *signer, clock_).value();
    return store->snapshot().value()->log_state()->size;
  }

  std::filesystem::path folder_;
  SystemClock clock_;
  SystemRandom random_;
  Config config_;
  std::unique_ptr<Log> log_;
};

TEST_F(Rotate, ServiceKey_OldOneIsPublishedWithItsEnd) {
  const auto report = rotate(RotatedKind::kService, "service-2.key");
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_TRUE(report->made);
  EXPECT_EQ(start(config_), "invalid-config") << "the old key";
  EXPECT_EQ(start(with({{"service_key_file", "service-2.key"}})), "ok");

  const auto signer = key("log.key");
  const auto store = storage::open_sqlite(store_options(config_), *signer, clock_).value();
  const auto rotations = read_rotations(*store->snapshot().value(), "example.com/log").value();
  const auto fresh = key("service-2.key");
  const std::array<const Signer*, 1> signers = {fresh.get()};
  const Json keys = jwks(signers, rotations).value()["keys"];
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0]["kid"], report->new_key_id);
  EXPECT_FALSE(keys[0].contains("not_after"));
  EXPECT_EQ(keys[1]["kid"], report->old_key_id);
  EXPECT_EQ(keys[1]["not_after"], to_rfc3339(report->time));
}

TEST_F(Rotate, ServiceKey_Again_FollowsTheHeirAlone) {
  ASSERT_TRUE(rotate(RotatedKind::kService, "service-2.key"));
  EXPECT_EQ(code_of(rotate(RotatedKind::kService, "service-3.key")), "invalid-config")
      << "a fork of the chain";
  config_ = with({{"service_key_file", "service-2.key"}});
  EXPECT_EQ(code_of(rotate(RotatedKind::kService, "service.key")), "key-not-unique") << "back";
  ASSERT_TRUE(rotate(RotatedKind::kService, "service-3.key"));
  EXPECT_EQ(start(config_), "invalid-config");
  EXPECT_EQ(start(with({{"service_key_file", "service-3.key"}})), "ok");
}

TEST_F(Rotate, LogKey_BothSignTheCheckpointBetweenAndTheHeirTheRest) {
  const std::string before = newest_note("log.key");
  const auto report = rotate(RotatedKind::kLog, "log-2.key");
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(test::read_file(file("log-2.key.vkey")), report->verifier_key + "\n");
  EXPECT_EQ(start(config_), "invalid-config");

  const std::string between = newest_note("log-2.key");
  EXPECT_TRUE(attestation::verify_checkpoint(before, verifier("log.key")));
  EXPECT_TRUE(attestation::verify_checkpoint(between, verifier("log.key")));
  EXPECT_TRUE(attestation::verify_checkpoint(between, verifier("log-2.key")));
  config_ = with({{"log", {{"key_file", "log-2.key"}}}});
  EXPECT_EQ(start(config_), "ok");
  append("log-2.key",
         {.type = "test.done", .time = {}, .actor = "a", .subjects = {}, .documents = {}});
  const std::string after = newest_note("log-2.key");
  EXPECT_TRUE(attestation::verify_checkpoint(after, verifier("log-2.key")));
  EXPECT_EQ(code_of(attestation::verify_checkpoint(after, verifier("log.key"))),
            "signature-missing");
  EXPECT_EQ(start(config_), "ok");
}

TEST_F(Rotate, EarKey_TheListBeginsWithTheHeir) {
  const auto report = rotate(RotatedKind::kEar, "ear-2.key");
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(start(config_), "invalid-config");
  EXPECT_EQ(start(with({{"attestation", {{"ear_key_files", {"ear.key", "ear-2.key"}}}}})),
            "invalid-config");
  EXPECT_EQ(start(with({{"attestation", {{"ear_key_files", {"ear-2.key"}}}}})), "ok");
  EXPECT_EQ(start(with({{"attestation", {{"ear_key_files", {"ear-2.key", "ear.key"}}}}})), "ok");
}

TEST_F(Rotate, WithoutRotation_AnotherLogKeyDoesNotStart) {
  make_key("mine.key", SignatureAlgorithm::kEd25519);
  EXPECT_EQ(start(with({{"log", {{"key_file", "mine.key"}}}})), "invalid-config");
}

TEST_F(Rotate, WrongKeys_AreRefused) {
  make_key("p256.key", SignatureAlgorithm::kEcdsaP256);
  EXPECT_EQ(code_of(rotate(RotatedKind::kLog, "p256.key")), "unsupported-key");
  EXPECT_EQ(code_of(rotate(RotatedKind::kService, "service.key")), "key-not-unique");
  EXPECT_EQ(code_of(rotate(RotatedKind::kService, "log.key")), "key-not-unique");
  const auto app = App::start(config_, clock_, random_, *log_);
  ASSERT_TRUE(app);
  EXPECT_EQ(code_of(rotate(RotatedKind::kService, "service-2.key")), "unavailable");
}

// As when the key of the service moves into a token, which has no Ed25519 keys.
TEST_F(Rotate, ServiceKeyOfAnotherAlgorithm_FollowsTheOldOne) {
  make_key("p256.key", SignatureAlgorithm::kEcdsaP256);
  EXPECT_EQ(code_of(rotate(RotatedKind::kService, "p256.key")), "ok");
  EXPECT_EQ(start(config_), "invalid-config");
  EXPECT_EQ(start(with({{"service_key_file", "p256.key"}})), "ok");
}

// Whoever has the disk and the log's key, but not the key that is replaced.
TEST_F(Rotate, RecordThatTheOldKeyDidNotSign_DoesNotStart) {
  const auto mine = make_key("mine.key", SignatureAlgorithm::kEd25519);
  attestation::KeyRotation forged =
      attestation::sign_rotation(RotatedKind::kService, "example.com/log", log_size(), *mine, *mine)
          .value();
  forged.old_key = key("service.key")->public_key();
  append("log.key", record_of(forged));
  EXPECT_EQ(start(with({{"service_key_file", "mine.key"}})), "signature-invalid");
  EXPECT_EQ(start(config_), "signature-invalid");
}

// A record that was good at another place of the log, or for another log.
TEST_F(Rotate, RecordOfAnotherPlace_DoesNotStart) {
  const auto mine = make_key("mine.key", SignatureAlgorithm::kEd25519);
  append("log.key", record_of(attestation::sign_rotation(RotatedKind::kService, "example.com/log",
                                                         log_size() + 1, *key("service.key"), *mine)
                                  .value()));
  EXPECT_EQ(start(with({{"service_key_file", "mine.key"}})), "signature-invalid");
}

// A database that had lost records goes on under another name; what was signed keeps the old one.
TEST_F(Rotate, RecordOfBeforeARestoration_IsOfTheNameThatTheLogHadThen) {
  const auto next = make_key("service-2.key", SignatureAlgorithm::kEd25519);
  append("log.key", record_of(attestation::sign_rotation(RotatedKind::kService, "old.example/log",
                                                         log_size(), *key("service.key"), *next)
                                  .value()));
  const Config fresh = with({{"service_key_file", "service-2.key"}});
  EXPECT_EQ(start(fresh), "signature-invalid");
  append("log.key", {.type = "log.reopened",
                     .time = {},
                     .actor = "system",
                     .subjects = {},
                     .documents = {},
                     .detail = {{"previous_origin", "old.example/log"}, {"size", 1}}});
  EXPECT_EQ(start(fresh), "ok");
  EXPECT_EQ(start(config_), "invalid-config");
}

TEST_F(Rotate, InterruptedBehindTheRecord_IsFinishedByDoingItAgain) {
  const auto next = make_key("log-2.key", SignatureAlgorithm::kEd25519);
  append("log.key", record_of(attestation::sign_rotation(RotatedKind::kLog, "example.com/log",
                                                         log_size(), *key("log.key"), *next)
                                  .value()));
  const Config fresh = with({{"log", {{"key_file", "log-2.key"}}}});
  EXPECT_EQ(start(config_), "invalid-config");
  EXPECT_EQ(start(fresh), "invalid-config");
  EXPECT_EQ(code_of(rotate(RotatedKind::kLog, "log-3.key")), "invalid-config");
  ASSERT_TRUE(rotate(RotatedKind::kLog, "log-2.key"));
  EXPECT_EQ(start(fresh), "ok");
  ASSERT_TRUE(rotate(RotatedKind::kLog, "log-2.key")) << "and once more";
  EXPECT_EQ(start(fresh), "ok");
}

// Two keys were replaced, and then the database was lost but for an old copy.
TEST_F(Rotate, RestoreKilledAtEveryStep_TheNextOneFinishes_AndTheHeirsStart) {
  ASSERT_TRUE(rotate(RotatedKind::kService, "service-2.key"));
  config_ = with({{"service_key_file", "service-2.key"}});
  ASSERT_TRUE(rotate(RotatedKind::kLog, "log-2.key"));
  Json heirs = {{"service_key_file", "service-2.key"}, {"log", {{"key_file", "log-2.key"}}}};
  config_ = with(heirs);
  ASSERT_EQ(start(config_), "ok");
  std::filesystem::copy_file(file("assay.db"), file("old.db"));
  append("log-2.key",
         {.type = "test.done", .time = {}, .actor = "a", .subjects = {}, .documents = {}});
  std::filesystem::copy_file(file("anchor"), file("anchor.lost"));
  heirs["log"]["origin"] = "example.com/log/2";
  config_ = with(heirs);
  const auto put_back = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(file(from), file(to),
                               std::filesystem::copy_options::overwrite_existing);
  };
  int calls = 0;
  for (bool killed = true; killed; ++calls) {
    SCOPED_TRACE(calls);
    put_back("old.db", "assay.db");
    put_back("anchor.lost", "anchor");
    std::filesystem::remove(file("assay.db-wal"));
    std::filesystem::remove(file("assay.db-shm"));
    killed = test::killed_at(
        calls, [&] { return restore_installation(config_, clock_, true).has_value(); });
    const auto told = restore_installation(config_, clock_, false).value();
    EXPECT_EQ(told.loss.origin, "example.com/log");
    EXPECT_EQ(told.loss.signed_size, told.loss.size + 1) << "the same loss, whoever is asked";
    EXPECT_EQ(told.needed, !told.loss.finished);
    EXPECT_TRUE(told.loss.finished || killed);
    if (told.needed) {
      EXPECT_NE(start(config_), "ok") << "not before it is finished";
    }
    const auto done = restore_installation(config_, clock_, true);
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_TRUE(done->done);
    EXPECT_EQ(start(config_), "ok");
    EXPECT_EQ(start(with({{"service_key_file", "service-2.key"},
                          {"log", {{"origin", "example.com/log/2"}}}})),
              "invalid-config")
        << "the log key of before is none";
  }
  EXPECT_GT(calls, 10);
}

}  // namespace
}  // namespace assay::server
