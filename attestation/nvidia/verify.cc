// SPDX-License-Identifier: Apache-2.0
// The verification of a report, and comparison with RIMs.
#include "attestation/nvidia/verify.h"

#include <algorithm>

#include "attestation/crypto/ecdsa_signature.h"

namespace assay::attestation::nvidia {
namespace {

constexpr std::uint8_t kNvdecIndex = 35;
constexpr std::size_t kScalarBytes = kSignatureBytes / 2;

Outcome check_nonce(const ReportView& report, const NonceExpectation& wanted) {
  if (wanted.value() && *wanted.value() != report.nonce) {
    return reject(NvidiaError::kNonceMismatch, hex_encode(*wanted.value()),
                  hex_encode(report.nonce));
  }
  return {};
}

Outcome check_time(const DeviceChain& chain, Timestamp now) {
  if (now > chain.valid_until) {
    return reject(NvidiaError::kDeviceChainExpired, "until " + to_rfc3339(chain.valid_until),
                  to_rfc3339(now));
  }
  if (now < chain.valid_from) {
    return reject(NvidiaError::kDeviceChainNotYetValid, "from " + to_rfc3339(chain.valid_from),
                  to_rfc3339(now));
  }
  return {};
}

Outcome check_signature(const ReportView& report, const DeviceChain& chain) {
  const Bytes der = der_signature(report.signature, kScalarBytes);
  if (der.empty() || !chain.key->verify(report.signed_bytes, der)) {
    return reject(NvidiaError::kReportSignature);
  }
  return {};
}

Checked<FwidCheck> check_fwid(const ReportView& report, const DeviceChain& chain) {
  const auto reported = report.field(OpaqueType::kFwid);
  if (!reported) {
    return FwidCheck::kNotReported;
  }
  if (!chain.fwid) {
    return reject(NvidiaError::kFwidMismatch, "no digest of firmware in the certificate",
                  hex_encode(*reported));
  }
  if (!std::ranges::equal(*reported, *chain.fwid)) {
    return reject(NvidiaError::kFwidMismatch, hex_encode(*chain.fwid), hex_encode(*reported));
  }
  return FwidCheck::kMatched;
}

RimState state_of(const Rim& rim, Timestamp now) {
  if (now > rim.valid_until) {
    return RimState::kExpired;
  }
  return now < rim.valid_from ? RimState::kNotYetValid : RimState::kValid;
}

// The RIM with this id; of several one that is valid now.
const Rim* find_rim(std::span<const Rim> rims, const WantedRim& wanted, const DeviceFacts& facts,
                    Timestamp now) {
  const Rim* found = nullptr;
  for (const Rim& rim : rims) {
    // The first two letters are the family of the chip: GH, GB, LS.
    if (rim.id != wanted.id || rim.source != wanted.source ||
        rim.product.substr(0, 2) != facts.chip.substr(0, 2)) {
      continue;
    }
    if (found == nullptr ||
        (state_of(*found, now) != RimState::kValid && state_of(rim, now) == RimState::kValid)) {
      found = &rim;
    }
  }
  return found;
}

class Judge {
 public:
  Judge(const Judging& judging, DeviceFacts& facts) : judging_(judging), facts_(facts) {}

  void judge_certificates(std::string_view where, std::span<const x509::Certificate> chain,
                          std::span<const std::vector<OcspStatus>> statuses) {
    for (std::size_t i = 0; i < statuses.size() && i < chain.size(); ++i) {
      JudgedStatus judged = judge_status(statuses[i], judging_.now, judging_.window);
      if (judged.counts_until) {
        ends_at(*judged.counts_until);
      }
      facts_.revocations.push_back(
          {std::string(where), chain[i].subject(), judged.state, std::move(judged.reason)});
    }
  }

  void judge_rims(const ReportView& report) {
    std::vector<const Rim*> found;
    for (const WantedRim& wanted : facts_.firmware.wanted) {
      const Rim* rim = find_rim(judging_.rims, wanted, facts_, judging_.now);
      if (rim == nullptr) {
        facts_.rims.push_back({wanted.source, wanted.id, RimState::kMissing, {}, {}});
        continue;
      }
      const RimState state = state_of(*rim, judging_.now);
      facts_.rims.push_back({wanted.source, wanted.id, state, rim->digest, rim->valid_until});
      if (state == RimState::kValid) {
        ends_at(rim->valid_until);
      }
      judge_certificates(name(wanted.source), rim->certificates, rim->statuses);
      compare(report, *rim);
      found.push_back(rim);
    }
    find_conflicts(found);
    facts_.is_measured = found.size() == facts_.firmware.wanted.size() && facts_.compared > 0 &&
                         facts_.mismatches.empty() && facts_.conflicts.empty() &&
                         !facts_.is_nvdec_unclear;
  }

 private:
  void ends_at(Timestamp time) { facts_.valid_until = std::min(facts_.valid_until, time); }

