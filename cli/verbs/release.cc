// SPDX-License-Identifier: Apache-2.0
// assay release: which artifact a version of a model name is, and which release it follows.
#include "schemas/release.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "cli/client/lists.h"
#include "cli/documents/documents.h"
#include "cli/documents/keys.h"
#include "cli/output.h"
#include "cli/verbs/stored_policies.h"
#include "cli/verbs/verbs.h"
#include "policy/locations.h"
#include "policy/releases.h"

namespace assay::cli {

namespace {

// --- reading

// Releases of a name that one answer takes in.
constexpr std::uint64_t kMaxReleases = 10000;

struct Known {
  Json answer;
  std::vector<policy::ReleaseLink> links;  // one for each item; counts: unless withdrawn
};

// Whether the signature of the identity was withdrawn: by the signer, or by operators for
// everybody.
bool withdrew(const Json& item, const std::string& identity) {
  const auto withdrawn = item.find("withdrawn");
  if (withdrawn == item.end()) {
    return false;
  }
  const Json& by = list_at(*withdrawn, "by");
  return withdrawn->value("by_operators", true) ||
         std::find(by.begin(), by.end(), Json(identity)) != by.end();
}

// Whether nobody stands behind the release any more.
bool all_withdrew(const Json& item) {
  const Json& signers = list_at(item, "signers");
  return item.contains("withdrawn") &&
         std::all_of(signers.begin(), signers.end(), [&](const Json& signer) {
           return withdrew(item, text_at(signer, "identity"));
         });
}

Result<Known> fetch_releases(Api& api, const std::string& name) {
  Query query;
  query.add("predicate_type", std::string(kReleasePredicateType));
  query.add("name", name);
  Known known;
  ASSAY_ASSIGN(known.answer, api.list("/v1/attestations", query, kMaxReleases));
  for (const Json& item : list_at(known.answer, "items")) {
    ASSAY_ASSIGN(StatementId id, StatementId::parse(text_at(item, "id")));
    policy::ReleaseLink link{std::move(id), {}, !all_withdrew(item)};
    const std::string before = text_at(item.value("release", Json::object()), "supersedes");
    if (!before.empty()) {
      ASSAY_ASSIGN(link.supersedes, StatementId::parse(before));
    }
    known.links.push_back(std::move(link));
  }
  return known;
}

std::string signers_of(const Json& item) {
  std::string out;
  for (const Json& signer : list_at(item, "signers")) {
    out += (out.empty() ? "" : ", ") + text_at(signer, "identity");
  }
  return out;
}

std::string state_of(const Json& item, const policy::NewestRelease& newest) {
  const std::string id = text_at(item, "id");
  if (all_withdrew(item)) {
    return "withdrawn: " + text_at(item["withdrawn"], "reason");
  }
  if (newest.fork && (newest.fork->first.text() == id || newest.fork->second.text() == id)) {
    return "forked";
  }
  return newest.id && newest.id->text() == id ? "newest" : "";
}

// --- create

struct CreateOptions {
  std::string model;
  std::string version;
  std::string name;
  std::string supersedes;
  std::string out;
  SigningFlags signing;
  ConnectionFlags connection;
};

// Whether the signers of a release meet the manifest conditions of a policy, as far as the service
// shows who they are. What a key may sign the service has looked at when it took the release.
bool believes(const policy::PublisherDemands& demands, const Json& item) {
  std::vector<std::string> identities;
  for (const Json& signer : list_at(item, "signers")) {
    if (!signer.contains("revoked_at") && !withdrew(item, text_at(signer, "identity"))) {
      identities.push_back(text_at(signer, "identity"));
    }
  }
  std::vector<policy::JudgedSigner> signers;
  for (const std::string& identity : identities) {
    signers.push_back({identity, policy::SignerState::kCounts, Reason::kRoleNotGranted});
  }
  return policy::meets({nullptr, signers}, demands) == Outcome::kPass;
}

// The newest release of those that count for one policy; nothing when there is none.
Result<std::optional<StatementId>> newest_of(std::span<const policy::ReleaseLink> links,
                                             const std::string& name, const std::string& whose) {
  policy::NewestRelease newest = policy::newest_release(links);
  if (newest.fork) {
    return fail(ErrorCode::kConflict,
                "Two releases of " + name + whose +
                    " claim one place: withdraw one of them, or name the one that this release "
                    "follows",
                newest.fork->first.text() + ", " + newest.fork->second.text());
  }
  return std::move(newest.id);
}

// The newest release as the policies in force see it that take names for releases: each counts
// those whose publishers it believes. Where none says so, of all that are not withdrawn.
Result<std::optional<StatementId>> newest_believed(Api& api, const Known& known,
                                                   const std::string& name) {
  ASSAY_ASSIGN(const std::vector<policy::ActivePolicy> policies, policies_in_force(api));
  std::map<StatementId, std::string> found;  // the newest, and the policy that says so
  bool any = false;
  for (const policy::ActivePolicy& active : policies) {
    const policy::PublisherDemands demands = policy::publisher_demands(active.document);
    if (active.document.names.rule != NameRule::kRelease || demands.empty()) {
      continue;
    }
    any = true;
    std::vector<policy::ReleaseLink> links = known.links;
    std::size_t next = 0;
    for (const Json& item : list_at(known.answer, "items")) {
      links[next].counts = links[next].counts && believes(demands, item);
      ++next;
    }
    ASSAY_ASSIGN(auto newest,
                 newest_of(links, name, " that the policy " + active.document.name + " believes"));
    if (newest) {
      found.emplace(*std::move(newest), active.document.name);
    }
  }
  if (!any) {
    return newest_of(known.links, name, "");
  }
  if (found.size() > 1) {
    return fail(ErrorCode::kConflict,
                "The policies " + found.begin()->second + " and " + found.rbegin()->second +
                    " have different newest releases of " + name +
                    ": name the one that this release follows",
                found.begin()->first.text() + ", " + found.rbegin()->first.text());
  }
  return found.empty() ? std::nullopt : std::optional(found.begin()->first);
}

// "none", an id, or "auto": the newest that the service has.
Result<std::optional<StatementId>> before(const Context& context, const CreateOptions& options,
                                          const std::string& name) {
  if (options.supersedes == "none") {
    return std::nullopt;
  }
  if (options.supersedes != "auto") {
    ASSAY_ASSIGN(StatementId id, StatementId::parse(options.supersedes));
    return std::optional(std::move(id));
  }
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Known known, fetch_releases(api, name));
  return newest_believed(api, known, name);
}

Result<Exit> create(const Context& context, const CreateOptions& options) {
  ASSAY_ASSIGN(NamedModel model, load_named_model(options.model, options.name));
  ASSAY_ASSIGN(auto supersedes, before(context, options, model.name));
  const Release release{std::move(model.name), options.version, std::move(model.artifact),
                        std::move(supersedes)};
  ASSAY_ASSIGN(const Statement statement, to_statement(release));
  ASSAY_TRY(release_from(statement));  // refused here rather than by the service
  return sign_and_write(
      context, statement, options.signing, options.out,
      {{"artifact", release.artifact.text()},
       {"name", release.name},
       {"version", release.version},
       {"supersedes", release.supersedes ? Json(release.supersedes->text()) : Json()}});
}

void add_create(const Command& group, Context& context) {
  auto options = std::make_shared<CreateOptions>();
  const Command verb = group.add("create", "Say that an artifact is the next version of a name");
  verb.argument("MODEL", options->model, "file with its manifest, or artifact id with --name");
  verb.argument("VERSION", options->version, "version for people, such as 2.1.0");
  verb.option(
      "--supersedes", options->supersedes, "ID|auto|none",
      "release that this one follows; 'auto' asks the service for the newest one that the policies "
      "in force believe, 'none' is for the first release of the name");
  verb.required();
  verb.option("--name", options->name, "NAME", "name of the model, beside an artifact id");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  add_signing_options(verb, options->signing, false);
  add_connection_options(verb, options->connection);
  verb.note(
      "Policies with \"names\": {\"resolve\": \"release\"} take a bare model name for the newest\n"
      "release by publishers whom they believe. Two releases that follow the same one are a fork,\n"
      "and the name means nothing until one of them is withdrawn.");
  verb.example(
      "assay release create llama.signed.json 2.0.0 --supersedes auto --key publisher.pem \\\n"
      "      --out release.json",
      "release a new version; 'assay push release.json' tells the service");
  verb.action([options, &context] { return create(context, *options); });
}

// --- list, show

struct ListOptions {
  std::string name;
  ConnectionFlags connection;
};

Result<Exit> list(const Context& context, const ListOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(Known known, fetch_releases(api, options.name));
  const policy::NewestRelease newest = policy::newest_release(known.links);
  if (newest.id) {
    known.answer["newest"] = newest.id->text();
  }
  if (newest.fork) {
    known.answer["fork"] = {newest.fork->first.text(), newest.fork->second.text()};
  }
  const ListView view{.noun = "release",
                      .heads = {"ID", "VERSION", "ARTIFACT", "SUPERSEDES", "SIGNED BY", "STATE"},
                      .cells = [&newest](const Json& item) -> std::vector<std::string> {
                        const Json release = item.value("release", Json::object());
                        return {text_at(item, "id"),       text_at(release, "version"),
                                text_at(item, "artifact"), text_at(release, "supersedes"),
                                signers_of(item),          state_of(item, newest)};
                      }};
  print_list(context, view, known.answer);
  return Exit::kYes;
}

struct ShowOptions {
  std::string id;
  ConnectionFlags connection;
};

Result<Exit> show(const Context& context, const ShowOptions& options) {
  ASSAY_ASSIGN(const StatementId id, StatementId::parse(options.id));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json item, api.get("/v1/attestations/" + percent_encode(id.text())));
  if (text_at(item, "predicate_type") != kReleasePredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown, "This is no release", options.id);
  }
  if (context.json()) {
    print_json(item);
    return Exit::kYes;
  }
  const Json release = item.value("release", Json::object());
  Table table({"release", text_at(item, "id")});
  table.row({"name", text_at(release, "name")});
  table.row({"version", text_at(release, "version")});
  table.row({"artifact", text_at(item, "artifact")});
  if (const std::string id_before = text_at(release, "supersedes"); !id_before.empty()) {
    table.row({"supersedes", id_before});
  }
  table.row({"signed by", signers_of(item)});
  table.row({"accepted", text_at(item, "accepted_at")});
  if (const auto withdrawn = item.find("withdrawn"); withdrawn != item.end()) {
    table.row({"withdrawn", text_at(*withdrawn, "reason") + ": " + text_at(*withdrawn, "text")});
  }
  print_fields(context, table);
  return Exit::kYes;
}

}  // namespace

void add_release(const Command& root, Context& context) {
  const Command group = root.add("release", "Which artifact a version of a model name is");
  add_create(group, context);
  auto listed = std::make_shared<ListOptions>();
  const Command list_verb = group.add("list", "All releases of a name, and which is the newest");
  list_verb.argument("NAME", listed->name, "name of the model");
  add_connection_options(list_verb, listed->connection);
  list_verb.note(
      "STATE is about all releases that are not withdrawn, whoever signed them. A policy counts\n"
      "only releases by publishers whom it believes, so its newest one may be another.");
  list_verb.example("assay release list acme/demo-llm", "what the name meant, in order");
  list_verb.action([listed, &context] { return list(context, *listed); });
  auto shown = std::make_shared<ShowOptions>();
  const Command show_verb = group.add("show", "One release");
  show_verb.argument("ID", shown->id, "id of the release");
  add_connection_options(show_verb, shown->connection);
  show_verb.example("assay release show sha256:0a1b...", "who released what");
  show_verb.action([shown, &context] { return show(context, *shown); });
}

}  // namespace assay::cli
