// SPDX-License-Identifier: Apache-2.0
#include "server/app.h"

#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <unistd.h>

#include "attestation/keys.h"
#include "attestation/pkcs11/token_signer.h"
#include "schemas/checkpoint.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/posix/descriptor_limit.h"
#include "server/admission_principals.h"
#include "server/affected_watch.h"
#include "server/api/console.h"
#include "server/api/dispatch.h"
#include "server/collateral_watch.h"
#include "server/descriptors.h"
#include "server/hold_time.h"
#include "server/init.h"
#include "server/jwks.h"
#include "server/key_history.h"
#include "server/listeners.h"
#include "server/metrics.h"
#include "server/plugins.h"
#include "server/reappraiser.h"
#include "server/recorder.h"
#include "server/service/job_bell.h"
#include "server/thread_shares.h"
#include "storage/store.h"

namespace assay::server {
namespace {

constexpr std::string_view kAdmissionPrincipal = "admission-webhook";
constexpr std::chrono::hours kDay{24};
constexpr std::chrono::hours kCertificateWarning{30 * 24};
constexpr std::chrono::seconds kUnselectedInterval{1};
constexpr std::chrono::seconds kTokenInterval{1};
constexpr std::chrono::seconds kClockWarning{1};  // corrections of clocks are smaller

// Cursors are authenticated by a key that every process with the same service key derives, as long
// as its signatures are deterministic (Ed25519); other keys give cursors that end with the process.
Result<SecretBytes> cursor_key(const Signer& signer) {
  ASSAY_ASSIGN(Bytes signature, signer.sign(as_bytes("assay/cursor-key/v1")));
  const Digest digest = sha256(signature);
  secure_wipe(signature);
  return SecretBytes(Bytes(digest.bytes().begin(), digest.bytes().end()));
}

DispatchOptions dispatch_options(const Config& config, std::string admission_secret) {
  DispatchOptions options;
  options.request_timeout = config.request_timeout;
  options.admission_secret = std::move(admission_secret);
  options.admission_principal.name = kAdmissionPrincipal;
  options.admission_principal.roles = {AccessRole::kAdmission};
  return options;
}

// Replaces the file in one step, so that a reader sees all of it or nothing. When that fails, takes
// away the file: what an earlier run wrote into it is no longer true.
Status write_ready_file(const std::string& path, const Json& content) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::trunc);
  file << content.dump() << '\n';
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0) {
    ::unlink(fresh.c_str());
    ::unlink(path.c_str());
    return fail(ErrorCode::kFileUnreadable, "ready_file cannot be written", path);
  }
  return {};
}

}  // namespace

struct App::Impl {
  Impl(const Config& own_config, const Clock& own_clock, Random& own_random, Log& own_log)
      : config(own_config),
        clock(own_clock),
        random(own_random),
        log(own_log),
        metrics(std::string(version())),
        recorder(log, metrics, clock),
        job_bell(
            thread_shares(own_config.limits.worker_threads, !own_config.plugins.empty()).jobs) {}

  Status open() {
    ASSAY_ASSIGN(const SecretBytes passphrase, read_passphrase(config));
    ASSAY_ASSIGN(log_signer, attestation::load_private_key(config.log_key_file, passphrase));
    ASSAY_ASSIGN(service_signer,
                 attestation::pkcs11::load_signing_key(config.service_key_file, passphrase));
    ASSAY_TRY(load_ear_keys(passphrase));
    storage::SqliteOptions options = store_options(config);
    options.wall = [this] { return clock.wall(); };
    ASSAY_ASSIGN(store, storage::open_sqlite(options, *log_signer, clock));
    ASSAY_TRY(hold_time(clock, *store, options, *log_signer));
    watch_clock();
    ASSAY_TRY(check_keys());
    ASSAY_ASSIGN(const std::uint64_t generation, note_plugins(config, *store));
    ASSAY_ASSIGN(verifiers, load_verifiers(config, generation));
    return make_api();
  }

  // The log says which keys are the service's: others are refused.
  Status check_keys() {
    using attestation::RotatedKind;
    const Signer* const ear = ear_signers.empty() ? nullptr : ear_signers.front().get();
    {
      ASSAY_ASSIGN(const auto snapshot, store->snapshot());
      ASSAY_ASSIGN(keys, read_key_history(*snapshot, config.log_origin));
    }
    ASSAY_TRY(check_current(keys, RotatedKind::kLog, log_signer.get()));
    ASSAY_TRY(check_current(keys, RotatedKind::kService, service_signer.get()));
    ASSAY_TRY(check_current(keys, RotatedKind::kEar, ear));
    return name_keys(*store, keys, *service_signer, ear);
  }

