// SPDX-License-Identifier: Apache-2.0
// assay impact: which pods, nodes and models would lose their allow, before anybody signs.
#include "cli/client/impact.h"

#include <algorithm>
#include <memory>

#include "cli/client/model_meant.h"
#include "cli/client/names.h"
#include "cli/documents/documents.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/hash_result.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/impact_request.h"

namespace assay::cli {

namespace {

struct ImpactOptions {
  std::vector<std::string> revoke_keys;
  std::vector<std::string> signers;
  std::vector<std::string> statements;
  std::vector<std::string> artifacts;
  std::vector<std::string> statuses;
  std::vector<std::string> levels;
  std::vector<std::string> advisories;
  std::vector<std::string> nodes;
  std::vector<std::string> activate;
  std::vector<std::string> deactivate;
  std::string since;
  std::uint64_t limit = ImpactRequest::kDefaultLimit;
  ConnectionFlags connection;
};

bool is_key(const std::string& text) { return KeyId::parse(text).has_value(); }

// The keys by their ids, of people too.
Result<std::vector<std::string>> keys_of(const Context& context, Api& api,
                                         const ImpactOptions& options) {
  std::vector<std::string> keys;
  for (const std::string& who : options.revoke_keys) {
    ASSAY_ASSIGN(std::string key, key_meant(api, who));
    keys.push_back(std::move(key));
  }
  for (const std::string& who : options.signers) {
    ASSAY_ASSIGN(const std::vector<std::string> own, keys_meant(api, who));
    message(context, who + ": " + counted(own.size(), "key"));
    keys.insert(keys.end(), own.begin(), own.end());
  }
  return keys;
}

// FMSPC@DATE, the date with or without its time.
Result<Json> level_in(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string date = at == std::string::npos ? "" : text.substr(at + 1);
  const std::string whole = date.find('T') == std::string::npos ? date + "T00:00:00Z" : date;
  if (!parse_rfc3339(whole)) {
    return fail(ErrorCode::kUsage,
                "A TCB level is the FMSPC of a platform and the date of the level, such as "
                "50806f000000@2024-03-13",
                text);
  }
  return Json{{"fmspc", text.substr(0, at)}, {"date", whole}};
}

Result<Json> request_of(const ImpactOptions& options, const std::vector<std::string>& keys) {
  Json hypothesis = Json::object();
  const auto put = [&hypothesis](const char* member, const std::vector<std::string>& values) {
    if (!values.empty()) {
      hypothesis[member] = values;
    }
  };
  put("revoke_keys", keys);
  put("withdraw_statements", options.statements);
  put("without_artifacts", options.artifacts);
  put("tcb_status_lost", options.statuses);
  for (const std::string& text : options.levels) {
    ASSAY_ASSIGN(Json level, level_in(text));
    hypothesis["tcb_levels_lost"].push_back(std::move(level));
  }
  put("reject_advisories", options.advisories);
  put("revoke_nodes", options.nodes);
  put("deactivate", options.deactivate);
  for (const std::string& file : options.activate) {
    ASSAY_ASSIGN(const LoadedDocument document, load_document(file));
    if (document.payload.kind == PayloadKind::kReferenceSet) {
      ASSAY_ASSIGN(const ReferenceSet set, parse_reference_set(document.payload.bytes));
      hypothesis["sets"].push_back(to_json(set));
      continue;
    }
    ASSAY_ASSIGN(const PolicyDocument policy, load_policy(file));
    hypothesis["activate"].push_back(to_json(policy));
  }
  if (hypothesis.empty()) {
    return fail(ErrorCode::kUsage,
                "Say what is supposed: --revoke-key, --without-signer, --withdraw-statement, "
                "--without-artifact, "
                "--tcb-status-lost, --tcb-level-lost, --reject-advisory, --revoke-node, --activate "
                "or --deactivate");
  }
  Json request = {{"hypothesis", std::move(hypothesis)}, {"limit", options.limit}};
  ASSAY_TRY(parse_impact_request(as_bytes(request.dump())));
  return request;
}

// Names of what was made from an artifact; artifact ids where there is none.
Result<std::vector<std::string>> made_from(Api& api, const std::string& artifact) {
  ASSAY_ASSIGN(const Json graph,
               api.get("/v1/models/" + percent_encode(artifact) + "/lineage?direction=down"));
  std::vector<std::string> names;
  for (const Json& node : list_at(graph, "nodes")) {
    const Json& named = list_at(node, list_at(node, "names").empty() ? "digests" : "names");
    if (number_at(node, "depth") > 0 && !named.empty() && named.front().is_string()) {
      names.push_back(named.front().get<std::string>());
    }
  }
  return names;
}

// Policies in force that look at what a model was made from.
Result<std::uint64_t> lineage_policies(Api& api) {
  Query query;
  query.add("active", "true");
  ASSAY_ASSIGN(const Json page, api.list("/v1/policies", query, std::nullopt));
  std::uint64_t found = 0;
  for (const Json& item : list_at(page, "items")) {
    ASSAY_ASSIGN(const Json policy, api.get("/v1/policies/" + percent_encode(text_at(item, "id"))));
    // A condition is a member with its kind as name, however deep it stands.
    const std::string text = policy.value("policy", Json()).dump();
    found += text.find("\"lineage\":{") == std::string::npos ? 0U : 1U;
  }
  return found;
}

// Nothing would be denied, and yet something was made from the artifact: a reader must not take the
// one for the other.
Status explain_none(const ImpactOptions& options, Api& api, Json& answer) {
  for (const std::string& artifact : options.artifacts) {
    if (!ArtifactId::parse(artifact)) {
      continue;
    }
    ASSAY_ASSIGN(const std::vector<std::string> names, made_from(api, artifact));
    answer["made_from"][artifact] = names;
    if (names.empty()) {
      continue;
    }
    ASSAY_ASSIGN(const std::uint64_t policies, lineage_policies(api));
    answer["lineage_policies"] = policies;
    warning("made from it: " + few_names(names) +
            (policies == 0 ? "; no policy in force asks what a model was made from, so nothing "
                             "would be denied"
                           : "; " + counted(policies, "policy") +
                                 " in force with a condition about that; nothing that is known "
                                 "would be denied"));
  }
  return {};
}

Result<Exit> impact(const Context& context, ImpactOptions options) {
  const bool asks_first = !options.signers.empty() || !options.artifacts.empty() ||
                          !std::ranges::all_of(options.revoke_keys, is_key);
  std::vector<std::string> keys = options.revoke_keys;
  if (asks_first) {
    ASSAY_ASSIGN(Api api, open_api(context, options.connection));
    ASSAY_ASSIGN(keys, keys_of(context, api, options));
    for (std::string& artifact : options.artifacts) {
      const bool is_file = client::file_exists(artifact);
      ASSAY_ASSIGN(artifact,
                   is_file ? artifact_meant(api, artifact) : subject_meant(api, artifact));
    }
  }
  ASSAY_ASSIGN(Json request, request_of(options, keys));
  const ImpactOver over = options.since.empty() ? ImpactOver::kPods : ImpactOver::kDecisions;
  if (over == ImpactOver::kDecisions) {
    ASSAY_ASSIGN(request["since"], past_time(options.since, context.clock.now()));
  }
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(Json answer, ask_impact(context, api, over, std::move(request)));
  if (!denies(answer)) {
    if (const Status said = explain_none(options, api, answer); !said) {
      message(context, "what was made from it is not known: " + said.error().detail);
    }
  }
  print_impact(context, over, answer);
  return denies(answer) ? Exit::kNo : Exit::kYes;
}

}  // namespace

void add_impact(const Command& root, Context& context) {
  auto options = std::make_shared<ImpactOptions>();
  const Command verb = root.add("impact", "Which pods would be denied if this were so");
  verb.option("--revoke-key", options->revoke_keys, "ID|PERSON",
              "suppose that this key is revoked, or the key of this identity");
  verb.option("--without-signer", options->signers, "PERSON",
              "suppose that all keys of this identity are revoked: what its signatures hold up");
  verb.option("--withdraw-statement", options->statements, "ID",
              "suppose that this statement or manifest counts for nothing");
  verb.option("--without-artifact", options->artifacts, "MODEL|ID",
              "suppose that this model or dataset must not be used: its name, an artifact id, "
              "ALGORITHM:HEX, or a file with its manifest");
  verb.option("--tcb-status-lost", options->statuses, "STATUS",
              "suppose that evidence with this TCB status is refused");
  verb.option("--tcb-level-lost", options->levels, "FMSPC@DATE",
              "suppose that evidence of platforms with this FMSPC is refused at the TCB level of "
              "this date (50806f000000@2024-03-13), and at older ones");
  verb.option("--reject-advisory", options->advisories, "ID",
              "suppose that evidence is refused where this advisory (INTEL-SA-00837) applies");
  verb.option("--revoke-node", options->nodes, "NAME", "suppose that this node is revoked");
  verb.option("--activate", options->activate, "FILE",
              "suppose that this policy or reference set is in force, instead of the one with its "
              "name");
  verb.option("--deactivate", options->deactivate, "NAME",
              "suppose that the policy with this name is not in force");
  verb.option("--since", options->since, "TIME|AGE",
              "judge stored decisions of this time or later (7d, 12h) instead of known pods");
  verb.option("--limit", options->limit, "N", "list at most N of what changes (default 100)");
  add_connection_options(verb, options->connection);
  verb.note(
      "All options are supposed together; each may be repeated. Nothing is changed, signed or\n"
      "logged. Exits with 1 when something would be denied, or could not be judged. A pod is\n"
      "'running' when a heartbeat of its node names it, 'violated' when that says so of its\n"
      "memory, else 'admitted'; pods that were deleted\n"
      "are not known any more.");
  verb.example("assay impact --revoke-key sha256:9f86...", "see what a revocation would stop");
  verb.example("assay impact --without-signer eva@acme.example", "see what a person holds up");
  verb.example("assay impact --activate prod-v2.json --since 7d",
               "see which decisions of the last week a new policy would turn round");
  verb.example("assay impact --without-artifact corpus.json -o json",
               "see which pods run what was made from a dataset");
  verb.action([options, &context] { return impact(context, *options); });
}

}  // namespace assay::cli
