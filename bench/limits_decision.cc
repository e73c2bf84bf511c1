// SPDX-License-Identifier: Apache-2.0
// What a decision costs and stores: time and bytes of an allow and of a denial about one model, as
// its statements grow. Words: dir=DIR entries=N manifests=N statements=N,N,... decisions=N
// json=FILE ("-": to standard output alone). Exits with 1 when a limit is not kept.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "attestation/dsse.h"
#include "attestation/keys.h"
#include "bench/options.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/policy_document.h"
#include "server/service/decisions/decide.h"
#include "server/service/documents/accept.h"
#include "server/service/governance/policies.h"
#include "server/service/jobs/precedence.h"
#include "storage/store.h"

namespace {

using assay::Json;
using SteadyClock = std::chrono::steady_clock;

// The limits of docs/limits.md.
constexpr double kMaxWarmMs = 5;
constexpr double kMaxAllowBytes = 8 << 10;
constexpr double kMaxDenialBytes = 4 << 10;
constexpr std::size_t kPerSigner = 250;  // statements; the limit is 256

[[noreturn]] void stop(const assay::Error& error) {
  std::fprintf(stderr, "limits_decision_bench: %s\n", assay::to_string(error).c_str());
  std::exit(2);
}

template <typename T>
T must(assay::Result<T> result) {
  if (!result) {
    stop(result.error());
  }
  return *std::move(result);
}

struct Key {
  std::unique_ptr<assay::Signer> signer;
  assay::TrustedKey record;
};

Key make_key(assay::KeyPurpose purpose, const std::string& identity,
             std::vector<assay::SignerRole> roles, assay::Timestamp now) {
  auto signer = must(assay::attestation::generate_key(assay::SignatureAlgorithm::kEd25519));
  assay::TrustedKey record{signer->key_id(),
                           signer->algorithm(),
                           signer->public_key(),
                           purpose,
                           identity,
                           std::move(roles),
                           now - std::chrono::hours(1),
                           now + std::chrono::hours(1000),
                           {}};
  return {std::move(signer), std::move(record)};
}

assay::Bytes sign(std::string_view type, std::string_view payload, const Key& key) {
  const assay::Signer* const signers[] = {key.signer.get()};
  const auto envelope =
      must(assay::attestation::sign_envelope(type, assay::as_bytes(payload), signers));
  return assay::to_bytes(assay::attestation::encode_envelope(envelope));
}

assay::SignerRole role(const std::string& stage) {
  return {stage, std::string(assay::kLifecyclePredicateType), "acme"};
}

// One service over one database, and everybody who signs.
class World {
 public:
  World(const std::string& folder, std::uint64_t entries, std::size_t signers)
      : folder_(folder),
        publisher_(make_key(assay::KeyPurpose::kPublisher, "release",
                            {{"*", std::string(assay::kManifestPredicateType), "acme"}},
                            clock_.now())),
        author_(make_key(assay::KeyPurpose::kAuthor, "paula", {}, clock_.now())),
        approver_(make_key(assay::KeyPurpose::kApprover, "quentin", {}, clock_.now())) {
    std::filesystem::create_directories(folder);
    log_key_ = must(assay::attestation::generate_key(assay::SignatureAlgorithm::kEd25519));
    service_key_ = must(assay::attestation::generate_key(assay::SignatureAlgorithm::kEd25519));
    for (std::size_t i = 0; i < signers; ++i) {
      signers_.push_back(make_key(assay::KeyPurpose::kSigner, "signer-" + std::to_string(i),
                                  {role("evaluate"), role("approve")}, clock_.now()));
    }
    model_.name = "acme/demo";
    for (std::uint64_t i = 0; i < entries; ++i) {
      char path[32];
      std::snprintf(path, sizeof(path), "part-%08llu", static_cast<unsigned long long>(i));
      model_.artifact.entries.push_back(
          assay::FileEntry{path, 4096, assay::sha256(assay::as_bytes(std::string(path)))});
    }
    open();
    trust();
    put_policy();
  }
  ~World() {
    services_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void open() {
    services_.reset();
    store_.reset();
    assay::storage::SqliteOptions options;
    options.rules = &assay::server::kReportRules;
    options.path = folder_ + "/assay.db";
    options.create = true;
    options.origin = "bench.example.com/log";
    options.anchor_path = folder_ + "/anchor";
    store_ = must(assay::storage::open_sqlite(options, *log_key_, clock_));
    services_.reset(new assay::server::Services{*store_, *service_key_, clock_, random_,
                                                "bench.example.com/log"});
  }
  // Of the closed database.
  std::uintmax_t file_bytes() {
    services_.reset();
    store_.reset();
    const auto bytes = std::filesystem::file_size(folder_ + "/assay.db");
    open();
    return bytes;
  }
  void add_manifest(std::size_t number) {
    model_.locations = {"pvc://inference/place-" + std::to_string(number)};
    const auto payload = must(assay::encode_statement(must(assay::to_statement(model_))));
    must(assay::server::accept_manifest(
        *services_, sign(assay::kStatementPayloadType, payload, publisher_), actor_));
  }
  // Every second one an evaluation that is as required, the others approvals.
  void add_statement(std::size_t number) {
    assay::Lifecycle lifecycle;
    lifecycle.stage = number % 2 == 0 ? "evaluate" : "approve";
    lifecycle.comment = "statement " + std::to_string(number);
    if (number % 2 == 0) {
      lifecycle.metrics["accuracy"] = {0.95, "1"};
    }
    assay::Subject subject{model_.name, {}};
    const assay::ArtifactId id = must(artifact());
    subject.digest[std::string(id.digest_name())] = id.root().hex();
    const auto payload =
        must(assay::encode_statement(must(assay::to_statement(lifecycle, {subject}))));
    must(assay::server::accept_attestation(
        *services_, sign(assay::kStatementPayloadType, payload, signers_.at(number / kPerSigner)),
        actor_));
  }
  assay::server::DecisionAnswer decide(bool good, bool dry_run, std::size_t number) {
    assay::server::DecisionRequest request{
        .point = assay::DecisionPoint::kCreate,
        .models = {must(artifact()).text()},
        .workload = {"inference", {{"pod-template-hash", std::to_string(number)}}, {"gpu"}},
        .context = {{"via", "admission-validate"},
                    {"uid", "0198f0a2-7c3e-7bbb-8123-" + std::to_string(100'000'000'000 + number)},
                    {"kind", "Pod"},
                    {"namespace", "inference"},
                    {"name", "server-" + std::to_string(number)},
                    {"operation", "CREATE"},
                    {"user", "system:serviceaccount:kube-system:replicaset-controller"},
                    {"principal", "cluster-a"}},
        .principal = "cluster-a",
        .dry_run = dry_run};
    request.workload.pod = true;
    request.workload.images = {{"server", "registry.example/server@sha256:0", false}};
    request.workload.mounts = {{.container = "server",
                                .path = "/models",
                                .volume = "model",
                                .source = "persistentVolumeClaim",
                                .location = good ? "pvc://inference/place-0" : "pvc://x/elsewhere",
                                .read_only = true}};
    auto answer = must(assay::server::decide(*services_, request));
    if (answer.decision->verdict.allowed != good) {
      std::fprintf(stderr, "%s\n", to_json(answer.decision->verdict).dump(1).c_str());
      stop({assay::ErrorCode::kInternal, "the verdict is not the expected one", {}});
    }
    return answer;
  }

 private:
  assay::Result<assay::ArtifactId> artifact() {
    if (!id_) {
      ASSAY_ASSIGN(id_, assay::artifact_id(model_.artifact));
    }
    return *id_;
  }
  void trust() {
    const auto work = [&](assay::storage::Transaction& transaction) -> assay::Status {
      for (const Key* key : {&publisher_, &author_, &approver_}) {
        ASSAY_TRY(transaction.put_key(key->record));
      }
      for (const Key& key : signers_) {
        ASSAY_TRY(transaction.put_key(key.record));
      }
      return {};
    };
    must(store_->write(work));
  }
  void put_policy() {
    const std::string type(assay::kLifecyclePredicateType);
    const Json document = {
        {"name", "gpu-models"},
        {"version", 1},
        {"mode", "enforce"},
        {"match", {{"resources", {"gpu"}}}},
        {"require",
         {{{"id", "published"}, {"manifest", {{"signers", {{"at_least", 1}}}}}},
          {{"id", "evaluated"},
           {"statement",
            {{"predicate_type", type},
             {"stage", "evaluate"},
             {"quantifier", "every"},
             {"where", {{{"pointer", "/metrics/accuracy/value"}, {"op", ">="}, {"value", 0.9}}}}}}},
          {{"id", "approved"},
           {"statement",
            {{"predicate_type", type}, {"stage", "approve"}, {"signers", {{"at_least", 1}}}}}}}}};
    const auto payload = must(assay::canonical_json(document));
    const auto accepted = must(assay::server::accept_policy(
        *services_, sign(assay::kPolicyPayloadType, payload, author_), actor_));
    const assay::PolicyApproval approval{assay::PolicyApproval::Action::kActivate, accepted.row.id,
                                         1};
    must(assay::server::apply_policy_approval(
        *services_, approval.action, accepted.row.id,
        sign(assay::kPolicyApprovalPayloadType, must(assay::canonical_json(to_json(approval))),
             approver_),
        actor_));
  }

  assay::SystemClock clock_;
  assay::SystemRandom random_;
  std::string folder_;
  Key publisher_;
  Key author_;
  Key approver_;
  std::vector<Key> signers_;
  std::unique_ptr<assay::Signer> log_key_;
  std::unique_ptr<assay::Signer> service_key_;
  assay::Manifest model_;
  std::optional<assay::ArtifactId> id_;
  std::unique_ptr<assay::storage::Store> store_;
  std::unique_ptr<assay::server::Services> services_;
  assay::Principal actor_{"bench", {}, {}, {}};
};

double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

struct Times {
  double p50;
  double p99;
  double cpu;  // of the process, for each
};

Times measure(World& world, bool good, bool dry_run, std::size_t count) {
  std::vector<double> times;
  const double cpu = cpu_ms();
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = SteadyClock::now();
    world.decide(good, dry_run, i);
    times.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
  }
  const double spent = (cpu_ms() - cpu) / static_cast<double>(count);
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100], spent};
}

// Bytes of the database for each decision beyond the first.
double stored(World& world, bool good, std::size_t count) {
  world.decide(good, false, 0);
  const auto before = world.file_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    world.decide(good, false, i);
  }
  return static_cast<double>(world.file_bytes() - before) / static_cast<double>(count);
}