  // Once for each time that the wall clock is found to be behind.
  void watch_clock() {
    const auto lead = clock.lead();
    const bool known = clock.is_known();
    metrics.clock(lead, known);
    const bool behind = lead > kClockWarning;
    if (behind && (!clock_behind || known != clock_known)) {
      log.error(
          "clock_set_back",
          {{"behind_ms", lead.count()},
           {"decides", known},
           {"what", known ? "the clock is behind the service's time, which goes on from there"
                          : "the clock is behind where it was at the last write: how long the "
                            "service stood still is not known, so it does not decide; set the "
                            "clock right"}});
    }
    clock_behind = behind;
    clock_known = known;
  }

  // How the wall clock stands to the service's time, for the next start.
  void keep_time() {
    static_cast<void>(
        store->write([](const storage::Transaction& /*transaction*/) { return Status(); }));
  }

  // Results of appraisals are signed with ES256 alone (draft-ietf-rats-ear-04 as a JWT).
  Status load_ear_keys(const SecretBytes& passphrase) {
    for (const std::string& file : config.ear_key_files) {
      ASSAY_ASSIGN(auto signer, attestation::load_private_key(file, passphrase));
      if (signer->algorithm() != SignatureAlgorithm::kEcdsaP256) {
        return fail(ErrorCode::kUnsupportedKey, "keys of attestation results are ECDSA P-256",
                    file);
      }
      ear_signers.push_back(std::move(signer));
    }
    return {};
  }

  void make_services() {
    services = std::make_unique<Services>(*store, *service_signer, clock, random, config.log_origin,
                                          config.nodes, verifiers);
    services->ear_signer = ear_signers.empty() ? nullptr : ear_signers.front().get();
    services->version = version();
    services->job_bell = &job_bell;
    services->time_is_known = [this] { return clock.is_known(); };
    services->count = [this](NodeEvent event, std::string_view result) {
      metrics.node(event, result);
    };
  }

  [[nodiscard]] Result<Json> published_keys() const {
    std::vector<const Signer*> signers = {service_signer.get()};
    for (const auto& signer : ear_signers) {
      signers.push_back(signer.get());
    }
    return jwks(signers, keys.rotations);
  }

  Status make_api() {
    make_services();
    ASSAY_ASSIGN(SecretBytes key, cursor_key(*service_signer));
    ASSAY_ASSIGN(std::string verifier,
                 note_verifier_key(config.log_origin, log_signer->public_key()));
    ASSAY_ASSIGN(Json key_set, published_keys());
    ASSAY_ASSIGN(std::string secret, read_path_secret(config));
    api = std::make_unique<Api>(
        *services, CursorCodec(std::move(key)), std::string(version()), std::move(verifier),
        std::move(key_set), [this] { return metrics_text(); },
        [this] {
          dispatcher->forget_principals();
          affected->wake();
        },
        [this](bool allowed) { metrics.decision(allowed); }, log_signer.get());
    served_routes = config.log_public_entries ? routes_with_public_entries() : routes();
    if (config.console) {
      served_routes = with_console(std::move(served_routes));
    }
    dispatcher = std::make_unique<Dispatcher>(
        *api, served_routes, dispatch_options(config, std::move(secret)), recorder);
    return {};
  }

  // API servers need a role of their own, which orchestrators do not have.
  Status warn_of_admission() {
    if (!config.admission || config.admission->secret_path) {
      return {};
    }
    ASSAY_ASSIGN(const auto snapshot, store->snapshot());
    ASSAY_ASSIGN(const auto principals, snapshot->principals());
    const AdmissionPrincipals found = admission_principals(principals);
    if (!found.deciders_without_it.empty()) {
      log.warn("admission_role_missing",
               {{"principals", found.deciders_without_it},
                {"what", "a decider may not speak for pods: give API servers the role admission"}});
    }
    if (found.with_role.empty()) {
      log.warn("admission_unused", {{"what", "no principal has the role admission"}});
    }
    return {};
  }

