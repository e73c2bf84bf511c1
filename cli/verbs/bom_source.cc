// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/bom_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/bom/trace.h"
#include "cli/client/model_meant.h"
#include "cli/documents/documents.h"
#include "cli/output.h"
#include "schemas/lifecycle.h"
#include "schemas/placement.h"
#include "schemas/release.h"

namespace assay::cli {
namespace {

using bom::BomSigner;
using bom::BomStatement;

// --- from the service

// Whether the signature of the identity was withdrawn: by the signer, or by operators for
// everybody.
bool took_back(const Json& view, const std::string& identity) {
  const Json& withdrawn = object_at(view, "withdrawn");
  const Json& by = list_at(withdrawn, "by");
  return flag_at(withdrawn, "by_operators") ||
         std::find(by.begin(), by.end(), Json(identity)) != by.end();
}

std::vector<BomSigner> standing(const Json& view) {
  std::vector<BomSigner> signers;
  for (const Json& signer : list_at(view, "signers")) {
    std::string identity = text_at(signer, "identity");
    if (!signer.contains("revoked_at") && !took_back(view, identity)) {
      signers.push_back(
          {std::move(identity), text_at(signer, "key_id"), text_at(signer, "signed_at")});
    }
  }
  return signers;
}

// The digests of a view, which all are of one subject where it is that of a manifest.
bom::Digests digests_of(const Json& view) {
  bom::Digests digests;
  for (const Json& one : list_at(view, "subjects")) {
    const std::string text = one.is_string() ? one.get<std::string>() : "";
    if (const std::size_t colon = text.find(':'); colon != std::string::npos) {
      digests[text.substr(0, colon)] = text.substr(colon + 1);
    }
  }
  return digests;
}

class Gatherer {
 public:
  explicit Gatherer(Api api) : api_(std::move(api)) {}

  Result<BomSource> gather(const BomFlags& flags) {
    ASSAY_ASSIGN(const std::string text, artifact_meant(api_, flags.model));
    ASSAY_ASSIGN(ArtifactId artifact, ArtifactId::parse(text));
    model_ = text;
    ASSAY_ASSIGN(std::string name, name_of(text, flags));
    BomSource source{{std::move(artifact), std::move(name), {}, {}}, {}};
    // Each round finds what the things of the round before were made from.
    for (bool grew = true; grew;) {
      ASSAY_ASSIGN(const bom::Trace traced,
                   bom::trace(source.request.name, source.request.artifact, statements_));
      grew = false;
      for (const bom::Thing& thing : traced.things) {
        ASSAY_ASSIGN(const bool more, ask_about(thing));
        grew = grew || more;
      }
    }
    source.statements = std::move(statements_);
    source.request.source = std::move(source_);
    source.request.left_out = std::move(left_out_);
    return source;
  }

 private:
  // The name by which statements about the model count.
  Result<std::string> name_of(const std::string& artifact, const BomFlags& flags) {
    Query query;
    query.add("artifact", artifact);
    ASSAY_ASSIGN(const Json page, api_.list("/v1/manifests", query, bom::kMaxBomStatements));
    source_ = {{"log-tree-size", std::to_string(number_at(page, "tree_size"))},
               {"log-root", text_at(page, "root")}};
    std::set<std::string> names;
    for (const Json& manifest : list_at(page, "items")) {
      if (!standing(manifest).empty()) {
        names.insert(text_at(manifest, "name"));
      }
    }
    for (const std::string& wanted : {flags.name, flags.model}) {
      if (names.contains(wanted)) {
        return wanted;
      }
    }
    if (names.size() == 1 && flags.name.empty()) {
      return *names.begin();
    }
    std::string all;
    for (const std::string& one : names) {
      all += (all.empty() ? "" : ", ") + one;
    }
    return names.empty() || !flags.name.empty()
               ? fail(ErrorCode::kNotFound, "No manifest of this artifact that counts has the name",
                      artifact)
               : fail(ErrorCode::kModelReferenceAmbiguous,
                      "The artifact has several names; give one with --name", all);
  }

  // Whether there was a statement that was not known.
  Result<bool> ask_about(const bom::Thing& thing) {
    bool grew = false;
    for (const auto& [algorithm, value] : thing.digests) {
      const std::string digest = algorithm + ":" + value;
      if (bom::main_digest({{algorithm, value}}).empty() || !asked_.insert(digest).second) {
        continue;
      }
      ASSAY_ASSIGN(const bool attested, take_list("/v1/attestations", "subject", digest));
      grew = grew || attested;
      if (ArtifactId::parse(digest)) {
        ASSAY_ASSIGN(const bool published, take_list("/v1/manifests", "artifact", digest));
        grew = grew || published;
      }
    }
    // What is known by the hash of its bytes alone may have a manifest under its name.
    const std::string called = bom::main_digest(thing.digests);
    for (const std::string& name : thing.names) {
      if (!called.empty() && !ArtifactId::parse(called) && check_model_name(name) &&
          asked_.insert(called + " " + name).second) {
        ASSAY_ASSIGN(const bool named, take_list("/v1/manifests", "name", name, &thing));
        grew = grew || named;
      }
    }
    return grew;
  }