Json measure_all(World& world, std::size_t manifests, std::size_t statements, std::size_t count,
                 std::FILE* out) {
  const auto before = world.file_bytes();
  const auto begin = SteadyClock::now();
  world.decide(true, false, 0);
  const double cold = std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
  const auto after = world.file_bytes();
  const double allow = stored(world, true, count);
  const double denial = stored(world, false, count);
  const std::size_t envelope = world.decide(false, false, 0).envelope.size();
  world.decide(true, true, 0);
  const Times judged = measure(world, true, true, count);
  const Times recorded = measure(world, true, false, count);
  std::fprintf(out, "%9zu  %10zu  %8.1f  %8.2f  %8.2f  %8.2f  %8.2f  %9ju  %7.0f  %7.0f\n",
               manifests, statements, cold, judged.p50, judged.cpu, recorded.p50, recorded.p99,
               after - before, allow, denial);
  std::fflush(out);
  return {{"manifests", manifests},
          {"statements", statements},
          {"cold_ms", cold},
          {"judged_p50_ms", judged.p50},
          {"judged_p99_ms", judged.p99},
          {"judged_cpu_ms", judged.cpu},
          {"recorded_p50_ms", recorded.p50},
          {"recorded_p99_ms", recorded.p99},
          {"recorded_cpu_ms", recorded.cpu},
          {"first_bytes", after - before},
          {"allow_bytes", allow},
          {"denial_bytes", denial},
          {"denial_envelope_bytes", envelope}};
}

