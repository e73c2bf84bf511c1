// SPDX-License-Identifier: Apache-2.0
#include "tests/policy/random_evidence.h"

#include <set>

#include "schemas/core/sha.h"

namespace assay::policy::test {
namespace {

bool one_in(std::mt19937_64& engine, std::size_t n) { return engine() % n == 0; }

template <typename T>
T pick(std::mt19937_64& engine, std::vector<T> choices) {
  return choices.at(engine() % choices.size());
}

using Texts = std::vector<std::string>;

std::string sha384(const std::string& bytes) {
  return sha(HashAlgorithm::kSha384, as_bytes(bytes)).hex();
}

constexpr const char* kLine = "console=hvc0";

// The command line as somebody measures it: as it is, in two bytes a letter, and so with its end.
std::string measured_line(std::mt19937_64& engine) {
  std::string wide;
  for (const char letter : std::string(kLine)) {
    wide += {letter, '\0'};
  }
  return sha384(pick(engine, Texts{kLine, wide, wide + std::string(2, '\0')}));
}

StageEvidenceFact piece(std::mt19937_64& engine, KeyId key, std::size_t rare) {
  StageEvidenceFact fact{std::move(key), one_in(engine, rare) ? "other" : "tdx", from_now(-60)};
  const auto wrong = [&] { return one_in(engine, rare); };
  fact.anchor = Anchor::root(sha256(as_bytes(wrong() ? "other root" : "vendor's root")));
  fact.anchor_is_vendor = !wrong();
  fact.status_then = one_in(engine, rare / 4) ? "OutOfDate" : "UpToDate";
  fact.status_now = one_in(engine, rare / 4) ? "OutOfDate" : "UpToDate";
  fact.error_then = wrong() ? "TD_MRTD_MISMATCH" : "";
  fact.error_now = wrong() ? "TD_MRTD_MISMATCH" : "";
  fact.current = !wrong();
  fact.has_reference_values = !wrong();
  for (const char* name : {"mrtd", "rtmr0", "rtmr1", "rtmr2"}) {
    if (!wrong()) {
      fact.measurements[name] = wrong() ? "bb" : "aa";
    }
  }
  if (wrong()) {
    fact.accepted_at = pick(engine, std::vector{from_now(1), now(), from_now(-3600)});
  }
  if (!wrong()) {
    fact.made_after =
        wrong() ? pick(engine, std::vector{from_now(2), from_now(-4000)}) : from_now(-90);
  }
  if (one_in(engine, 2)) {
    fact.valid_until = wrong() ? pick(engine, std::vector{now(), from_now(-5)})
                               : pick(engine, std::vector{from_now(3), from_now(7)});
  }
  fact.appraisal = DocumentId(sha256(as_bytes("appraisal")));
  fact.boot = random_boot(engine, rare);
  return fact;
}

}  // namespace

std::optional<MeasuredBoot> random_boot(std::mt19937_64& engine, std::size_t rare) {
  const auto wrong = [&] { return one_in(engine, rare); };
  MeasuredBoot boot;
  if (!wrong()) {
    boot.secure_boot = !wrong();
  }
  boot.rtmr1 = Texts{sha384("loader"), sha384(wrong() ? "other kernel" : "kernel")};
  boot.rtmr2 = Texts{sha384("initrd")};
  if (!wrong()) {
    boot.rtmr2->push_back(measured_line(engine));
  }
  if (wrong()) {
    boot.rtmr2->push_back(sha384("other"));
  }
  if (wrong()) {
    (one_in(engine, 2) ? boot.rtmr1 : boot.rtmr2).reset();
  }
  return wrong() ? std::nullopt : std::optional(boot);
}

std::optional<BootDemands> random_boot_demands(std::mt19937_64& engine) {
  if (!one_in(engine, 4)) {
    return std::nullopt;
  }
  BootDemands demands;
  demands.secure_boot = one_in(engine, 2);
  if (one_in(engine, 3)) {
    return demands;
  }
  demands.kernels =
      pick(engine, std::vector<Texts>{{sha384("kernel")}, {sha384("kernel"), sha384("newer")}, {}});
  if (one_in(engine, 2)) {
    demands.initrds = {sha384("initrd")};
  }
  if (one_in(engine, 2)) {
    demands.command_lines = pick(engine, std::vector<Texts>{{kLine}, {"quiet", kLine}, {"quiet"}});
  }
  demands.others = {sha384("loader")};
  if (!one_in(engine, 3)) {  // whatever no list of its own names
    for (const char* one : {"kernel", "initrd"}) {
      demands.others.push_back(sha384(one));
    }
    demands.others.push_back(measured_line(engine));
  }
  demands.allow_others = one_in(engine, 3);
  return demands;
}

std::vector<StageEvidenceFact> random_evidence(std::mt19937_64& engine,
                                               const StatementFact& statement, bool honest) {
  const std::size_t rare = honest ? 60 : 12;
  std::vector<StageEvidenceFact> evidence;
  std::set<KeyId> known;
  for (const SignerFact& signer : statement.signers) {
    if (known.insert(signer.key.id).second && !one_in(engine, 4)) {
      evidence.push_back(piece(engine, signer.key.id, rare));
    }
  }
  if (one_in(engine, rare)) {
    evidence.push_back(piece(engine, publisher("nobody-1", "nobody").id, rare));
  }
  return evidence;
}

EvidenceDemands random_demands(std::mt19937_64& engine) {
  EvidenceDemands demands;
  demands.type = one_in(engine, 2) ? "tdx" : "";
  demands.appraised =
      pick(engine, std::vector{AppraisedWhen::kBoth, AppraisedWhen::kThen, AppraisedWhen::kNow});
  if (one_in(engine, 3)) {
    demands.tcb_status_then = {"UpToDate"};
  }
  if (one_in(engine, 3)) {
    demands.tcb_status_now = {"UpToDate"};
  }
  if (one_in(engine, 3)) {
    demands.anchors = {sha256(as_bytes(one_in(engine, 3) ? "other root" : "vendor's root")).text()};
  }
  for (const char* name : {"mrtd", "rtmr0", "rtmr1", "rtmr2"}) {
    if (one_in(engine, 3)) {
      demands.reference_values[name] = pick(engine, std::vector<Texts>{{"aa"}, {"aa", "bb"}, {}});
    }
  }
  if (one_in(engine, 3)) {
    demands.max_age_seconds = pick(engine, std::vector<std::uint64_t>{59, 60, 3600});
  }
  if (one_in(engine, 3)) {
    demands.made_within_seconds = pick(engine, std::vector<std::uint64_t>{29, 30, 3600});
  }
  demands.allow_missing_reference_values = one_in(engine, 4);
  demands.boot = random_boot_demands(engine);
  return demands;
}

}  // namespace assay::policy::test
