// SPDX-License-Identifier: Apache-2.0
// A service enrols a node with evidence of its processor (TDX) and of its devices, all of them
// known already: collateral imported, chains seen before. Measured is the whole request on all
// threads, from the envelope to the stored row, beside P-384 and P-256 verifications in the same
// rounds.
//   composite_enrolment_bench [rounds=30] [devices=N] [json=FILE|-] [dir=/tmp]
// Exits with 1 when eight GPUs and four switches take more than kMaxMs where a core does kUsualRate
// P-384 verifications a second; elsewhere in proportion.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <unistd.h>

#include "attestation/simulate/nvidia_machine.h"
#include "attestation/simulate/simulation.h"
#include "bench/decision_world.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "schemas/log_record.h"
#include "server/service/nodes/challenge.h"
#include "server/service/nodes/collateral.h"
#include "server/service/nodes/enrol.h"

namespace {

using namespace assay;  // NOLINT: a program of its own
using bench::must;
using bench::stop;
namespace tdx = attestation::tdx;

constexpr double kMaxMs = 20;
constexpr double kUsualRate = 1'800;

double process_us() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

double middle(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

// Times of one signature of this kind.
class Signature {
 public:
  explicit Signature(SignatureAlgorithm algorithm)
      : signer_(must(attestation::generate_key(algorithm))),
        key_(must(attestation::PublicKey::from_der(signer_->public_key()))),
        signature_(must(signer_->sign(message_))) {}

  void measure() {
    const double begin = bench::thread_us();
    if (!key_.verify(message_, signature_)) {
      stop({ErrorCode::kInternal, "a signature does not verify", {}});
    }
    times_.push_back(bench::thread_us() - begin);
  }
  [[nodiscard]] double us() const { return middle(times_); }

 private:
  Bytes message_ = Bytes(4096, 0x5a);
  std::unique_ptr<Signer> signer_;
  attestation::PublicKey key_;
  Bytes signature_;
  std::vector<double> times_;
};

// One machine that enrols again and again, as agents do.
class Machine {
 public:
  Machine(bench::World& world, unsigned gpus, bool is_board)
      : world_(world),
        now_(world.now()),
        key_(must(attestation::generate_key(SignatureAlgorithm::kEcdsaP256))) {
    devices_.seed = to_bytes("devices of a benchmark");
    devices_.count = gpus;
    devices_.mode = is_board ? attestation::nvidia::DeviceMode::kProtectedPcie
                             : attestation::nvidia::DeviceMode::kConfidential;
    node_ = "node-" + std::to_string(gpus) + (is_board ? "-board" : "");
    devices_.first = is_board ? 800 : 0;
    spec_ = tdx::valid_simulation(as_bytes(std::string_view("processors of a benchmark")), now_);
    const Digest machine = sha256(as_bytes(node_));
    std::ranges::copy(machine.bytes().first(spec_.platform.ppid.size()),
                      spec_.platform.ppid.begin());
  }

  void trust() {
    const tdx::TdReport& report = spec_.quote.report;
    const tdx::Simulation made = tdx::simulate(spec_);
    Appraisal processor;
    processor.evidence_type = kTdxEvidence;
    processor.policy = {{"reference_values",
                         {{"mrtd", {hex_encode(report.mrtd)}},
                          {"rtmr0", {hex_encode(report.rtmr[0])}},
                          {"rtmr1", {hex_encode(report.rtmr[1])}},
                          {"rtmr2", {hex_encode(report.rtmr[2])}}}}};
    processor.dangerous_anchors = {made.root};
    const auto gpus = must(simulate_machine(devices_, now_, {}));
    Appraisal device;
    device.evidence_type = kNvidiaEvidence;
    device.dangerous_anchors = {gpus.root};
    const auto written =
        world_.services().store.write([&](storage::Transaction& transaction) -> Status {
          ASSAY_TRY(transaction.put_appraisal(processor));
          ASSAY_TRY(transaction.put_appraisal(device));
          ASSAY_TRY(transaction.append({.type = std::string(event::kTrustChanged),
                                        .time = now_,
                                        .actor = "bench",
                                        .subjects = {},
                                        .documents = {},
                                        .detail = Json::object()}));
          return {};
        });
    if (!written) {
      stop(written.error());
    }
    import(kTdxEvidence, tdx::to_json(made.collateral));
    import(kNvidiaEvidence, gpus.collateral);
  }

  Bytes enrolment() {
    const auto challenge =
        must(server::issue_challenge(world_.services(), {ChallengePurpose::kEnrol, node_}, actor_));
    Enrolment made{{server::audience(world_.services()), node_, hex_encode(spec_.platform.ppid)},
                   challenge.nonce,
                   key_->public_key(),
                   {},
                   {{"cpu", "a processor", "none"}}};
    const auto machine =
        must(simulate_machine(devices_, now_, device_nonce(made.nonce, made.public_key)));
    for (const auto& device : machine.devices) {
      made.device_evidence.push_back(
          {device.uuid, {std::string(kNvidiaEvidence), to_bytes(device.evidence.dump()), {}, {}}});
      made.request.devices.push_back(sha256(made.device_evidence.back().evidence.quote));
    }
    std::ranges::copy(enrolment_report_data(made.nonce, made.public_key, made.request),
                      spec_.quote.report.report_data.begin());
    const tdx::Simulation processor = tdx::simulate(spec_);
    made.evidence = Evidence{std::string(kTdxEvidence), processor.quote, {}, {}};
    const Signer* const signers[] = {key_.get()};
    return to_bytes(attestation::encode_envelope(must(attestation::sign_envelope(
        kEnrolmentPayloadType, as_bytes(must(canonical_json(to_json(made)))), signers))));
  }

  void enrol(ByteView envelope) {
    const auto enrolled = must(server::enrol(world_.services(), envelope, actor_));
    if (!enrolled.node.measured) {
      stop({ErrorCode::kInternal, "the enrolment is not measured", {}});
    }
  }

 private:
  void import(std::string_view type, const Json& collateral) {
    const std::string body = Json{{"type", type}, {"collateral", collateral}}.dump();
    must(server::import_collateral(world_.services(), as_bytes(body), actor_));
  }

  bench::World& world_;
  Timestamp now_;
  std::string node_;
  Principal actor_{"bench", {AccessRole::kWorker}, {}, {}};
  std::unique_ptr<Signer> key_;
  attestation::SimulatedGpus devices_;
  tdx::SimulationSpec spec_;
};

struct Row {
  unsigned devices;
  double request_ms;  // processor time of the thread that serves the request
  double total_ms;    // of all threads
  double wall_ms;
  double p99_ms;  // of `total_ms`
  double p384_us;
  double p256_us;
  std::size_t bytes;  // of the envelope

  [[nodiscard]] double bar_ms() const { return kMaxMs * kUsualRate * p384_us / 1e6; }
};

Row measure(bench::World& world, unsigned gpus, bool is_board, std::size_t rounds) {
  Machine machine(world, gpus, is_board);
  machine.trust();
  Signature p384(SignatureAlgorithm::kEcdsaP384);
  Signature p256(SignatureAlgorithm::kEcdsaP256);
  std::vector<double> request;
  std::vector<double> total;
  std::vector<double> wall;
  std::size_t bytes = 0;
  const std::size_t unused = 1 + rounds / 10;
  for (std::size_t i = 0; i < rounds + unused; ++i) {
    const Bytes envelope = machine.enrolment();
    bytes = envelope.size();
    const auto started = std::chrono::steady_clock::now();
    const double thread = bench::thread_us();
    const double process = process_us();
    machine.enrol(envelope);
    if (i >= unused) {
      total.push_back((process_us() - process) / 1e3);
      request.push_back((bench::thread_us() - thread) / 1e3);
      wall.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started)
              .count());
    }
    // Each round has all of them, so that what else the machine does weighs on all.
    for (int j = 0; j < 5; ++j) {
      p384.measure();
      p256.measure();
    }
  }
  std::ranges::sort(total);
  return {is_board ? 12 : gpus,           middle(request), middle(total), middle(wall),
          total[total.size() * 99 / 100], p384.us(),       p256.us(),     bytes};
}

