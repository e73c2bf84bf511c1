// SPDX-License-Identifier: Apache-2.0
#include "attestation/plugin/conformance.h"

#include <algorithm>
#include <utility>

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay::attestation::plugin {
namespace {

using Vector = Vectors::Vector;

// At most so many places of the evidence are changed, evenly spread.
constexpr std::size_t kPlaces = 64;

Result<Vector> read_vector(const Json& json, const std::string& type) {
  const Json none = Json::object();
  Vector vector;
  vector.name = members::text(json, "name");
  vector.evidence.type = type;
  ASSAY_ASSIGN(vector.evidence.quote, base64_decode(members::text(json, "evidence")));
  ASSAY_ASSIGN(vector.evidence.event_log, base64_decode(members::text(json, "event_log")));
  if (json.contains("endorsements")) {
    vector.evidence.collateral = json["endorsements"];
  }
  vector.appraisal.evidence_type = type;
  vector.appraisal.policy = members::child(json, "policy", none);
  ASSAY_ASSIGN(const Bytes data, hex_decode(members::text(json, "report_data")));
  if (data.size() != vector.report_data.size()) {
    return fail(ErrorCode::kInvalidEncoding, "report data has 64 bytes", "/report_data");
  }
  std::ranges::copy(data, vector.report_data.begin());
  ASSAY_ASSIGN(vector.now, members::time(json, "now"));
  vector.expect = json["expect"];
  return vector;
}

// What came of one call, as vectors say what they expect.
Json outcome_of(const Result<AppraisedEvidence>& appraised) {
  if (!appraised) {
    return {{"verdict", "error"}, {"detail", to_string(appraised.error())}};
  }
  Json outcome = {{"verdict", appraised->accepted ? "accepted" : "rejected"},
                  {"tcb_status", appraised->tcb_status},
                  {"measurements", appraised->result["measurements"]},
                  {"platform", appraised->platform}};
  if (!appraised->accepted) {
    outcome["error"] = appraised->error;
  }
  return outcome;
}

class Checker {
 public:
  explicit Checker(const EvidenceVerifier& verifier) : verifier_(verifier) {}

  void check(const Vector& vector) {
    const Json outcome = run(vector, vector.evidence.quote, vector.report_data);
    std::string wrong;
    for (const auto& [member, value] : vector.expect.items()) {
      if (!outcome.contains(member) || outcome[member] != value) {
        wrong += (wrong.empty() ? "" : "; ") + member + " is " +
                 (outcome.contains(member) ? outcome[member].dump() : "absent") + ", expected " +
                 value.dump();
      }
    }
    if (!wrong.empty() && outcome.contains("detail")) {
      wrong += "; " + outcome["detail"].get<std::string>();
    }
    note(vector, "verdict", wrong);
    const bool same = run(vector, vector.evidence.quote, vector.report_data) == outcome;
    note(vector, "repeated", same ? "" : "the second call has another outcome");
    if (vector.expect["verdict"] == "accepted") {
      mutate(vector);
    }
  }
  std::vector<ConformanceCheck> take() && { return std::move(checks_); }

 private:
  Json run(const Vector& vector, Bytes quote, const ReportDataBytes& data) const {
    Evidence evidence = vector.evidence;
    evidence.quote = std::move(quote);
    return outcome_of(
        verifier_.appraise(evidence, vector.appraisal, Purpose::kInspect, data, vector.now));
  }

  void note(const Vector& vector, const std::string& check, const std::string& wrong) {
    checks_.push_back({vector.name, check, wrong.empty(), wrong});
  }

  // What is wrong with an outcome that should be "rejected"; empty when nothing is.
  static std::string unless_rejected(const Json& outcome, const std::string& what) {
    if (outcome["verdict"] == "rejected") {
      return {};
    }
    return what + ": " + outcome["verdict"].get<std::string>() +
           (outcome.contains("detail") ? ", " + outcome["detail"].get<std::string>() : "");
  }

  void mutate(const Vector& vector) {
    const Bytes& quote = vector.evidence.quote;
    std::string wrong;
    for (const std::size_t place : {std::size_t{0}, vector.report_data.size() - 1}) {
      ReportDataBytes other = vector.report_data;
      other.at(place) ^= 1U;
      wrong = wrong.empty() ? unless_rejected(run(vector, quote, other), "with other report data")
                            : wrong;
    }
    note(vector, "report-data", wrong);
    note(vector, "empty", unless_rejected(run(vector, {}, vector.report_data), "without a byte"));
    Bytes longer = quote;
    longer.push_back(0);
    note(vector, "extended",
         unless_rejected(run(vector, longer, vector.report_data), "with a byte more"));
    at_places(vector, "truncated", [&](std::size_t place) {
      return Bytes(quote.begin(), quote.begin() + static_cast<std::ptrdiff_t>(place));
    });
    at_places(vector, "flipped", [&](std::size_t place) {
      Bytes flipped = quote;
      flipped.at(place) ^= static_cast<std::uint8_t>(1U << (place % 8));
      return flipped;
    });
  }

  void at_places(const Vector& vector, const std::string& check,
                 const std::function<Bytes(std::size_t)>& change) {
    const std::size_t size = vector.evidence.quote.size();
    const std::size_t step = std::max<std::size_t>(1, size / kPlaces);
    std::string wrong;
    for (std::size_t place = 0; place < size && wrong.empty(); place += step) {
      wrong = unless_rejected(run(vector, change(place), vector.report_data),
                              check + " at byte " + std::to_string(place));
    }
    note(vector, check, wrong);
  }

  const EvidenceVerifier& verifier_;
  std::vector<ConformanceCheck> checks_;
};

}  // namespace

Result<Vectors> parse_vectors(ByteView document) {
  ASSAY_ASSIGN(const Json json, parse_json(document));
  ASSAY_TRY(validate("plugin-vectors", json));
  Vectors vectors;
  vectors.type = members::text(json, "type");
  vectors.media_type = members::text(json, "media_type");
  for (const Json& item : json["vectors"]) {
    auto vector = read_vector(item, vectors.type);
    if (!vector) {
      return members::under("/vectors/" + std::to_string(vectors.vectors.size()),
                            std::move(vector).error());
    }
    vectors.vectors.push_back(*std::move(vector));
  }
  return vectors;
}

std::vector<ConformanceCheck> check_conformance(const EvidenceVerifier& verifier,
                                                const Vectors& vectors) {
  Checker checker(verifier);
  for (const Vector& vector : vectors.vectors) {
    checker.check(vector);
  }
  return std::move(checker).take();
}

}  // namespace assay::attestation::plugin
