// SPDX-License-Identifier: Apache-2.0
#include "server/check.h"

#include "attestation/keys.h"
#include "server/service/jobs/precedence.h"
#include "server/service/upkeep/rebuild.h"

namespace assay::server {
namespace {

storage::SqliteOptions existing_store(const Config& config) {
  storage::SqliteOptions options;
  options.rules = &kReportRules;
  options.path = config.store_path;
  options.origin = config.log_origin;
  options.anchor_path = config.anchor_file;
  return options;
}

Result<std::unique_ptr<Signer>> log_signer_of(const Config& config) {
  ASSAY_ASSIGN(const SecretBytes passphrase, read_passphrase(config));
  return attestation::load_private_key(config.log_key_file, passphrase);
}

}  // namespace

Result<std::vector<Finding>> check_installation(const Config& config, const Clock& clock, bool deep,
                                                const storage::Progress& progress) {
  ASSAY_ASSIGN(const auto log_signer, log_signer_of(config));
  ASSAY_ASSIGN(const auto inspection,
               storage::Inspection::open(existing_store(config), *log_signer, clock));
  ASSAY_ASSIGN(const auto damages, inspection->find(deep, progress));
  std::vector<Finding> findings;
  for (const storage::Damage& damage : damages) {
    findings.push_back({damage.check, damage.id, damage.detail});
  }
  const auto snapshot = inspection->snapshot();
  if (!snapshot) {
    return findings.empty() ? Result<std::vector<Finding>>(std::unexpected(snapshot.error()))
                            : findings;
  }
  // On damaged rows it stops where they are; those were found above.
  const auto more = check_store(**snapshot, deep);
  if (more) {
    findings.insert(findings.end(), more->begin(), more->end());
  } else if (findings.empty()) {
    return std::unexpected(more.error());
  }
  return findings;
}

Result<storage::Repaired> repair_installation(const Config& config,
                                              const storage::Progress& progress) {
  ASSAY_ASSIGN(const auto log_signer, log_signer_of(config));
  return storage::repair_sqlite(existing_store(config), *log_signer,
                                {rebuild_statement, rebuild_decision, rebuild_node, rebuild_job},
                                progress);
}

Json to_json(const storage::Repaired& repaired) {
  return {{"made", repaired.made}, {"dropped", repaired.dropped}};
}

Result<storage::Backup> back_up_installation(const Config& config, const Clock& clock,
                                             const std::string& to,
                                             const storage::Progress& progress) {
  ASSAY_ASSIGN(const auto log_signer, log_signer_of(config));
  return storage::back_up_sqlite(existing_store(config), *log_signer, clock, to, progress);
}

Json to_json(const storage::Backup& backup) {
  return {{"size", backup.size}, {"bytes", backup.bytes}};
}

Status put_back_installation(const Config& config, const Clock& clock, const std::string& from,
                             const storage::Progress& progress) {
  ASSAY_ASSIGN(const auto log_signer, log_signer_of(config));
  return storage::put_back_sqlite(existing_store(config), *log_signer, clock, from, progress);
}

Json to_json(const Restoration& restoration) {
  const storage::Loss& loss = restoration.loss;
  Json json = {{"needed", restoration.needed}, {"done", restoration.done},
               {"origin", loss.origin},        {"size", loss.size},
               {"signed_size", Json()},        {"records_lost", Json()},
               {"differs", loss.differs}};
  if (loss.signed_size) {
    json["signed_size"] = *loss.signed_size;
    json["records_lost"] = *loss.signed_size > loss.size ? *loss.signed_size - loss.size : 0;
  }
  const auto count = [&json](const char* member, const std::optional<std::uint64_t>& lost) {
    json[member] = lost ? Json(*lost) : Json();
  };
  count("revocations_lost", loss.revocations);
  count("trust_changes_lost", loss.trust_changes);
  count("policy_changes_lost", loss.policy_changes);
  return json;
}

Result<Restoration> restore_installation(const Config& config, const Clock& clock,
                                         bool accept_loss) {
  ASSAY_ASSIGN(const auto log_signer, log_signer_of(config));
  const storage::SqliteOptions options = existing_store(config);
  ASSAY_ASSIGN(storage::Loss loss, storage::measure_loss(options, *log_signer));
  const bool lost = !loss.signed_size || *loss.signed_size > loss.size || loss.differs ||
                    loss.revocations.value_or(0) > 0 || loss.trust_changes.value_or(0) > 0 ||
                    loss.policy_changes.value_or(0) > 0;
  const bool needed = loss.entered ? !loss.finished : lost;
  const bool done = loss.finished;
  Restoration restoration{std::move(loss), needed, done};
  if (!needed || !accept_loss) {
    return restoration;
  }
  ASSAY_TRY(storage::restore_sqlite(options, *log_signer, clock));
  restoration.done = true;
  return restoration;
}

}  // namespace assay::server
