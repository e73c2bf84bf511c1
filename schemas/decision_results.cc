// SPDX-License-Identifier: Apache-2.0
// Writes the results of a decision as canonical JSON, member by member, for its document and for
// the digest that a replay compares. Making JSON values first took as long as judging the case.
#include <utility>
#include <vector>

#include "schemas/core/jcs.h"
#include "schemas/core/sha.h"
#include "schemas/decision.h"

namespace assay {
namespace {

Status write(std::string& out, const Json& value) {
  ASSAY_ASSIGN(const std::string text, canonical_json(value));
  out += text;
  return {};
}

Status write(std::string& out, std::uint64_t number) {
  if (!std::in_range<std::int64_t>(number) || static_cast<std::int64_t>(number) > kMaxSafeInteger) {
    return fail(ErrorCode::kMalformedJson, "a number of a result is too large for JSON");
  }
  out += std::to_string(number);
  return {};
}

void write(std::string& out, const std::vector<std::string>& texts) {
  auto list = JcsWriter::list(out);
  for (const std::string& text : texts) {
    append_canonical(list.item(), text);
  }
}

Status write(std::string& out, const EvidenceIds& evidence) {
  auto object = JcsWriter::object(out);
  ASSAY_TRY(write(object.member("count"), evidence.size()));
  append_canonical(object.member("digest"), evidence.digest().text());
  write(object.member("first"), evidence.first());
  return {};
}

Status write(std::string& out, const std::vector<ConditionResult>& results);

Status write(std::string& out, const ConditionResult& result) {
  auto object = JcsWriter::object(out);
  if (!result.actual.is_null()) {
    ASSAY_TRY(write(object.member("actual"), result.actual));
  }
  if (result.code) {
    append_canonical(object.member("code"), info(*result.code).code);
  }
  if (!result.evidence.empty()) {
    ASSAY_TRY(write(object.member("evidence"), result.evidence));
  }
  if (!result.expected.is_null()) {
    ASSAY_TRY(write(object.member("expected"), result.expected));
  }
  append_canonical(object.member("id"), result.id);
  append_canonical(object.member("outcome"), name(result.outcome));
  return result.parts.empty() ? Status() : write(object.member("parts"), result.parts);
}

Status write(std::string& out, const std::vector<ConditionResult>& results) {
  auto list = JcsWriter::list(out);
  for (const ConditionResult& result : results) {
    ASSAY_TRY(write(list.item(), result));
  }
  return {};
}

// `whole`: as in the document. Otherwise without the members that a replay does not compare.
Status write(std::string& out, const PolicyResult& policy, bool whole) {
  auto object = JcsWriter::object(out);
  ASSAY_TRY(write(object.member("conditions"), policy.conditions));
  if (whole) {
    append_canonical(object.member("id"), policy.id.text());
  }
  append_canonical(object.member("mode"), name(policy.mode));
  append_canonical(object.member("model"), policy.model);
  if (whole) {
    append_canonical(object.member("name"), policy.name);
  }
  append_canonical(object.member("outcome"), name(policy.outcome));
  return whole ? write(object.member("version"), policy.version) : Status();
}

Status write_results(std::string& out, const Verdict& verdict) {
  auto object = JcsWriter::object(out);
  {
    auto policies = JcsWriter::list(object.member("policies"));
    for (const PolicyResult& policy : verdict.policies) {
      ASSAY_TRY(write(policies.item(), policy, true));
    }
  }
  return write(object.member("preconditions"), verdict.preconditions);
}

Status write_conditions(std::string& out, const Verdict& verdict) {
  auto list = JcsWriter::list(out);
  ASSAY_TRY(write(list.item(), verdict.preconditions));
  for (const PolicyResult& policy : verdict.policies) {
    ASSAY_TRY(write(list.item(), policy, false));
  }
  return {};
}

Status write_replayed(std::string& out, const Verdict& verdict, const DocumentId& facts,
                      Timestamp now) {
  auto object = JcsWriter::object(out);
  object.member("allowed") += verdict.allowed ? "true" : "false";
  ASSAY_TRY(write_conditions(object.member("conditions"), verdict));
  append_canonical(object.member("facts"), facts.text());
  append_canonical(object.member("now"), to_rfc3339(now));
  {
    auto policies = JcsWriter::list(object.member("policies"));
    for (const PolicyResult& policy : verdict.policies) {
      append_canonical(policies.item(), policy.id.text());
    }
  }
  auto reasons = JcsWriter::list(object.member("reasons"));
  for (const Reason reason : verdict.reasons) {
    append_canonical(reasons.item(), info(reason).code);
  }
  return {};
}

Status check_utf8(const std::string& text) {
  return is_utf8(text) ? Status()
                       : fail(ErrorCode::kMalformedJson, "a result of a decision is not UTF-8");
}

}  // namespace

Result<std::string> results_text(const Verdict& verdict) {
  std::string text;
  ASSAY_TRY(write_results(text, verdict));
  ASSAY_TRY(check_utf8(text));
  return text;
}

Result<Digest> replay_digest(const Verdict& verdict, const DocumentId& facts, Timestamp now) {
  std::string text;
  ASSAY_TRY(write_replayed(text, verdict, facts, now));
  ASSAY_TRY(check_utf8(text));
  return sha256(as_bytes(text));
}

}  // namespace assay