  // A process with too few descriptors for all connections would keep admission waiting for one.
  Result<ServerLimits> fitting_limits() {
    const std::uint64_t available = descriptor_limit();
    ASSAY_ASSIGN(ServerLimits limits, within_descriptors(config, available));
    if (limits.max_connections < config.limits.max_connections) {
      log.warn("connections_lowered",
               {{"descriptors", available},
                {"configured", config.limits.max_connections},
                {"max_connections", limits.max_connections},
                {"max_connections_per_address", limits.max_connections_per_address},
                {"what",
                 "the process may open too few files for the configured connections of "
                 "each listener: raise its hard limit (RLIMIT_NOFILE)"}});
    }
    return limits;
  }

  Status serve() {
    // After everything that it works with, and before anybody can ask for what it works on.
    reappraiser = std::make_unique<Reappraiser>(*services, log);
    services->evidence_moved = [this] { reappraiser->wake(); };
    affected = std::make_unique<AffectedWatch>(*services, log);
    ASSAY_ASSIGN(const ServerLimits limits, fitting_limits());
    ASSAY_ASSIGN(http, HttpServer::start(listeners(config), limits, *dispatcher, clock));
    const std::uint16_t api_port = http->port(Listener::kApi);
    const std::uint16_t admission_port = http->port(Listener::kAdmission);
    if (!config.ready_file.empty()) {
      ready_content = {
          {"api_port", api_port}, {"admission_port", admission_port}, {"pid", ::getpid()}};
      try_ready_file();
    }
    ASSAY_TRY(warn_of_admission());
    start_flushing();
    watch_token();
    log.info("started", {{"version", version()},
                         {"api_port", api_port},
                         {"admission_port", admission_port},
                         {"log_origin", config.log_origin}});
    return {};
  }

  // A disk without room stops no start: the flusher tries again until the file is written. Told
  // once, and again when it is there.
  void try_ready_file() {
    if (ready_content.is_null()) {
      return;
    }
    const Status written = write_ready_file(config.ready_file, ready_content);
    if (!written && !ready_waiting) {
      log.warn("ready_file_waiting", {{"file", config.ready_file},
                                      {"what", "ready_file cannot be written; tried each second"}});
    }
    if (written && ready_waiting) {
      log.info("ready_file_written", {{"file", config.ready_file}});
    }
    ready_waiting = !written;
    if (written) {
      ready_content = Json();
    }
  }

  // What no policy selects is logged once a second. A store that cannot write is told once, and
  // again when it can.
  void flush_unselected() {
    const Status flushed = services->unselected.flush();
    if (flushed.has_value() != unselected_written) {
      unselected_written = flushed.has_value();
      log.write(flushed ? LogLevel::kInfo : LogLevel::kError,
                flushed ? "unselected_written" : "unselected_waiting",
                flushed ? Json::object() : error_fields(flushed.error()));
    }
  }

  // What every answer stands on is read once a second, so that a store that cannot be read makes
  // the service not ready before anybody asks, and ready again. Readers that are all busy say
  // nothing.
  void watch_reads() {
    const auto read = store->snapshot();
    const bool known = read || read.error().code != ErrorCode::kUnavailable;
    if (known && read.has_value() != reads) {
      reads = read.has_value();
      log.write(reads ? LogLevel::kInfo : LogLevel::kError,
                reads ? "store_readable" : "store_unreadable",
                reads ? Json::object() : error_fields(read.error()));
    }
  }

  // A key in a token is asked for once a second, so that the service is not ready while it cannot
  // sign, before anybody asks, and ready again afterwards. A token may take long to answer.
  void watch_token() {
    auto* const token = dynamic_cast<attestation::pkcs11::TokenSigner*>(service_signer.get());
    if (token == nullptr) {
      return;
    }
    token_watch = std::jthread([this, token](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      bool signs = true;
      while (!stop.stop_requested()) {
        never.wait_for(lock, stop, kTokenInterval, [] { return false; });
        const Status state = token->look();
        if (state.has_value() != signs) {
          signs = state.has_value();
          log.write(signs ? LogLevel::kInfo : LogLevel::kError,
                    signs ? "signing_key_back" : "signing_key_gone",
                    signs ? Json::object() : error_fields(state.error()));
        }
      }
    });
  }

