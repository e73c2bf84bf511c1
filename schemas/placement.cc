// SPDX-License-Identifier: Apache-2.0
// Placement statements: shape by placement.schema.json.
#include "schemas/placement.h"

#include "schemas/location.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {

Result<Statement> to_statement(const Placement& placement) {
  ASSAY_TRY(check_model_name(placement.name));
  ASSAY_TRY(check_locations(placement.locations));
  Json predicate = {{"name", placement.name}, {"locations", placement.locations}};
  ASSAY_TRY(validate("placement", predicate));
  Subject subject{placement.name,
                  {{placement.artifact.digest_name(), placement.artifact.root().hex()}}};
  return Statement{
      {std::move(subject)}, std::string(kPlacementPredicateType), std::move(predicate)};
}

Result<Placement> placement_from(const Statement& statement) {
  if (statement.predicate_type != kPlacementPredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown, "this is not a placement statement",
                "/predicateType");
  }
  const Json& predicate = statement.predicate;
  if (auto status = validate("placement", predicate); !status) {
    return members::under("/predicate", std::move(status).error());
  }
  const std::string name = members::text(predicate, "name");
  ASSAY_TRY(check_model_name(name));
  std::vector<std::string> locations = members::texts(predicate, "locations");
  ASSAY_TRY(check_locations(locations));
  if (statement.subjects.size() != 1) {
    return fail(ErrorCode::kSubjectMismatch, "a placement has exactly one subject", "/subject");
  }
  const Subject& subject = statement.subjects.front();
  if (subject.name != name) {
    return fail(ErrorCode::kSubjectMismatch, "the subject has the name of the placement",
                "/subject/0/name");
  }
  auto artifact = subject.artifact();
  if (!artifact || subject.digest.size() != 1) {
    return fail(ErrorCode::kSubjectMismatch,
                "a placement is about one artifact: give its assay-tree-v1 digest and no other",
                "/subject/0/digest");
  }
  return Placement{name, *std::move(artifact), std::move(locations)};
}

}  // namespace assay
