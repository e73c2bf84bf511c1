// SPDX-License-Identifier: Apache-2.0
// Release statements: shape by release.schema.json.
#include "schemas/release.h"

#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {

Result<Statement> to_statement(const Release& release) {
  ASSAY_TRY(check_model_name(release.name));
  Json predicate = {{"name", release.name}, {"version", release.version}};
  if (release.supersedes) {
    predicate["supersedes"] = release.supersedes->text();
  }
  ASSAY_TRY(validate("release", predicate));
  Subject subject{release.name, {{release.artifact.digest_name(), release.artifact.root().hex()}}};
  return Statement{{std::move(subject)}, std::string(kReleasePredicateType), std::move(predicate)};
}

Result<Release> release_from(const Statement& statement) {
  if (statement.predicate_type != kReleasePredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown, "this is not a release statement",
                "/predicateType");
  }
  const Json& predicate = statement.predicate;
  if (auto status = validate("release", predicate); !status) {
    return members::under("/predicate", std::move(status).error());
  }
  std::string name = members::text(predicate, "name");
  ASSAY_TRY(check_model_name(name));
  if (statement.subjects.size() != 1) {
    return fail(ErrorCode::kSubjectMismatch, "a release has exactly one subject", "/subject");
  }
  const Subject& subject = statement.subjects.front();
  if (subject.name != name) {
    return fail(ErrorCode::kSubjectMismatch, "the subject has the name of the release",
                "/subject/0/name");
  }
  auto artifact = subject.artifact();
  if (!artifact || subject.digest.size() != 1) {
    return fail(ErrorCode::kSubjectMismatch,
                "a release is about one artifact: give its assay-tree-v1 digest and no other",
                "/subject/0/digest");
  }
  Release release{std::move(name), members::text(predicate, "version"), *std::move(artifact), {}};
  if (predicate.contains("supersedes")) {
    ASSAY_ASSIGN(release.supersedes, StatementId::parse(members::text(predicate, "supersedes")));
  }
  return release;
}

}  // namespace assay
