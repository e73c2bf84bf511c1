// SPDX-License-Identifier: Apache-2.0
// One thread verifies evidence of NVIDIA devices, beside P-384 verifications in the same rounds,
// which are the limit. Measured are reports of a GPU and of a switch, with device and RIM known and
// with nothing known, and the opening of RIMs.
//   attestation_nvidia_bench [rounds=200] [only=TEXT] [json=FILE|-]      TEXT: of the names of rows
// Exits with 1 when a known device takes more than kMaxWarmRatio of two verifications, or a RIM
// longer than kMaxRimUs. Nobody but NVIDIA signs a RIM of 300 KiB: that one is read, its chain and
// digest are verified, and it is refused.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "attestation/keys.h"
#include "attestation/nvidia/evidence_file.h"
#include "attestation/nvidia/verify.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "schemas/core/json.h"

namespace {

using namespace assay;  // NOLINT: a program of its own
namespace nvidia = attestation::nvidia;
using bench::measure;
using bench::Times;

constexpr double kMaxWarmRatio = 1.5;  // of two P-384 verifications
constexpr double kMaxRimUs =
    10'000;  // where two verifications take kUsualLimitUs; else in proportion
constexpr double kUsualLimitUs = 1'111;  // 1,800 a second
constexpr std::size_t kLongRim = 300U << 10;
constexpr const char* kSwitchRim = "NV_SWITCH_BIOS_5612_0002_890_9610550001";

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

std::string read(const std::string& name) {
  std::ifstream in(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/nvgpu" / name,
                   std::ios::binary);
  if (!in) {
    die("cannot read " + name);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
T must(nvidia::Checked<T> result, const char* what) {
  if (!result) {
    die(std::string(what) + ": " + code(result.error()));
  }
  return *std::move(result);
}

nvidia::Rim rim(const std::string& id) {
  return must(
      nvidia::open_rim(id, as_bytes(read(id + ".xml")), std::span(&nvidia::rim_root(), 1), {}),
      "RIM");
}

// Verifications of two signatures by a P-384 key.
class TwoSignatures {
 public:
  void verify() const {
    for (int i = 0; i < 2; ++i) {
      if (!key_.verify(message_, signature_)) {
        die("a signature does not verify");
      }
    }
  }

 private:
  Bytes message_ = Bytes(4096, 0x5a);
  std::unique_ptr<Signer> signer_ =
      attestation::generate_key(SignatureAlgorithm::kEcdsaP384).value();
  attestation::PublicKey key_ = attestation::PublicKey::from_der(signer_->public_key()).value();
  Bytes signature_ = signer_->sign(message_).value();
};

struct Row {
  std::string what;
  Times times;
  double limit_us;
  double max_us;  // 0: no bar
};

class Bench {
 public:
  Bench(std::size_t rounds, std::string only) : rounds_(rounds), only_(std::move(only)) {}

  template <typename Work>
  void row(const std::string& what, double max_ratio, double max_us, const Work& work) {
    if (what.find(only_) == std::string::npos) {
      return;
    }
    std::vector<double> limits;
    // Each round has both, so that what else the machine does weighs on both.
    const Times times = measure(
        rounds_,
        [&] {
          const double begin = bench::thread_us();
          signatures_.verify();
          limits.push_back(bench::thread_us() - begin);
        },
        work);
    std::ranges::sort(limits);
    const double limit = limits[limits.size() / 2];
    results_.push_back(
        {what, times, limit, max_ratio > 0 ? max_ratio * limit : max_us * limit / kUsualLimitUs});
  }

  [[nodiscard]] const std::vector<Row>& results() const { return results_; }

 private:
  std::size_t rounds_;
  std::string only_;
  TwoSignatures signatures_;
  std::vector<Row> results_;
};

// The RIM of a switch, made longer by measurements of which none is signed.
std::string long_rim() {
  std::string text = read(std::string(kSwitchRim) + ".xml");
  const std::size_t begin = text.find("<ns0:Resource");
  const std::string one = text.substr(begin, text.find("/>", begin) + 2 - begin);
  std::string more;
  while (text.size() + more.size() < kLongRim) {
    more += one;
  }
  return text.insert(begin, more);
}

void measure_all(Bench& bench) {
  const Timestamp now = parse_rfc3339("2026-11-01T00:00:00Z").value();
  const std::vector<nvidia::Rim> rims = {rim(kSwitchRim),
                                         rim("NV_GPU_VBIOS_1010_0205_862_96005E0004")};
  const auto roots = std::span(&nvidia::device_root(), 1);
  for (const char* file : {"hopper-570.json", "ls10.json"}) {
    const nvidia::Evidence evidence =
        must(nvidia::parse_evidence(as_bytes(read(file))), file).front();
    const auto nonce = nvidia::NonceExpectation::exactly(*evidence.nonce);
    const auto known = must(nvidia::open_device(evidence.certificates, roots, {}), file);
    bench.row(std::string(file) + ", known", kMaxWarmRatio, 0,
              [&] { must(nvidia::verify(evidence.report, known, {now, nonce, rims}), file); });
    bench.row(std::string(file) + ", cold", 0, 0,
              [&] { must(nvidia::verify(evidence, {roots, rims, {}}, now, nonce), file); });
  }
  const std::string text = read(std::string(kSwitchRim) + ".xml");
  bench.row("RIM of 25 KiB, first time", 0, kMaxRimUs, [&] {
    must(nvidia::open_rim(kSwitchRim, as_bytes(text), std::span(&nvidia::rim_root(), 1), {}),
         "RIM");
  });
  const std::string longer = long_rim();
  bench.row("RIM of 300 KiB, first time", 0, kMaxRimUs, [&] {
    if (nvidia::open_rim(kSwitchRim, as_bytes(longer), std::span(&nvidia::rim_root(), 1), {})) {
      die("a changed RIM verifies");
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse_options(argc, argv, "attestation_nvidia_bench");
  const std::size_t rounds = bench::number(options, "rounds", 200);
  const std::string json = bench::text(options, "json", "");
  std::FILE* const out = json == "-" ? stderr : stdout;
  Bench bench(rounds, bench::text(options, "only", ""));
  measure_all(bench);
  Json rows = Json::array();
  bool kept = true;
  std::fprintf(out, "%-28s %9s %9s %18s %9s\n", "evidence", "us", "p99", "2 x P-384, us", "bar us");
  for (const Row& one : bench.results()) {
    kept = kept && (one.max_us == 0 || one.times.p50 <= one.max_us);
    std::fprintf(out, "%-28s %9.1f %9.1f %18.1f %9.1f\n", one.what.c_str(), one.times.p50,
                 one.times.p99, one.limit_us, one.max_us);
    rows.push_back({{"evidence", one.what},
                    {"us", one.times.p50},
                    {"p99", one.times.p99},
                    {"limit_us", one.limit_us},
                    {"max_us", one.max_us}});
  }
  const Json result = {{"benchmark", "attestation_nvidia"}, {"rounds", rounds}, {"rows", rows}};
  if (json == "-") {
    std::printf("%s\n", result.dump(1).c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
