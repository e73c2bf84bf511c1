// SPDX-License-Identifier: Apache-2.0
// Documents about nodes and stages: challenges, evidence, enrolments, stage evidence, jobs, leases,
// reports and what follows them, heartbeats, appraisals. What is read is written, and reads back as
// the same. The same bytes are tried as every kind.
#include <cstdlib>

#include "schemas/heartbeat.h"
#include "schemas/stage_evidence.h"
#include "schemas/trust.h"
#include "schemas/verification_report.h"

namespace {

using namespace assay;

// Reads `bytes` with `parse`; what it makes is written in one way.
template <typename Parse>
void check(const Parse& parse, ByteView bytes) {
  const auto document = parse(bytes);
  if (!document) {
    return;
  }
  const std::string written = canonical_json(to_json(*document)).value();
  const auto again = parse(as_bytes(written));
  if (!again || canonical_json(to_json(*again)).value() != written) {
    std::abort();
  }
}

// The same for a reader of JSON.
template <typename T>
void check_json(Result<T> (*read)(const Json&), ByteView bytes) {
  check(
      [read](ByteView text) -> Result<T> {
        ASSAY_ASSIGN(const Json json, parse_json(text));
        return read(json);
      },
      bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  check(parse_challenge_request, bytes);
  check_json(json::get<Challenge>, bytes);
  check_json(json::get<Evidence>, bytes);
  check_json(appraisal_from_json, bytes);
  check_json(registration_from_json, bytes);
  check(parse_enrolment, bytes);
  check(parse_stage_evidence, bytes);
  check(parse_job_request, bytes);
  check(parse_job_lease, bytes);
  check(parse_verification_report, bytes);
  check(parse_report_submission, bytes);
  check(parse_report_answer, bytes);
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    check([&](ByteView text) { return parse_outline_submission(text, algorithm); }, bytes);
  }
  check(parse_spot_submission, bytes);
  check(parse_heartbeat, bytes);
  check(parse_heartbeat_answer, bytes);
  return 0;
}