// The first decision after one more statement about a model of which the rest is known.
double after_one_more(World& world, std::size_t number) {
  world.add_statement(number);
  const auto begin = SteadyClock::now();
  world.decide(true, true, 0);
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

std::vector<std::size_t> numbers(const std::string& text) {
  std::vector<std::size_t> list;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    list.push_back(std::strtoull(one.c_str(), nullptr, 10));
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = assay::bench::parse_options(argc, argv, "limits_decision_bench");
  const auto steps = numbers(assay::bench::text(options, "statements", "2,100,1000,4000"));
  const std::uint64_t entries = assay::bench::number(options, "entries", 100'000);
  const std::uint64_t manifests = assay::bench::number(options, "manifests", 50);
  const std::uint64_t count = assay::bench::number(options, "decisions", 300);
  const std::string json = assay::bench::text(options, "json", "");
  std::FILE* out = json == "-" ? stderr : stdout;
  World world(assay::bench::text(options, "dir", std::filesystem::temp_directory_path().string()) +
                  "/assay-limits-" + std::to_string(::getpid()),
              entries, 1 + *std::max_element(steps.begin(), steps.end()) / kPerSigner);
  std::fprintf(out, "model of %ju entries; times in ms, bytes of the database file\n",
               static_cast<std::uintmax_t>(entries));
  std::fprintf(out,
               "manifests  statements      cold    judged       cpu  recorded       p99  "
               "first one    allow   denial\n");
  for (std::size_t i = 0; i < manifests; ++i) {
    world.add_manifest(i);
  }
  Json rows = Json::array();
  std::size_t have = 0;
  for (const std::size_t statements : steps) {
    for (; have < statements; ++have) {
      world.add_statement(have);
    }
    rows.push_back(measure_all(world, manifests, statements, count, out));
    rows.back()["one_more_ms"] = after_one_more(world, have++);
    std::fprintf(out, "%*s and after one more statement %.1f ms\n", 21, "",
                 rows.back()["one_more_ms"].get<double>());
  }
  const Json& last = rows.back();
  const bool kept = last["judged_cpu_ms"] < kMaxWarmMs && last["allow_bytes"] < kMaxAllowBytes &&
                    last["denial_bytes"] < kMaxDenialBytes;
  std::fprintf(out, "limits of the last row: judged %.0f ms of CPU, allow %.0f, denial %.0f: %s\n",
               kMaxWarmMs, kMaxAllowBytes, kMaxDenialBytes, kept ? "kept" : "NOT KEPT");
  const Json result = {{"benchmark", "limits_decision"},
                       {"entries", entries},
                       {"rows", rows},
                       {"limits",
                        {{"warm_ms", kMaxWarmMs},
                         {"allow_bytes", kMaxAllowBytes},
                         {"denial_bytes", kMaxDenialBytes}}},
                       {"kept", kept}};
  if (json == "-") {
    std::printf("%s\n", result.dump(2).c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(2) << "\n";
  }
  return kept ? 0 : 1;
}
