// SPDX-License-Identifier: Apache-2.0
// Judgement of facts.
#include "attestation/nvidia/accept.h"

#include <algorithm>
#include <string>

namespace assay::attestation::nvidia {
namespace {

constexpr std::int64_t kMaxGraceSeconds = 366LL * 86'400;

class Faults {
 public:
  Faults(const DeviceFacts& facts, const Acceptance& acceptance)
      : facts_(facts), acceptance_(acceptance) {}

  std::vector<Failure> all() {
    judge_revocations();
    if (acceptance_.require_nonce && !facts_.nonce_matched) {
      add(NvidiaError::kNonceNotRequested);
    }
    if (facts_.debug == DebugState::kEnabled) {
      add(NvidiaError::kDebugEnabled);
    }
    judge_rims();
    judge_measurements();
    return std::move(faults_);
  }

 private:
  void add(NvidiaError error, std::string expected = {}, std::string actual = {},
           std::string parameter = {}) {
    faults_.push_back({error, std::move(expected), std::move(actual), std::move(parameter)});
  }

  void judge_revocations() {
    // Revoked ones first.
    for (const auto state : {CertificateState::kRevoked, CertificateState::kHold}) {
      for (const RevocationFact& fact : facts_.revocations) {
        if (fact.state != state ||
            (state == CertificateState::kHold && acceptance_.allow_certificate_hold)) {
          continue;
        }
        add(state == CertificateState::kHold ? NvidiaError::kCertificateHold
                                             : NvidiaError::kCertificateRevoked,
            "good", fact.subject + (fact.reason.empty() ? "" : ": " + fact.reason), fact.where);
      }
    }
    for (const RevocationFact& fact : facts_.revocations) {
      if (acceptance_.require_revocation &&
          (fact.state == CertificateState::kUnknown || fact.state == CertificateState::kMissing)) {
        add(NvidiaError::kRevocationUnknown, "good",
            fact.subject + ": " + std::string(name(fact.state)), fact.where);
      }
    }
  }

  void judge_rims() {
    for (const RimFact& rim : facts_.rims) {
      const std::string source(name(rim.source));
      if (rim.state == RimState::kMissing) {
        add(NvidiaError::kRimMissing, rim.id, {}, source);
      } else if (rim.state == RimState::kNotYetValid) {
        add(NvidiaError::kRimNotYetValid, {}, rim.id, source);
      } else if (rim.state == RimState::kExpired && !acceptance_.allow_expired_rim) {
        add(NvidiaError::kRimExpired, {}, rim.id + " ended " + to_rfc3339(*rim.ends), source);
      }
    }
  }

  void judge_measurements() {
    for (const std::uint8_t index : facts_.conflicts) {
      add(NvidiaError::kRimConflict, {}, {}, std::to_string(index));
    }
    if (facts_.is_nvdec_unclear) {
      add(NvidiaError::kNvdecStatus);
    }
    for (const Mismatch& one : facts_.mismatches) {
      if (std::ranges::find(acceptance_.waived, WaivedMeasurement{one.source, one.index}) !=
          acceptance_.waived.end()) {
        continue;
      }
      std::string golden;
      for (const Bytes& value : one.golden) {
        golden += (golden.empty() ? "" : " or ") + hex_encode(value);
      }
      add(NvidiaError::kMeasurementMismatch, std::move(golden),
          one.reported ? hex_encode(*one.reported) : "absent",
          std::string(name(one.source)) + ":" + std::to_string(one.index));
    }
  }

  const DeviceFacts& facts_;
  const Acceptance& acceptance_;
  std::vector<Failure> faults_;
};

std::unexpected<Error> bad_member(const std::string& member, const std::string& wanted) {
  return fail(ErrorCode::kSchemaViolation, member + " is " + wanted, "/" + member);
}

Status read_bool(const Json& value, const std::string& member, bool& out) {
  if (!value.is_boolean()) {
    return bad_member(member, "true or false");
  }
  out = value.get<bool>();
  return {};
}

Status read_waived(const Json& value, std::vector<WaivedMeasurement>& out) {
  if (!value.is_array() || value.size() > kMaxWaived) {
    return bad_member("waived", "a list of at most " + std::to_string(kMaxWaived));
  }
  for (const Json& one : value) {
    const bool has_form = one.is_object() && one.size() == 2 && one.contains("source") &&
                          one.contains("index") &&
                          (one["source"] == "driver" || one["source"] == "vbios") &&
                          one["index"].is_number_unsigned() && one["index"] <= 254;
    if (!has_form) {
      return bad_member("waived", R"(a list of {"source":"driver"|"vbios","index":0 to 254})");
    }
    out.push_back({one["source"] == "driver" ? RimSource::kDriver : RimSource::kVbios,
                   one["index"].get<std::uint8_t>()});
  }
  return {};
}

}  // namespace

Result<Acceptance> parse_acceptance(const Json& json) {
  if (!json.is_object()) {
    return fail(ErrorCode::kSchemaViolation, "an acceptance is an object");
  }
  Acceptance acceptance;
  for (const auto& [member, value] : json.items()) {
    if (member == "require_nonce") {
      ASSAY_TRY(read_bool(value, member, acceptance.require_nonce));
    } else if (member == "allow_expired_rim") {
      ASSAY_TRY(read_bool(value, member, acceptance.allow_expired_rim));
    } else if (member == "allow_certificate_hold") {
      ASSAY_TRY(read_bool(value, member, acceptance.allow_certificate_hold));
    } else if (member == "require_revocation") {
      ASSAY_TRY(read_bool(value, member, acceptance.require_revocation));
    } else if (member == "ocsp_grace_seconds") {
      if (!value.is_number_unsigned() || value > kMaxGraceSeconds) {
        return bad_member(member, "0 to " + std::to_string(kMaxGraceSeconds));
      }
      acceptance.window.grace = std::chrono::seconds(value.get<std::int64_t>());
    } else if (member == "waived") {
      ASSAY_TRY(read_waived(value, acceptance.waived));
    } else {
      return fail(ErrorCode::kUnknownMember, "an acceptance has no such member", "/" + member);
    }
  }
  return acceptance;
}

std::vector<Failure> shortcomings(const DeviceFacts& facts, const Acceptance& acceptance) {
  return Faults(facts, acceptance).all();
}

}  // namespace assay::attestation::nvidia
