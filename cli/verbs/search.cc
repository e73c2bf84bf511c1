// SPDX-License-Identifier: Apache-2.0
// assay get and assay search: what the service knows.
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "cli/client/lists.h"
#include "cli/client/model_meant.h"
#include "cli/client/names.h"
#include "cli/documents/documents.h"
#include "cli/output.h"
#include "cli/times.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/random.h"
#include "schemas/manifest.h"
#include "schemas/reference_set.h"

namespace assay::cli {

namespace {

// --- get

struct GetOptions {
  std::string id;
  bool envelope = false;
  std::string out;
  ConnectionFlags connection;
};

// Where something with this id may be.
Result<std::vector<std::string>> places_of(const std::string& id) {
  if (const auto artifact = ArtifactId::parse(id); artifact) {
    return std::vector{"/v1/models/" + id};
  }
  if (is_uuid_v7(id)) {
    return std::vector{"/v1/decisions/" + id};
  }
  if (const auto statement = StatementId::parse(id); statement) {
    return std::vector{"/v1/manifests/" + id, "/v1/attestations/" + id, "/v1/policies/" + id};
  }
  return fail(ErrorCode::kUsage,
              "An id is sha256:... of a document, assay-tree-v1-... of a model, or the UUID of a "
              "decision; a model or a policy may be given by its name",
              id);
}

// The first place that has it.
template <typename Fetch>
auto first_found(const std::vector<std::string>& places, const Fetch& fetch)
    -> decltype(fetch(places.front())) {
  for (std::size_t i = 0;; ++i) {
    auto result = fetch(places[i]);
    if (result || result.error().code != ErrorCode::kNotFound || i + 1 == places.size()) {
      return result;
    }
  }
}

Result<Exit> get_envelope(const GetOptions& options, Api& api,
                          const std::vector<std::string>& places) {
  ASSAY_ASSIGN(const Bytes bytes, first_found(places, [&api](const std::string& place) {
                 return api.get_bytes(place, client::kEnvelopeType);
               }));
  ASSAY_TRY(envelope_for(bytes, options.id));
  if (options.out.empty()) {
    print_document(as_text(bytes));
    return Exit::kYes;
  }
  ASSAY_TRY(client::write_file(options.out, bytes));
  return Exit::kYes;
}

// Names of models have a slash, and ids a colon.
Result<std::string> id_meant(Api& api, const std::string& text) {
  if (text.find('/') != std::string::npos && check_model_name(text)) {
    return artifact_meant(api, text);
  }
  const bool has_colon = text.find(':') != std::string::npos && !text.starts_with(kSetPrefix);
  const bool is_id = has_colon || is_uuid_v7(text);
  return is_id || !is_policy_name(text) ? text : policy_meant(api, text, false);
}

Result<Exit> get(const Context& context, GetOptions options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(options.id, id_meant(api, options.id));
  ASSAY_ASSIGN(const std::vector<std::string> places, places_of(options.id));
  if (options.envelope) {
    if (ArtifactId::parse(options.id)) {
      return fail(ErrorCode::kUsage, "A model has many documents; name one of them by its id");
    }
    return get_envelope(options, api, places);
  }
  ASSAY_ASSIGN(const Json json,
               first_found(places, [&api](const std::string& place) { return api.get(place); }));
  if (!options.out.empty()) {
    ASSAY_TRY(client::write_file(options.out, json.dump(2) + "\n"));
    return Exit::kYes;
  }
  print_json(json);
  return Exit::kYes;
}

// --- search

struct SearchOptions {
  std::string kind;
  std::string subject;
  std::string artifact;
  std::string name;
  std::string predicate_type;
  std::string stage;
  std::string signer;
  std::string since;
  std::string until;
  ListFlags list;
};

struct Filter {
  const char* parameter;
  std::string SearchOptions::* value;
  bool manifests;
  bool attestations;
  bool policies;
};

constexpr std::array<Filter, 8> kFilters = {{
    {"artifact", &SearchOptions::artifact, true, false, false},
    {"name", &SearchOptions::name, true, false, true},
    {"subject", &SearchOptions::subject, false, true, false},
    {"predicate_type", &SearchOptions::predicate_type, false, true, false},
    {"stage", &SearchOptions::stage, false, true, false},
    {"signer", &SearchOptions::signer, true, true, false},
    {"since", &SearchOptions::since, true, true, false},
    {"until", &SearchOptions::until, true, true, false},
}};

struct Collection {
  const char* kind;
  const char* path;
  bool Filter::* takes;
};

constexpr std::array<Collection, 3> kCollections = {{
    {"manifest", "/v1/manifests", &Filter::manifests},
    {"attestation", "/v1/attestations", &Filter::attestations},
    {"policy", "/v1/policies", &Filter::policies},
}};

// A collection that cannot be filtered by everything asked for would answer too much.
bool can_answer(const Collection& collection, const SearchOptions& options) {
  for (const Filter& filter : kFilters) {
    if (!(options.*filter.value).empty() && !(filter.*collection.takes)) {
      return false;
    }
  }
  return true;
}

Result<std::vector<const Collection*>> collections_for(const SearchOptions& options) {
  std::vector<const Collection*> chosen;
  for (const Collection& collection : kCollections) {
    const bool wanted = options.kind.empty() ? std::string_view(collection.kind) != "policy"
                                             : options.kind == collection.kind;
    if (wanted && can_answer(collection, options)) {
      chosen.push_back(&collection);
    }
  }
  if (chosen.empty()) {
    return fail(ErrorCode::kUsage,
                "Nothing can be searched by these filters together: manifests have --artifact, "
                "--name, --signer, --since and --until; statements have --subject, "
                "--predicate-type, --stage, --signer, --since and --until; policies have --name");
  }
  return chosen;
}

std::string signers_text(const Json& item) {
  std::string out;
  for (const Json& signer : list_at(item, "signers")) {
    const std::string identity = text_at(signer, "identity");
    out += (out.empty() ? "" : ", ") + (identity.empty() ? text_at(signer, "key_id") : identity);
  }
  return out;
}

std::string about(const Json& item) {
  std::string text = text_at(item, "name");
  if (const std::uint64_t version = number_at(item, "version"); version > 0) {
    text += " v" + std::to_string(version);
  }
  const std::string stage = text_at(item, "stage");
  return stage.empty() ? text : stage + (text.empty() ? "" : " " + text);
}

ListView document_view() {
  return {.noun = "document",
          .heads = {"ID", "KIND", "ABOUT", "ARTIFACT OR SUBJECTS", "SIGNED BY", "ACCEPTED"},
          .cells = [](const Json& item) -> std::vector<std::string> {
            const std::string artifact = text_at(item, "artifact");
            return {text_at(item, "id"), text_at(item, "kind"),
                    about(item),         artifact.empty() ? joined_at(item, "subjects") : artifact,
                    signers_text(item),  text_at(item, "accepted_at")};
          }};
}

// Adds the documents that the options ask for, those that are `known` left out.
Status find(Api& api, const std::vector<const Collection*>& collections,
            const SearchOptions& options, const std::set<std::string>& known, Json& found) {
  for (const Collection* collection : collections) {
    Query query;
    for (const Filter& filter : kFilters) {
      query.add(filter.parameter, options.*filter.value);
    }
    ASSAY_ASSIGN(const Json page, fetch_list(api, collection->path, query, options.list));
    for (const Json& item : list_at(page, "items")) {
      if (!known.contains(text_at(item, "id"))) {
        found["items"].push_back(item);
      }
    }
    found["more"] = found["more"].get<bool>() || !text_at(page, "next_cursor").empty();
    found["tree_size"] = number_at(page, "tree_size");
    found["root"] = text_at(page, "root");
  }
  return {};
}

Result<Exit> search(const Context& context, SearchOptions options) {
  ASSAY_ASSIGN(options.since, past_time(options.since, context.clock.now()));
  ASSAY_ASSIGN(options.until, past_time(options.until, context.clock.now()));
  ASSAY_ASSIGN(const auto collections, collections_for(options));
  ASSAY_ASSIGN(Api api, open_api(context, options.list.connection));
  Json found = {{"items", Json::array()}, {"more", false}};
  ASSAY_ASSIGN(options.subject, subject_meant(api, options.subject));
  ASSAY_ASSIGN(options.artifact, subject_meant(api, options.artifact));
  std::vector<std::string> keys = {""};  // of the signer; nobody in particular
  if (!options.signer.empty()) {
    ASSAY_ASSIGN(keys, keys_meant(api, options.signer));
  }
  for (const std::string& key : keys) {
    options.signer = key;
    std::set<std::string> known;
    for (const Json& item : found["items"]) {
      known.insert(text_at(item, "id"));
    }
    ASSAY_TRY(find(api, collections, options, known, found));
  }
  print_list(context, document_view(), std::move(found));
  return Exit::kYes;
}

void add_search_verb(const Command& root, Context& context) {
  auto options = std::make_shared<SearchOptions>();
  const Command verb = root.add("search", "Find manifests, statements and policies");
  verb.choice("--kind", options->kind, {"manifest", "attestation", "policy"},
              "only documents of this kind (default: manifests and statements)");
  verb.option("--artifact", options->artifact, "MODEL|ID", "only manifests of this artifact");
  verb.option("--name", options->name, "NAME",
              "only manifests of this model, or policies of this name");
  verb.option("--subject", options->subject, "MODEL|ID",
              "only statements about this model or artifact id, or this digest as algorithm:value");
  verb.option("--predicate-type", options->predicate_type, "URI", "only statements of this type");
  verb.option("--stage", options->stage, "STAGE", "only statements about this stage");
  verb.option("--signer", options->signer, "PERSON|KEY_ID",
              "only documents that this identity or this key signed");
  verb.option("--since", options->since, "TIME|AGE",
              "only documents accepted at this time or later: 2026-11-01, 7d, 12h");
  verb.option("--until", options->until, "TIME|AGE",
              "only documents accepted at this time or before");
  add_list_options(verb, options->list);
  verb.note("--limit counts for each kind, and for each key of a person, on its own.");
  verb.example("assay search --name acme/llama", "find the manifests of a model");
  verb.example("assay search --signer eva@acme.example", "find what a person signed");
  verb.example("assay search --subject assay-tree-v1-sha256:dc66... --stage evaluate",
               "find the evaluations of an artifact");
  verb.action([options, &context] { return search(context, *options); });
}

}  // namespace

void add_search(const Command& root, Context& context) {
  auto options = std::make_shared<GetOptions>();
  const Command verb = root.add("get", "Fetch one document, model or decision");
  verb.argument(
      "ID", options->id,
      "sha256:... of a document, name of a policy, assay-tree-v1-... or name of a model, UUID of "
      "a decision");
  verb.flag("--envelope", options->envelope,
            "print the signed envelope, byte for byte, instead of what the service says about it");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  add_connection_options(verb, options->connection);
  verb.note("Always prints JSON. Refuses an envelope that is not the document asked for.");
  verb.example("assay get acme/llama", "print everything that is known about a model");
  verb.example("assay get gpu-models", "print a stored policy");
  verb.example("assay get sha256:9f86... --envelope --out llama.signed.json",
               "save a stored manifest with its signatures");
  verb.action([options, &context] { return get(context, *options); });
  add_search_verb(root, context);
}

}  // namespace assay::cli
