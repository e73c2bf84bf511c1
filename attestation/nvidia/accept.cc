// SPDX-License-Identifier: Apache-2.0
// Judgement of facts.
#include "attestation/nvidia/accept.h"

#include <algorithm>
#include <string>

namespace assay::attestation::nvidia {
namespace {

constexpr std::int64_t kMaxGraceSeconds = 366LL * 86'400;
constexpr int kMaxIndex = 254;
constexpr std::size_t kMaxReasonBytes = 256;

class Faults {
 public:
  Faults(const DeviceFacts& facts, const Acceptance& acceptance, Timestamp now)
      : facts_(facts), acceptance_(acceptance), now_(now) {}

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
      } else if (rim.state == RimState::kExpired && !acceptance_.allow_expired_rim &&
                 !acceptance_.vouched.contains(*rim.digest)) {
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
      if (waiver_of(one, acceptance_, now_) != nullptr) {
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
  Timestamp now_;
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

Result<WaivedMeasurement> read_waiver(const Json& json) {
  const bool has_form = json.is_object() && json.size() == 4 && json.contains("source") &&
                        json.contains("index") && json.contains("reason") &&
                        json.contains("until") &&
                        (json["source"] == "driver" || json["source"] == "vbios") &&
                        json["index"].is_number_unsigned() && json["index"] <= kMaxIndex &&
                        json["reason"].is_string() && json["until"].is_string();
  const auto until =
      has_form ? parse_rfc3339(json["until"].get<std::string>()) : Result<Timestamp>(Timestamp());
  const auto& reason = has_form ? json["reason"].get_ref<const std::string&>() : std::string();
  if (!has_form || !until || reason.empty() || reason.size() > kMaxReasonBytes) {
    return bad_member("waived",
                      R"(a list of {"source":"driver"|"vbios","index":0 to 254,"reason","until"})");
  }
  return WaivedMeasurement{json["source"] == "driver" ? RimSource::kDriver : RimSource::kVbios,
                           json["index"].get<std::uint8_t>(), reason, *until};
}

Status read_waived(const Json& value, std::vector<WaivedMeasurement>& out) {
  if (!value.is_array() || value.size() > kMaxWaived) {
    return bad_member("waived", "a list of at most " + std::to_string(kMaxWaived));
  }
  for (const Json& one : value) {
    ASSAY_ASSIGN(WaivedMeasurement waived, read_waiver(one));
    out.push_back(std::move(waived));
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

Json to_json(const Acceptance& acceptance) {
  Json waived = Json::array();
  for (const WaivedMeasurement& one : acceptance.waived) {
    waived.push_back({{"source", name(one.source)},
                      {"index", one.index},
                      {"reason", one.reason},
                      {"until", to_rfc3339(one.until)}});
  }
  return {{"require_nonce", acceptance.require_nonce},
          {"allow_expired_rim", acceptance.allow_expired_rim},
          {"allow_certificate_hold", acceptance.allow_certificate_hold},
          {"require_revocation", acceptance.require_revocation},
          {"ocsp_grace_seconds", static_cast<std::uint64_t>(acceptance.window.grace.count())},
          {"waived", std::move(waived)}};
}

const WaivedMeasurement* waiver_of(const Mismatch& mismatch, const Acceptance& acceptance,
                                   Timestamp now) {
  const auto found = std::ranges::find_if(acceptance.waived, [&](const WaivedMeasurement& one) {
    return one.source == mismatch.source && one.index == mismatch.index && now < one.until;
  });
  return found == acceptance.waived.end() ? nullptr : &*found;
}

std::vector<Failure> shortcomings(const DeviceFacts& facts, const Acceptance& acceptance,
                                  Timestamp now) {
  return Faults(facts, acceptance, now).all();
}

}  // namespace assay::attestation::nvidia
