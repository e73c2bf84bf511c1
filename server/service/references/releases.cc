// SPDX-License-Identifier: Apache-2.0
#include "server/service/references/releases.h"

#include "policy/releases.h"
#include "schemas/release.h"
#include "server/service/documents/statement_row.h"

namespace assay::server {
namespace {

// The releases that have been read, with what each says.
struct Read {
  std::vector<policy::ReleaseLink> links{};
  std::map<StatementId, ArtifactId> artifacts{};
};

Status add(const Heard& heard, const std::string& name, std::size_t asked, Read& read) {
  const storage::StatementRow& row = heard.row;
  if (row.predicate_type != kReleasePredicateType || row.name != name) {
    return fail(ErrorCode::kDataLoss, "an index names another statement than it should");
  }
  ASSAY_ASSIGN(auto supersedes, superseded_by(row));
  ASSAY_ASSIGN(ArtifactId artifact, ArtifactId::parse(row.subjects.front()));
  if (read.artifacts.emplace(row.id, std::move(artifact)).second) {
    read.links.push_back({row.id, std::move(supersedes), heard.word.by[asked]});
  }
  return {};
}

// Reads what the releases lead back to. A release whose signers count for nobody is read only for
// the one before it: whoever names a release by its id vouches for that.
Status follow_back(Asking& asking, const std::string& name, std::size_t asked, Read& read) {
  for (std::size_t i = 0; i < read.links.size(); ++i) {
    const std::optional<StatementId> before = read.links[i].supersedes;
    if (!before || read.artifacts.contains(*before)) {
      continue;
    }
    const auto row = asking.snapshot.statement(*before);
    if (!row) {
      return row.error().code == ErrorCode::kNotFound
                 ? fail(ErrorCode::kDataLoss, "the release before a release is missing")
                 : std::unexpected(row.error());
    }
    ASSAY_ASSIGN(const Heard* const heard, hear(asking, row->log_index));
    ASSAY_TRY(add(*heard, name, asked, read));
  }
  return {};
}

Result<Read> read_releases(Asking& asking, const std::string& name, std::size_t asked) {
  Read read;
  ASSAY_ASSIGN(const auto signatures, asking.snapshot.releases_under(name));
  for (const storage::SignedBy& signature : signatures) {
    ASSAY_ASSIGN(const bool worth, is_worth_reading(asking, signature.key, Ears::kBelieved));
    if (worth) {
      ASSAY_ASSIGN(const Heard* const heard, hear(asking, signature.index));
      ASSAY_TRY(add(*heard, name, asked, read));
    }
  }
  ASSAY_TRY(follow_back(asking, name, asked, read));
  return read;
}

Result<std::variant<NamedArtifact, ConditionResult>> newest(Asking& asking,
                                                            const Publishers::Naming& naming,
                                                            const std::string& name) {
  const Json expected = {{"policy", naming.policy}, {"name", name}};
  if (!naming.asked) {  // the policy believes nobody
    return refused(Reason::kReleaseMissing, expected, nullptr);
  }
  ASSAY_ASSIGN(const Read read, read_releases(asking, name, *naming.asked));
  const policy::NewestRelease found = policy::newest_release(read.links);
  if (found.fork) {
    return refused(Reason::kReleaseForked, expected,
                   {{"releases", {found.fork->first.text(), found.fork->second.text()}}});
  }
  if (!found.id) {
    return refused(Reason::kReleaseMissing, expected, nullptr);
  }
  return NamedArtifact{read.artifacts.at(*found.id), {found.id->text()}};
}

}  // namespace

Result<std::variant<NamedArtifact, ConditionResult>> artifact_under(
    Asking& asking, const Publishers::Naming& naming, const std::string& name) {
  if (naming.names->rule == NameRule::kRelease) {
    return newest(asking, naming, name);
  }
  const auto pinned = naming.names->pinned.find(name);
  if (pinned == naming.names->pinned.end()) {
    return refused(Reason::kModelReferenceUnpinned,
                   {{"policy", naming.policy}, {"resolve", assay::name(naming.names->rule)}}, name);
  }
  return NamedArtifact{pinned->second, {}};
}

}  // namespace assay::server
