// SPDX-License-Identifier: Apache-2.0
#include "server/init.h"

#include <filesystem>

#include "attestation/keys.h"
#include "attestation/pkcs11/token_signer.h"
#include "attestation/pkcs11/uri.h"
#include "schemas/checkpoint.h"
#include "schemas/trust.h"
#include "server/http/self_signed.h"
#include "server/http/tls.h"
#include "server/key_history.h"
#include "server/listeners.h"
#include "server/plugins.h"
#include "server/service/governance/trust.h"
#include "server/service/jobs/precedence.h"
#include "storage/durable_file.h"
#include "storage/store.h"

namespace assay::server {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Status make_folders(const Config& config) {
  std::vector<std::string> paths = {config.store_path,       config.anchor_file,
                                    config.log_key_file,     config.service_key_file,
                                    config.certificate_file, config.private_key_file};
  if (!config.ear_key_files.empty()) {
    paths.push_back(config.ear_key_files.front());
  }
  for (const std::string& path : paths) {
    if (attestation::pkcs11::is_uri(path)) {
      continue;
    }
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
      std::filesystem::create_directories(folder, error);
      if (error) {
        return fail(ErrorCode::kFileUnreadable, "the folder cannot be made", folder.string());
      }
    }
  }
  return {};
}

Status make_certificate(const Config& config, Timestamp now, InitReport& report) {
  const bool has_certificate = exists(config.certificate_file);
  if (has_certificate != exists(config.private_key_file)) {
    return fail(ErrorCode::kInvalidConfig,
                "of the TLS certificate and its key only one is there; add the other, or remove it "
                "to have both made",
                has_certificate ? config.private_key_file : config.certificate_file);
  }
  if (!has_certificate) {
    ASSAY_TRY(make_self_signed(
        {config.certificate_file, config.private_key_file, config.api.address, now}));
    report.created.push_back(config.certificate_file);
    report.created.push_back(config.private_key_file);
  }
  ASSAY_TRY(check_tls_files(config, now));
  ASSAY_ASSIGN(const Digest pin, certificate_pin(config.certificate_file));
  report.certificate_pin = pin.text();
  return {};
}

}  // namespace

Result<std::unique_ptr<Signer>> key_at(const std::string& path, SignatureAlgorithm algorithm,
                                       const SecretBytes& passphrase,
                                       std::vector<std::string>& created) {
  if (attestation::pkcs11::is_uri(path)) {
    return attestation::pkcs11::load_signing_key(path, passphrase);
  }
  if (!exists(path)) {
    ASSAY_ASSIGN(const auto fresh, attestation::generate_key(algorithm));
    ASSAY_TRY(attestation::save_private_key(*fresh, path, passphrase));
    created.push_back(path);
  }
  return attestation::load_private_key(path, passphrase);
}

storage::SqliteOptions store_options(const Config& config) {
  storage::SqliteOptions options;
  options.rules = &kReportRules;
  options.path = config.store_path;
  options.origin = config.log_origin;
  options.readers = config.store_readers;
  options.max_group = config.store_max_group;
  options.anchor_path = config.anchor_file;
  // A service that is not ready gets no write that could find out: a disk with room again shall be
  // seen within a second.
  options.probe_interval = std::chrono::milliseconds(250);
  return options;
}

Json to_json(const InitReport& report) {
  return {{"log_verifier_key", report.log_verifier_key},
          {"service_key_id", report.service_key_id},
          {"ear_key_id", report.ear_key_id},
          {"tls_certificate_pin", report.certificate_pin},
          {"created", report.created}};
}

Result<InitReport> initialise(const Config& config, ByteView document, const Clock& clock,
                              Random& random) {
  // What is wrong with the document should be known before anything is made.
  ASSAY_TRY(parse_bootstrap(document));
  ASSAY_ASSIGN(const attestation::VerifierRegistry verifiers, load_verifiers(config, 0));
  InitReport report;
  ASSAY_TRY(make_folders(config));
  ASSAY_ASSIGN(const SecretBytes passphrase, read_passphrase(config));
  constexpr SignatureAlgorithm kEd25519 = SignatureAlgorithm::kEd25519;
  ASSAY_ASSIGN(const auto log_signer,
               key_at(config.log_key_file, kEd25519, passphrase, report.created));
  ASSAY_ASSIGN(const auto service_signer,
               key_at(config.service_key_file, kEd25519, passphrase, report.created));
  std::unique_ptr<Signer> ear_signer;
  if (!config.ear_key_files.empty()) {
    ASSAY_ASSIGN(ear_signer, key_at(config.ear_key_files.front(), SignatureAlgorithm::kEcdsaP256,
                                    passphrase, report.created));
    report.ear_key_id = ear_signer->key_id().text();
  }
  ASSAY_TRY(make_certificate(config, clock.now(), report));
  storage::SqliteOptions options = store_options(config);
  options.create = true;
  const bool fresh = !exists(config.store_path);
  ASSAY_ASSIGN(const auto store, storage::open_sqlite(options, *log_signer, clock));
  if (fresh) {
    report.created.push_back(config.store_path);
  }
  Services services{*store,       *service_signer, clock, random, config.log_origin,
                    config.nodes, verifiers};
  ASSAY_TRY(bootstrap(services, document));
  ASSAY_TRY(name_keys(*store, {}, *service_signer, ear_signer.get()));
  ASSAY_ASSIGN(report.log_verifier_key,
               note_verifier_key(config.log_origin, log_signer->public_key()));
  const std::string public_half = config.log_key_file + ".vkey";
  ASSAY_TRY(storage::replace_file(public_half, as_bytes(report.log_verifier_key + "\n")));
  report.created.push_back(public_half);
  report.service_key_id = service_signer->key_id().text();
  return report;
}

}  // namespace assay::server