  void compare(const ReportView& report, const Rim& rim) {
    for (const Golden& golden : rim.goldens) {
      if (golden.index == kNvdecIndex && facts_.kind == DeviceKind::kGpu) {
        if (!facts_.firmware.has_nvdec) {
          facts_.is_nvdec_unclear = true;
        } else if (!*facts_.firmware.has_nvdec) {
          continue;
        }
      }
      ++facts_.compared;
      const auto reported = report.measurement(golden.index);
      const bool is_right =
          reported && std::ranges::any_of(golden.alternatives, [&](const Bytes& one) {
            return std::ranges::equal(one, *reported);
          });
      if (!is_right) {
        facts_.mismatches.push_back(
            {rim.source, golden.index, golden.alternatives,
             reported ? std::optional(Bytes(reported->begin(), reported->end())) : std::nullopt});
      }
    }
  }

  void find_conflicts(const std::vector<const Rim*>& rims) {
    std::vector<std::uint8_t> all;
    for (const Rim* rim : rims) {
      for (const Golden& golden : rim->goldens) {
        if (std::ranges::find(all, golden.index) != all.end()) {
          facts_.conflicts.push_back(golden.index);
        }
        all.push_back(golden.index);
      }
    }
  }

  const Judging& judging_;
  DeviceFacts& facts_;
};

DeviceFacts identity_of(const DeviceChain& chain, const ReportView& report,
                        const Judging& judging) {
  const x509::Certificate& root = chain.certificates.back();
  DeviceFacts facts{.identity = chain.identity,
                    .serial = chain.serial,
                    .chip = chain.chip,
                    .architecture = chain.architecture,
                    .kind = chain.kind,
                    .pdi = chain.pdi,
                    .root = root.digest(),
                    .is_nvidia_root = root == device_root(),
                    .nonce_matched = judging.nonce.value().has_value(),
                    .nonce = report.nonce,
                    .fwid = FwidCheck::kNotReported,
                    .firmware = {},
                    .rims = {},
                    .mismatches = {},
                    .conflicts = {},
                    .revocations = {},
                    .valid_until = chain.valid_until};
  return facts;
}

DebugState debug_of(const DeviceFacts& facts, const DeviceChain& chain) {
  if (chain.is_debuggable) {
    return DebugState::kEnabled;
  }
  return facts.is_measured ? DebugState::kDisabled : DebugState::kUnknown;
}

}  // namespace

std::string_view name(RimState state) {
  switch (state) {
    case RimState::kValid:
      return "valid";
    case RimState::kExpired:
      return "expired";
    case RimState::kNotYetValid:
      return "not-yet-valid";
    default:
      return "missing";
  }
}

std::string_view name(FwidCheck check) {
  return check == FwidCheck::kMatched ? "matched" : "not-reported";
}

std::string_view name(DebugState state) {
  switch (state) {
    case DebugState::kDisabled:
      return "disabled";
    case DebugState::kEnabled:
      return "enabled";
    default:
      return "unknown";
  }
}

Checked<KnownDevice> open_device(std::string_view pem, std::span<const x509::Certificate> roots,
                                 std::span<const OcspResponse> responses) {
  auto chain = verify_device_chain(pem, roots);
  if (!chain) {
    return std::unexpected(std::move(chain).error());
  }
  auto statuses = statuses_of(chain->certificates, responses);
  return KnownDevice{*std::move(chain), std::move(statuses)};
}

Checked<DeviceFacts> verify(ByteView bytes, const KnownDevice& device, const Judging& judging) {
  const auto report = parse_report(bytes);
  if (!report) {
    return std::unexpected(report.error());
  }
  const DeviceChain& chain = device.chain;
  for (Outcome checked : {check_nonce(*report, judging.nonce), check_time(chain, judging.now)}) {
    if (!checked) {
      return std::unexpected(std::move(checked).error());
    }
  }
  if (auto checked = check_signature(*report, chain); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  const auto fwid = check_fwid(*report, chain);
  if (!fwid) {
    return std::unexpected(fwid.error());
  }
  auto firmware = read_firmware(*report, chain);
  if (!firmware) {
    return std::unexpected(std::move(firmware).error());
  }
  DeviceFacts facts = identity_of(chain, *report, judging);
  facts.fwid = *fwid;
  facts.firmware = *std::move(firmware);
  Judge judge(judging, facts);
  // The leaf has no answers: it is made anew with each firmware, and its issuer is the device.
  judge.judge_certificates("device", std::span(chain.certificates).subspan(1),
                           std::span(device.statuses).subspan(1));
  judge.judge_rims(*report);
  facts.debug = debug_of(facts, chain);
  return facts;
}

Checked<DeviceFacts> verify(const Evidence& evidence, const Trust& trust, Timestamp now,
                            const NonceExpectation& nonce) {
  const auto device = open_device(evidence.certificates, trust.device_roots, trust.responses);
  if (!device) {
    return std::unexpected(device.error());
  }
  if (evidence.architecture && *evidence.architecture != device->chain.architecture) {
    return reject(NvidiaError::kArchitectureMismatch, std::string(name(*evidence.architecture)),
                  std::string(name(device->chain.architecture)));
  }
  auto facts = verify(evidence.report, *device, {now, nonce, trust.rims, trust.window});
  if (facts && evidence.nonce && *evidence.nonce != facts->nonce) {
    return reject(NvidiaError::kNonceMismatch, hex_encode(*evidence.nonce),
                  hex_encode(facts->nonce));
  }
  return facts;
}

}  // namespace assay::attestation::nvidia
