// SPDX-License-Identifier: Apache-2.0
// The time that one thread needs for a SEV-SNP report, beside one P-384 verification, which is the
// limit. A report with a known VCEK needs one. With a new VCEK, two of RSA-4096 come on top. Words:
// rounds=N json=FILE ("-": to standard output alone). Exits with 1 when a known VCEK is below 0.85
// of the rate of P-384.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <vector>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/keys.h"
#include "attestation/simulate/snp_simulation.h"
#include "attestation/snp/certificate_table.h"
#include "attestation/snp/verify.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "schemas/core/json.h"

namespace {

using namespace assay;
using namespace assay::attestation::snp;
using bench::measure;
using bench::Times;

constexpr double kMinShare = 0.85;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

struct World {
  Timestamp now = parse_rfc3339("2026-06-01T12:00:00Z").value();
  SnpSimulation made = simulate(valid_snp_simulation(Bytes(32, 7), now));
  TrustAnchor anchor = TrustAnchor::from_bytes(made.root).value();
  AppraisalPolicy policy;

  [[nodiscard]] AuthenticatedCollateral authenticated() const {
    return authenticate_collateral(made.collateral, anchor).value();
  }
  void expect_genuine(const AuthenticatedCollateral& set) const {
    const auto result =
        verify(made.evidence, set, {now, ReportDataExpectation::not_requested(), policy});
    if (!result.accepted) {
      die("the report is refused: " + error_code(result).value_or("?"));
    }
  }
};

// One verification with a key at hand, over as many bytes as a report signs: the limit.
class Limit {
 public:
  explicit Limit(const World& world)
      : table_(
            parse_certificate_table(ByteView(world.made.evidence).subspan(kReportBytes)).value()),
        key_(attestation::x509::Certificate::from_der(table_.vcek).value().public_key().value()),
        signed_(ByteView(world.made.evidence).first(kSignedBytes)),
        signature_(attestation::der_signature(
            parse_report(ByteView(world.made.evidence).first(kReportBytes)).value().signature,
            48)) {}

  void verify_once() const {
    if (!key_.verify(signed_, signature_)) {
      die("the signature of the report does not verify");
    }
  }

 private:
  CertificateTable table_;
  attestation::PublicKey key_;
  ByteView signed_;
  Bytes signature_;
};

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

struct Medians {
  double limit;
  double known;
};

// One after the other, so that a busy moment of the machine meets both.
Medians in_turn(const World& world, std::size_t rounds) {
  const Limit limit(world);
  const AuthenticatedCollateral set = world.authenticated();
  std::vector<double> limits;
  std::vector<double> reports;
  for (std::size_t i = 0; i < rounds; ++i) {
    limits.push_back(measure(1, [&] { limit.verify_once(); }).p50);
    reports.push_back(measure(1, [&] { world.expect_genuine(set); }).p50);
  }
  return {median(std::move(limits)), median(std::move(reports))};
}

Times first_seen(const World& world, std::size_t rounds) {
  std::optional<AuthenticatedCollateral> set;
  return measure(
      rounds, [&] { set.emplace(world.authenticated()); }, [&] { world.expect_genuine(*set); });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse_options(argc, argv, "attestation_snp_bench");
  const std::size_t rounds = bench::number(options, "rounds", 1000);
  const std::string json = bench::text(options, "json", "");
  std::FILE* out = json == "-" ? stderr : stdout;
  const World world;

  const Medians medians = in_turn(world, rounds);
  const Times fresh = first_seen(world, rounds / 4);
  const double share = medians.limit / medians.known;
  const auto line = [&](const char* what, double us) {
    std::fprintf(out, "  %-34s %8.1f us, %6.0f a second\n", what, us, 1e6 / us);
  };
  line("limit: one P-384 verification", medians.limit);
  line("report, VCEK known", medians.known);
  line("report, VCEK first seen", fresh.p50);
  const bool kept = share >= kMinShare;
  std::fprintf(out, "a known VCEK: %.2f of the rate of P-384, at least %.2f: %s\n", share,
               kMinShare, kept ? "kept" : "NOT KEPT");
  const Json result = {{"benchmark", "attestation_snp"},
                       {"p384_us", medians.limit},
                       {"known_us", medians.known},
                       {"first_seen_us", fresh.p50},
                       {"share", share},
                       {"min_share", kMinShare},
                       {"kept", kept}};
  if (json == "-") {
    std::printf("%s\n", result.dump().c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