  void start_flushing() {
    flusher = std::jthread([this](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      while (!stop.stop_requested()) {
        never.wait_for(lock, stop, kUnselectedInterval, [] { return false; });
        try_ready_file();
        flush_unselected();
        watch_reads();
        recorder.flush(false);
        watch_clock();
        const auto lead = clock.lead();
        if (std::chrono::abs(lead - kept_lead) > HeldClock::kTolerance) {
          kept_lead = lead;
          keep_time();
        }
      }
      flush_unselected();
      recorder.flush(true);
      keep_time();
    });
  }

  std::string metrics_text() {
    metrics.log_lines_lost(log.lost());
    collateral.look(*store, clock.now(), metrics, log);
    const auto snapshot = store->snapshot();
    return metrics.text(snapshot ? snapshot->get() : nullptr, clock.now());
  }

  void reload() {
    const Status opened = log.reopen();
    const Status loaded = http->reload(listeners(config));
    if (!opened) {
      log.error("reload_failed", error_fields(opened.error()));
    }
    if (!loaded) {
      log.error("reload_failed", error_fields(loaded.error()));
    }
    if (opened && loaded) {
      log.info("reloaded");
    }
    certificate_noted.reset();
    watch_certificate();
  }

  void watch_certificate() {
    watch_clock();
    const Timestamp now = clock.now();
    collateral.look(*store, now, metrics, log);
    const auto end = certificate_end(config.certificate_file);
    if (end) {
      metrics.certificate_ends(*end);
    }
    const bool noted = certificate_noted && now - *certificate_noted < kDay;
    if (noted || (end && *end - now > kCertificateWarning)) {
      return;
    }
    certificate_noted = now;
    const bool over = !end || *end <= now;
    log.write(
        over ? LogLevel::kError : LogLevel::kWarn,
        over ? "certificate_expired" : "certificate_expires",
        {{"file", config.certificate_file}, {"not_after", end ? to_rfc3339(*end) : "unreadable"}});
  }

  void stop() {
    if (http == nullptr) {
      return;
    }
    log.info("stopping");
    job_bell.stop();
    http->stop();
    http.reset();
    flusher = {};  // stops it after a last round
    token_watch = {};
    affected.reset();
    reappraiser.reset();
    if (!config.ready_file.empty()) {
      std::error_code ignored;
      std::filesystem::remove(config.ready_file, ignored);
    }
    log.info("stopped");
  }

  const Config config;
  std::optional<Timestamp> certificate_noted;  // when the log last spoke of its end
  HeldClock clock;
  bool clock_behind = false;
  bool clock_known = true;
  std::chrono::milliseconds kept_lead{0};  // of the flusher
  Random& random;
  Log& log;
  Metrics metrics;
  CollateralWatch collateral;
  Recorder recorder;
  JobBell job_bell;
  std::unique_ptr<Signer> log_signer;
  std::unique_ptr<Signer> service_signer;
  std::vector<std::unique_ptr<Signer>> ear_signers;  // the first signs, all are published
  KeyHistory keys;
  std::unique_ptr<storage::Store> store;
  attestation::VerifierRegistry verifiers;
  std::unique_ptr<Services> services;
  std::unique_ptr<Reappraiser> reappraiser;
  std::unique_ptr<AffectedWatch> affected;
  std::unique_ptr<Api> api;
  std::vector<Route> served_routes;
  std::unique_ptr<Dispatcher> dispatcher;
  std::unique_ptr<HttpServer> http;
  bool unselected_written = true;
  bool reads = true;   // as the flusher found it
  Json ready_content;  // of ready_file, until it is written
  bool ready_waiting = false;
  std::jthread flusher;
  std::jthread token_watch;  // runs while the service's key is in a token
};

App::App(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

App::~App() { impl_->stop(); }

Result<std::unique_ptr<App>> App::start(const Config& config, const Clock& clock, Random& random,
                                        Log& log) {
  auto impl = std::make_unique<Impl>(config, clock, random, log);
  ASSAY_TRY(impl->open());
  ASSAY_TRY(impl->serve());
  impl->watch_certificate();
  return std::unique_ptr<App>(new App(std::move(impl)));
}

std::uint16_t App::port(Listener kind) const {
  return impl_->http == nullptr ? std::uint16_t{0} : impl_->http->port(kind);
}

void App::reload() { impl_->reload(); }

void App::watch_certificate() { impl_->watch_certificate(); }

void App::stop() { impl_->stop(); }

std::string_view version() { return ASSAY_VERSION; }

}  // namespace assay::server
