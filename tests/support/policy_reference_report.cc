// SPDX-License-Identifier: Apache-2.0
#include "tests/support/policy_reference_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace assay::policy::reference {
namespace {

using Found = std::optional<ReportFact>;

// The volume that was seen behind the claim of a location.
std::optional<std::string> volume_behind(const Facts& facts, const std::string& location) {
  for (const ClaimFact& claim : facts.claims) {
    if (location == claim.claim || location.starts_with(claim.claim + "/")) {
      return claim.volume;
    }
  }
  return std::nullopt;
}

// What one report says, or that there is none.
struct Judge {
  const ReportCondition& condition;
  const ReportQuestion& question;
  std::vector<Reason> wrong{};
  bool unknown = false;

  void want(bool holds, Reason code) {
    if (!holds) {
      wrong.push_back(code);
    }
  }
  void look_at_volume(const ReportFact& report) {
    const std::string volume =
        volume_behind(question.facts, report.location).value_or(std::string());
    want(!volume.empty(), Reason::kClaimUnknown);
    want(volume.empty() || volume == report.volume, Reason::kVolumeChanged);
  }
  void look_at(const ReportFact& report) {
    if (question.pod && condition.scope == "files" && report.location.starts_with("pvc://")) {
      look_at_volume(report);
    }
    want(report.result == "verified",
         report.result == "mismatch" ? Reason::kModelMismatch : Reason::kReportMissing);
    unknown = unknown || report.reported_at > question.now || report.read_since > question.now;
    if (condition.max_age_seconds) {
      const auto limit = std::chrono::seconds(*condition.max_age_seconds);
      want(question.now - report.read_since <= limit, Reason::kReportStale);
    }
    want(report.worker_measured || !condition.worker_measured, Reason::kWorkerNotMeasured);
    const bool needs_current = condition.worker_measured && report.worker_measured;
    want(report.appraisal_current || !needs_current, Reason::kEvidenceStale);
    want(report.device_attested || !condition.device_attested, Reason::kDeviceNotAttested);
    want(!condition.min_spot_checks || report.spot_checks >= *condition.min_spot_checks,
         Reason::kSpotCheckMissing);
  }
  // A known mismatch is the worst, then one of which something else is in doubt, then what fails,
  // then what cannot be decided.
  [[nodiscard]] int badness() const {
    const bool mismatch = !wrong.empty() && wrong.front() == Reason::kModelMismatch;
    const bool alone = wrong.size() == 1 && !unknown;
    return mismatch ? (alone ? 4 : 3) : !wrong.empty() ? 2 : unknown ? 1 : 0;
  }
  // Only a mismatch is about the model itself, and only when nothing else is in doubt.
  [[nodiscard]] Answer turned(Answer plain) const {
    if (plain.outcome == Outcome::kFail && badness() < 4) {
      plain.outcome = Outcome::kError;
      plain.code = badness() == 3 ? Reason::kConditionUndecided : plain.code;
    }
    return plain;
  }
  Answer answer(const Found& report) {
    unknown = question.facts.node->name != question.node;
    want(!question.facts.node->revoked, Reason::kNodeRevoked);
    if (report) {
      look_at(*report);
    } else {
      want(false, Reason::kReportMissing);
    }
    Answer result;
    result.outcome = !wrong.empty() ? Outcome::kFail : unknown ? Outcome::kError : Outcome::kPass;
    if (!wrong.empty()) {
      result.code = wrong.front();
    } else if (unknown) {
      result.code = Reason::kConditionUndecided;
    }
    return question.below_not ? turned(result) : result;
  }
};

using Places = std::map<std::tuple<std::string, std::string, std::string>, ReportFact>;

// By place; of each only the newest.
Places places_of(const ReportCondition& condition, const Facts& facts) {
  Places places;
  for (const ReportFact& report : facts.reports) {
    const bool fits =
        condition.at_serve ? !report.pod.empty() && report.pod == facts.pod : report.pod.empty();
    if (report.scope != condition.scope || !fits) {
      continue;
    }
    const auto place = std::tuple(report.location, report.pod, report.pod_volume);
    const auto known = places.find(place);
    if (known == places.end() || std::tie(known->second.reported_at, known->second.job) <
                                     std::tie(report.reported_at, report.job)) {
      places.insert_or_assign(place, report);
    }
  }
  return places;
}

// Of the volume behind the claim, if there are any; of these one that is not right.
Found report_at(const Places& places, const Facts& facts, const std::string& location) {
  const std::optional<std::string> volume = volume_behind(facts, location);
  std::vector<ReportFact> there;
  std::vector<ReportFact> behind;
  for (const auto& [place, report] : places) {
    if (report.location == location) {
      there.push_back(report);
      if (volume && report.volume == *volume) {
        behind.push_back(report);
      }
    }
  }
  std::vector<ReportFact>& pick = behind.empty() ? there : behind;
  std::stable_partition(pick.begin(), pick.end(),
                        [](const ReportFact& one) { return one.result == "verified"; });
  return pick.empty() ? Found() : Found(pick.back());
}

Found report_in(const ReportCondition& condition, const Facts& facts, const std::string& volume) {
  const Places places = places_of(condition, facts);
  const auto at = places.find(std::tuple(std::string(), facts.pod, volume));
  return at == places.end() ? Found() : Found(at->second);
}

bool is_right(const ReportCondition& condition, const ReportQuestion& question,
              const Found& report) {
  ReportQuestion plain = question;
  plain.below_not = false;
  return Judge{condition, plain}.answer(report).outcome == Outcome::kPass;
}

// As this model, or else as another one.
bool holds_only_another(const ReportCondition& condition, const ReportQuestion& question,
                        const std::string& volume) {
  return !is_right(condition, question, report_in(condition, question.facts, volume)) &&
         std::any_of(question.others.begin(), question.others.end(), [&](const Facts* other) {
           const ReportQuestion theirs{*other,       question.node,  question.now,
                                       question.pod, question.bound, question.filled,
                                       false,        question.others};
           return other->node && is_right(condition, theirs, report_in(condition, *other, volume));
         });
}

// What has to be right.
std::vector<Found> asked_for(const ReportCondition& condition, const ReportQuestion& question) {
  const Places places = places_of(condition, question.facts);
  const bool files = condition.scope == "files";
  std::vector<Found> found;
  if (files && question.pod) {
    for (const std::string& location : question.bound) {
      found.push_back(report_at(places, question.facts, location));
    }
    if (condition.at_serve) {
      for (const std::string& volume : question.filled) {
        if (!holds_only_another(condition, question, volume)) {
          found.push_back(report_in(condition, question.facts, volume));
        }
      }
    }
  } else if (files && !question.facts.asked_locations.empty()) {
    for (const std::string& location : question.facts.asked_locations) {
      found.push_back(report_at(places, question.facts, location));
    }
  } else {
    for (const auto& [place, report] : places) {
      found.emplace_back(report);
    }
  }
  return found.empty() ? std::vector<Found>{std::nullopt} : found;
}

}  // namespace

Answer judge_reports(const ReportCondition& condition, const ReportQuestion& question) {
  Answer worst;
  int most = -1;
  for (const Found& report : asked_for(condition, question)) {
    Judge judge{condition, question};
    const Answer one = judge.answer(report);
    if (judge.badness() > most) {
      most = judge.badness();
      worst = one;
    }
  }
  return worst;
}

}  // namespace assay::policy::reference