  // `of`: only what is about this thing.
  Result<bool> take_list(const std::string& path, const std::string& filter,
                         const std::string& value, const bom::Thing* of = nullptr) {
    Query query;
    query.add(filter, value);
    ASSAY_ASSIGN(const Json page, api_.list(path, query, bom::kMaxBomStatements + 1));
    bool grew = false;
    for (const Json& view : list_at(page, "items")) {
      if (of != nullptr && !bom::same_thing(digests_of(view), of->digests)) {
        continue;
      }
      if (ids_.insert(text_at(view, "id")).second) {
        ASSAY_ASSIGN(const bool took, take(path, view));
        grew = grew || took;
      }
    }
    return grew;
  }

  Result<bool> take(const std::string& path, const Json& view) {
    const std::string id = text_at(view, "id");
    std::vector<BomSigner> signers = standing(view);
    if (signers.empty()) {
      left_out_.push_back({id, view.contains("withdrawn")
                                   ? "withdrawn: " + text_at(view["withdrawn"], "reason")
                                   : "every key that signed it is revoked"});
      return false;
    }
    if (statements_.size() == bom::kMaxBomStatements) {
      return fail(ErrorCode::kLimitExceeded,
                  "More than " + std::to_string(bom::kMaxBomStatements) +
                      " statements are about the model and what it was made from");
    }
    ASSAY_ASSIGN(Statement statement, statement_of_view(path, id, view));
    statements_.push_back({id, std::move(statement), std::move(signers),
                           text_at(view, "accepted_at"),
                           std::to_string(number_at(view, "log_index"))});
    return true;
  }

  Result<Statement> statement_of_view(const std::string& path, const std::string& id,
                                      const Json& view) {
    // Of what went in, a manifest with its many entries is needed for name and digests alone.
    if (text_at(view, "kind") == "manifest" && text_at(view, "artifact") != model_) {
      return Statement{{{text_at(view, "name"), digests_of(view)}},
                       std::string(kManifestPredicateType),
                       Json::object()};
    }
    ASSAY_ASSIGN(const Bytes bytes,
                 api_.get_bytes(path + "/" + percent_encode(id), client::kEnvelopeType));
    ASSAY_ASSIGN(const attestation::Envelope envelope, envelope_for(bytes, id));
    return parse_statement(envelope.payload);
  }

  Api api_;
  std::string model_;
  std::set<std::string> asked_;
  std::set<std::string> ids_;
  std::vector<BomStatement> statements_;
  std::vector<bom::LeftOut> left_out_;
  std::vector<std::pair<std::string, std::string>> source_;
};

// --- from files

SigningContext context_of(const Statement& statement, const Subject& subject) {
  const bool publishes = statement.predicate_type == kManifestPredicateType ||
                         statement.predicate_type == kPlacementPredicateType ||
                         statement.predicate_type == kReleasePredicateType;
  const bool lifecycle = statement.predicate_type == kLifecyclePredicateType;
  return {publishes ? KeyPurpose::kPublisher : KeyPurpose::kSigner,
          lifecycle ? text_at(statement.predicate, "stage") : "", statement.predicate_type,
          subject.name};
}

// Those who may speak about every subject of the statement.
Result<std::vector<BomSigner>> signers_in(const LoadedDocument& document,
                                          const Statement& statement, const TrustFlags& trust,
                                          const JudgedAt& times) {
  std::vector<BomSigner> signers;
  bool first = true;
  for (const Subject& subject : statement.subjects) {
    const SigningContext question = context_of(statement, subject);
    ASSAY_ASSIGN(const auto trusted, load_trusted_signers(trust, question));
    ASSAY_ASSIGN(const auto found,
                 check_signatures(*document.envelope, trusted, question, 1, times));
    std::set<std::string> ids;
    for (const attestation::VerifiedSignature& one : found) {
      ids.insert(one.key.id.text());
      if (first) {
        signers.push_back({one.key.identity, one.key.id.text()});
      }
    }
    first = false;
    std::erase_if(signers, [&ids](const BomSigner& one) { return !ids.contains(one.key_id); });
  }
  if (signers.empty()) {
    return fail(ErrorCode::kUntrustedSigner, "Nobody who signed may speak about all subjects");
  }
  return signers;
}

Result<BomStatement> statement_in(const std::string& file, const TrustFlags& trust,
                                  const JudgedAt& times) {
  ASSAY_ASSIGN(const LoadedDocument document, load_document(file));
  if (!document.envelope) {
    return fail(ErrorCode::kSignatureMissing, "The document is not signed", file);
  }
  ASSAY_ASSIGN(Statement statement, statement_of(document.payload));
  auto signers = signers_in(document, statement, trust, times);
  if (!signers) {
    return fail(signers.error().code, signers.error().detail, file);
  }
  return BomStatement{document.payload.id().text(), std::move(statement), *std::move(signers)};
}

}  // namespace

Result<BomSource> bom_from_service(const Context& context, const BomFlags& flags) {
  ASSAY_ASSIGN(Api api, open_api(context, flags.connection));
  return Gatherer(std::move(api)).gather(flags);
}

Result<BomSource> bom_from_files(const Context& context, const BomFlags& flags) {
  ASSAY_ASSIGN(const JudgedAt times, times_of(flags.trust, context.clock));
  ASSAY_ASSIGN(NamedModel model, load_named_model(flags.model, flags.name));
  BomSource source{{std::move(model.artifact), std::move(model.name), {}, {}}, {}};
  for (const std::string& file : flags.documents) {
    ASSAY_ASSIGN(BomStatement statement, statement_in(file, flags.trust, times));
    source.statements.push_back(std::move(statement));
  }
  return source;
}

}  // namespace assay::cli
