// SPDX-License-Identifier: Apache-2.0
// What verifying a sigstore bundle offline costs one thread, from its JSON to the result, beside
// the signature verifications that it needs, which are the limit: counted by algorithm, at rates
// that are measured in the same run. The bundles are those of tests/vectors/sigstore; the trusted
// root is read once, as a program that verifies many bundles does.
//   sigstore_bundle_bench [rounds=400] [json=FILE|-]
// Exits with 1 when a bundle takes more than kMaxRatio of its limit.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attestation/keys.h"
#include "attestation/sigstore/verify.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "schemas/core/json.h"

namespace {

using namespace assay;  // NOLINT: a program of its own
namespace sigstore = attestation::sigstore;
using attestation::PublicKey;
using bench::measure;
using bench::Times;

constexpr double kMaxRatio = 1.3;
constexpr const char* kWho =
    "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/"
    "workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
constexpr const char* kIssuer = "https://token.actions.githubusercontent.com";

// A bundle, and the signatures that must be verified for it.
struct Row {
  const char* bundle;
  const char* root;
  const char* artifact;
  const char* key;  // empty: an identity
  int p256;
  int p384;
  int ed25519;
  bool has_bar;
};

constexpr std::array<Row, 5> kRows = {{
    // Two certificates (P-384); SCT, promise, checkpoint, artifact.
    {"message-v0.3", "public-good", "a.txt", "", 4, 2, 0, true},
    // Two certificates, the authority's and its timestamp (P-384); SCT, artifact; checkpoint.
    {"rekor2-message", "staging", "a.txt", "", 2, 4, 1, true},
    {"rekor2-dsse", "staging", "a.txt", "", 2, 4, 1, true},
    // A deployment for tests, whose authorities have P-256 keys: certificates take longer to parse
    // than to verify. One certificate, the authority's and its timestamp; SCT, promise, checkpoint,
    // envelope.
    {"intoto-v0.2", "custom", "d.txt", "", 7, 0, 0, false},
    // Promise, checkpoint, artifact.
    {"managed-key", "staging", "a.txt", "managed-key.pub", 3, 0, 0, true},
}};

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

std::string read(const std::string& name) {
  std::ifstream in(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/vectors/sigstore" / name,
                   std::ios::binary);
  if (!in) {
    die("cannot read " + name);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
T must(Result<T> result, const char* what) {
  if (!result) {
    die(std::string(what) + ": " + to_string(result.error()));
  }
  return *std::move(result);
}

// Keys with a signature each: what the limit is made of.
class Signatures {
 public:
  explicit Signatures(SignatureAlgorithm algorithm)
      : signer_(must(attestation::generate_key(algorithm), "key")),
        key_(must(PublicKey::from_der(signer_->public_key()), "key")),
        signature_(must(signer_->sign(message_), "signature")) {}

  void verify(int times) const {
    for (int i = 0; i < times; ++i) {
      if (!key_.verify(message_, signature_)) {
        die("a signature does not verify");
      }
    }
  }

 private:
  Bytes message_ = Bytes(256, 0x5a);
  std::unique_ptr<Signer> signer_;
  PublicKey key_;
  Bytes signature_;
};

struct Limit {
  Signatures p256{SignatureAlgorithm::kEcdsaP256};
  Signatures p384{SignatureAlgorithm::kEcdsaP384};
  Signatures ed25519{SignatureAlgorithm::kEd25519};

  void verify(const Row& row) const {
    p256.verify(row.p256);
    p384.verify(row.p384);
    ed25519.verify(row.ed25519);
  }
};

// Everything of a row that is read before.
struct Loaded {
  sigstore::TrustedRoot root;
  std::string bundle;
  sigstore::Artifact artifact;
  std::optional<PublicKey> key;
  sigstore::WantedIdentity identity;

  void verify() const {
    const sigstore::Bundle parsed = must(sigstore::parse_bundle(as_bytes(bundle)), "bundle");
    const Timestamp now = parse_rfc3339("2026-12-01T00:00:00Z").value();
    if (key) {
      const sigstore::ManagedKey signer{*key, sigstore::KeyEvidence::kRequired, &root};
      must(sigstore::verify_bundle(parsed, {signer, &artifact, now}), "verification");
    } else {
      const sigstore::Keyless signer{root, identity};
      must(sigstore::verify_bundle(parsed, {signer, &artifact, now}), "verification");
    }
  }
};

Loaded load(const Row& row) {
  const std::string artifact = read(row.artifact);
  sigstore::Artifact digests = sigstore::Artifact::of(as_bytes(artifact));
  digests.bytes.reset();
  Loaded loaded{must(sigstore::parse_trusted_root(
                         as_bytes(read(std::string(row.root) + ".trusted-root.json"))),
                     "trusted root"),
                read(std::string(row.bundle) + ".bundle.json"), std::move(digests), std::nullopt,
                must(sigstore::WantedIdentity::exactly(kIssuer, kWho), "identity")};
  if (*row.key != '\0') {
    loaded.key = must(PublicKey::from_pem(read(row.key)), "key");
  }
  return loaded;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse_options(argc, argv, "sigstore_bundle_bench");
  const std::size_t rounds = bench::number(options, "rounds", 400);
  const std::string json = bench::text(options, "json", "");
  std::FILE* const out = json == "-" ? stderr : stdout;
  Json rows = Json::array();
  bool kept = true;
  std::fprintf(out, "%-16s %9s %9s %9s %7s   signatures: P-256, P-384, Ed25519\n", "bundle", "us",
               "p99", "limit us", "ratio");
  const Limit limit;
  for (const Row& row : kRows) {
    const Loaded loaded = load(row);
    std::vector<double> limits;
    // Each round has both, so that what else the machine does weighs on both.
    const Times bundle = measure(
        rounds,
        [&] {
          const double begin = bench::thread_us();
          limit.verify(row);
          limits.push_back(bench::thread_us() - begin);
        },
        [&] { loaded.verify(); });
    std::ranges::sort(limits);
    const double limit_us = limits[limits.size() / 2];
    const double ratio = bundle.p50 / limit_us;
    kept = kept && (!row.has_bar || ratio <= kMaxRatio);
    std::fprintf(out, "%-16s %9.1f %9.1f %9.1f %7.2f   %d, %d, %d%s\n", row.bundle, bundle.p50,
                 bundle.p99, limit_us, ratio, row.p256, row.p384, row.ed25519,
                 row.has_bar ? "" : "   (no bar)");
    rows.push_back({{"bundle", row.bundle},
                    {"us", bundle.p50},
                    {"p99", bundle.p99},
                    {"limit_us", limit_us},
                    {"ratio", ratio},
                    {"max_ratio", kMaxRatio}});
  }
  const Json result = {{"benchmark", "sigstore_bundle"}, {"rounds", rounds}, {"rows", rows}};
  if (json == "-") {
    std::printf("%s\n", result.dump(1).c_str());
  } else if (!json.empty()) {
    std::ofstream(json) << result.dump(1) << "\n";
  }
  return kept ? 0 : 1;
}
