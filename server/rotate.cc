// SPDX-License-Identifier: Apache-2.0
// Rotation of keys: the record under the old key, and for the log both signatures on its
// checkpoint.
#include "server/rotate.h"

#include <algorithm>
#include <array>
#include <optional>

#include "attestation/keys.h"
#include "attestation/pkcs11/token_signer.h"
#include "schemas/checkpoint.h"
#include "server/hold_time.h"
#include "server/init.h"
#include "server/key_history.h"
#include "storage/durable_file.h"
#include "storage/handover.h"

namespace assay::server {
namespace {

using attestation::KeyRotation;
using attestation::RotatedKind;
using SignerHandle = std::unique_ptr<Signer>;

constexpr std::array kKinds = {RotatedKind::kService, RotatedKind::kLog, RotatedKind::kEar};

struct Keys {
  std::array<SignerHandle, kKinds.size()> current;  // of each kind; EAR may have none
  std::vector<SignerHandle> more_ear;               // configured behind the first
  SignerHandle next;

  [[nodiscard]] const Signer* of(RotatedKind kind) const {
    return current.at(static_cast<std::size_t>(kind)).get();
  }
};

struct Rotation {
  const Config& config;
  RotatedKind kind;
  storage::SqliteOptions store;
  Keys keys;
};

Result<Keys> load_keys(const Config& config, const SecretBytes& passphrase) {
  Keys keys;
  ASSAY_ASSIGN(keys.current[0],
               attestation::pkcs11::load_signing_key(config.service_key_file, passphrase));
  ASSAY_ASSIGN(keys.current[1], attestation::load_private_key(config.log_key_file, passphrase));
  for (const std::string& file : config.ear_key_files) {
    ASSAY_ASSIGN(SignerHandle key, attestation::load_private_key(file, passphrase));
    if (keys.current[2] == nullptr) {
      keys.current[2] = std::move(key);
    } else {
      keys.more_ear.push_back(std::move(key));
    }
  }
  return keys;
}

// A key has one purpose, and comes once.
Status check_new_key(const Rotation& rotation, const std::vector<RotatedKey>& known,
                     bool interrupted) {
  const Signer& next = *rotation.keys.next;
  // Readers of decisions take the algorithm from the key set. The log and attestation results have
  // one algorithm each.
  if (rotation.kind != RotatedKind::kService &&
      next.algorithm() != rotation.keys.of(rotation.kind)->algorithm()) {
    return fail(ErrorCode::kUnsupportedKey, "the new key is of another algorithm than the old one");
  }
  bool used = std::ranges::any_of(rotation.keys.current, [&](const SignerHandle& key) {
    return key != nullptr && key->key_id() == next.key_id();
  });
  used = used || std::ranges::any_of(rotation.keys.more_ear, [&](const SignerHandle& key) {
           return key->key_id() == next.key_id();
         });
  used = used || (!interrupted && std::ranges::any_of(known, [&](const RotatedKey& key) {
           return key.rotation.old_key == next.public_key() ||
                  key.rotation.new_key == next.public_key();
         }));
  return used ? fail(ErrorCode::kKeyNotUnique, "the new key is or was a key of this service")
              : Status();
}

// The same rotation was entered before, and nothing came of it yet.
bool was_interrupted(const Rotation& rotation, const std::vector<RotatedKey>& known) {
  const RotatedKey* newest = newest_of(known, rotation.kind);
  return newest != nullptr &&
         newest->rotation.old_key == rotation.keys.of(rotation.kind)->public_key() &&
         newest->rotation.new_key == rotation.keys.next->public_key();
}

Result<RotatedKey> enter(storage::Store& store, const Rotation& rotation) {
  std::optional<RotatedKey> entered;
  const auto work = [&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(const storage::LogState log, transaction.log_state());
    ASSAY_ASSIGN(KeyRotation made,
                 attestation::sign_rotation(rotation.kind, rotation.config.log_origin, log.size,
                                            *rotation.keys.of(rotation.kind), *rotation.keys.next));
    ASSAY_TRY(transaction.append({.type = std::string(event::kKeyRotated),
                                  .time = transaction.now(),
                                  .actor = "system",
                                  .subjects = {rotation.keys.of(rotation.kind)->key_id().text(),
                                               rotation.keys.next->key_id().text()},
                                  .documents = {},
                                  .detail = attestation::to_json(made)}));
    entered = RotatedKey{std::move(made), log.size, transaction.now()};
    return {};
  };
  ASSAY_TRY(store.write(work));
  return *std::move(entered);
}

// Opens the store for as long as the record takes.
Result<RotatedKey> enter_once(const Rotation& rotation, HeldClock& clock) {
  ASSAY_ASSIGN(const auto store,
               storage::open_sqlite(rotation.store, *rotation.keys.of(RotatedKind::kLog), clock));
  ASSAY_TRY(hold_time(clock, *store, rotation.store, *rotation.keys.of(RotatedKind::kLog)));
  KeyHistory history;
  TreeSize size = 0;
  {
    ASSAY_ASSIGN(const auto snapshot, store->snapshot());
    ASSAY_ASSIGN(history, read_key_history(*snapshot, rotation.config.log_origin));
    ASSAY_ASSIGN(const storage::LogState log, snapshot->log_state());
    size = log.size;
  }
  const std::vector<RotatedKey>& known = history.rotations;
  const bool interrupted = was_interrupted(rotation, known);
  ASSAY_TRY(check_new_key(rotation, known, interrupted));
  for (const RotatedKind kind : kKinds) {
    if (kind != rotation.kind || !interrupted) {
      ASSAY_TRY(check_current(history, kind, rotation.keys.of(kind)));
    }
  }
  if (!interrupted) {
    return enter(*store, rotation);
  }
  const RotatedKey& newest = *newest_of(known, rotation.kind);
  if (rotation.kind == RotatedKind::kLog && newest.index + 1 != size) {
    return fail(ErrorCode::kLogInconsistent, "the log went on after its key was replaced");
  }
  return newest;
}

}  // namespace

Json to_json(const RotateReport& report) {
  Json json = {{"kind", attestation::name(report.kind)},
               {"old_key_id", report.old_key_id},
               {"new_key_id", report.new_key_id},
               {"new_key_file", report.new_key_file},
               {"record", report.record},
               {"time", to_rfc3339(report.time)}};
  if (!report.verifier_key.empty()) {
    json["log_verifier_key"] = report.verifier_key;
  }
  return json;
}

Result<RotateReport> rotate_key(const Config& config, RotatedKind kind,
                                const std::string& new_key_file, const Clock& clock) {
  ASSAY_ASSIGN(const SecretBytes passphrase, read_passphrase(config));
  ASSAY_ASSIGN(Keys keys, load_keys(config, passphrase));
  Rotation rotation{config, kind, store_options(config), std::move(keys)};
  const Signer* const old_key = rotation.keys.of(kind);
  if (old_key == nullptr) {
    return fail(ErrorCode::kInvalidConfig, "there is no such key to replace",
                "/attestation/ear_key_files");
  }
  std::vector<std::string> created;
  ASSAY_ASSIGN(rotation.keys.next, key_at(new_key_file, old_key->algorithm(), passphrase, created));
  HeldClock held(clock);
  rotation.store.wall = [&held] { return held.wall(); };
  ASSAY_ASSIGN(const RotatedKey entered, enter_once(rotation, held));
  const Signer& next = *rotation.keys.next;
  RotateReport report{.kind = kind,
                      .old_key_id = old_key->key_id().text(),
                      .new_key_id = next.key_id().text(),
                      .new_key_file = new_key_file,
                      .verifier_key = {},
                      .record = entered.index,
                      .time = entered.time,
                      .made = !created.empty()};
  if (kind == RotatedKind::kLog) {
    ASSAY_TRY(storage::add_log_signature(rotation.store, *old_key, next));
    ASSAY_ASSIGN(report.verifier_key, note_verifier_key(config.log_origin, next.public_key()));
    ASSAY_TRY(storage::replace_file(new_key_file + ".vkey", as_bytes(report.verifier_key + "\n")));
  }
  return report;
}

}  // namespace assay::server