Json to_json(const Row& row) {
  return {{"devices", row.devices},
          {"request_ms", row.request_ms},
          {"total_ms", row.total_ms},
          {"total_p99_ms", row.p99_ms},
          {"wall_ms", row.wall_ms},
          {"p384_us", row.p384_us},
          {"p256_us", row.p256_us},
          {"p384_per_second", 1e6 / row.p384_us},
          {"p256_per_second", 1e6 / row.p256_us},
          {"bar_ms", row.bar_ms()},
          {"envelope_bytes", row.bytes}};
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse_options(argc, argv, "composite_enrolment_bench");
  const std::size_t rounds = bench::number(options, "rounds", 30);
  const std::uint64_t only = bench::number(options, "devices", 0);
  const std::string json = bench::text(options, "json", "");
  std::FILE* const out = json == "-" ? stderr : stdout;
  bench::World world(
      bench::text(options, "dir", "/tmp") + "/composite-" + std::to_string(::getpid()), 1, 1);
  world.services().nodes.dangerous_allow_unregistered = true;
  std::fprintf(out, "%8s %11s %9s %9s %9s %9s %9s %9s\n", "devices", "request ms", "total ms",
               "p99", "wall ms", "P-384 us", "P-256 us", "bar ms");
  Json rows = Json::array();
  bool kept = true;
  for (const unsigned devices : {1U, 2U, 4U, 8U, 12U}) {
    if (only != 0 && devices != only) {
      continue;
    }
    const bool is_board = devices == 12;
    const Row row = measure(world, is_board ? 8 : devices, is_board, rounds);
    std::fprintf(out, "%8u %11.2f %9.2f %9.2f %9.2f %9.1f %9.1f %9.2f\n", row.devices,
                 row.request_ms, row.total_ms, row.p99_ms, row.wall_ms, row.p384_us, row.p256_us,
                 row.bar_ms());
    kept = kept && (!is_board || row.total_ms <= row.bar_ms());
    rows.push_back(to_json(row));
  }
  const Json result = {{"benchmark", "composite_enrolment"}, {"rounds", rounds}, {"rows", rows}};
  if (json == "-") {
    std::printf("%s\n", result.dump(1).c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
