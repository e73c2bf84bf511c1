// SPDX-License-Identifier: Apache-2.0
// assay collateral: what a vendor says about platforms, in files and as the service keeps it.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "attestation/collateral_set.h"
#include "attestation/tdx/quote_platform.h"
#include "attestation/tdx/trust_anchor.h"
#include "cli/client/connect.h"
#include "cli/client/lists.h"
#include "cli/output.h"
#include "cli/verbs/collateral_files.h"
#include "cli/verbs/collateral_source.h"
#include "cli/verbs/evidence.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"

namespace assay::cli {

namespace {

namespace tdx = attestation::tdx;
using attestation::CollateralPart;
using attestation::CollateralSetPtr;

Json view_of(const CollateralPart& part) {
  return {{"name", part.name},
          {"kind", part.kind},
          {"number", part.number},
          {"issued", to_rfc3339(part.issued)},
          {"next_update", to_rfc3339(part.next_update)},
          {"substance", part.substance.text()}};
}

Json view_of(const attestation::CollateralSet& set) {
  Json parts = Json::array();
  for (const CollateralPart& part : set.parts()) {
    parts.push_back(view_of(part));
  }
  return {{"collateral", set.digest().text()},
          {"anchor", set.anchor().text()},
          {"anchor_is_vendor", set.anchor_is_vendor()},
          {"valid_from", to_rfc3339(set.valid_from())},
          {"valid_until", to_rfc3339(set.valid_until())},
          {"parts", std::move(parts)}};
}

void print_parts(const Context& context, const Json& parts) {
  Table table({"part", "number", "issued", "next update", "brought by"});
  for (const Json& part : parts) {
    const bool damaged = part.value("damaged", false);
    table.row({text_at(part, "name"),
               damaged ? "damaged" : std::to_string(part.value("number", std::uint64_t{0})),
               text_at(part, "issued"), text_at(part, "next_update"), text_at(part, "brought_by")});
  }
  print_table(context, table);
}

void print_set(const Context& context, const attestation::CollateralSet& set) {
  const Json view = view_of(set);
  if (context.json()) {
    print_json(view);
    return;
  }
  print_parts(context, view.at("parts"));
  print_line("root " + std::string(set.anchor_is_vendor() ? "Intel's" : set.anchor().text()));
  print_line("all of it is valid from " + to_rfc3339(set.valid_from()) + " to " +
             to_rfc3339(set.valid_until()));
}

// --- show

struct ShowOptions {
  std::string file;
  std::string root;
  ListFlags list;
};

Result<Exit> show(const Context& context, const ShowOptions& options) {
  if (!options.file.empty()) {
    ASSAY_ASSIGN(const Json bundle, read_bundle(options.file));
    auto set = open_set(bundle, options.root);
    if (!set) {
      return refuse_or_fail(context, std::move(set).error());
    }
    print_set(context, **set);
    return Exit::kYes;
  }
  ASSAY_ASSIGN(Api api, open_api(context, options.list.connection));
  ASSAY_ASSIGN(const Json page, fetch_list(api, "/v1/collateral", Query(), options.list));
  if (context.json()) {
    print_json(page);
  } else {
    print_parts(context, page.at("items"));
  }
  return Exit::kYes;
}

// --- import

struct ImportOptions {
  std::string file;
  ConnectionFlags connection;
};

Result<Exit> import(const Context& context, const ImportOptions& options) {
  ASSAY_ASSIGN(const Json bundle, read_bundle(options.file));
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  const std::string body = Json{{"type", bundle_type(bundle)}, {"collateral", bundle}}.dump();
  ASSAY_ASSIGN(const Json done, api.put("/v1/collateral", as_bytes(body), client::kJsonType));
  if (context.json()) {
    print_json(done);
    return Exit::kYes;
  }
  Table table({"part", "outcome"});
  for (const Json& part : list_at(done, "parts")) {
    table.row({text_at(part, "name"), text_at(part, "outcome")});
  }
  print_table(context, table);
  return Exit::kYes;
}

// --- export

struct FamilyOptions {
  std::string fmspc;
  std::string ca;
  std::string anchor;
  std::string out = "-";
  ConnectionFlags connection;
};

Result<Json> get_set(Api& api, const FamilyOptions& family) {
  Query query;
  query.add("fmspc", family.fmspc);
  query.add("ca", family.ca);
  query.add("anchor", family.anchor);
  return api.get("/v1/collateral:set" + query.text());
}

Result<Exit> export_set(const Context& context, const FamilyOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json set, get_set(api, options));
  ASSAY_TRY(client::write_file(options.out, set.at("collateral").dump(2) + "\n"));
  message(context, "Exported: a file for 'assay evidence verify --collateral'");
  return Exit::kYes;
}

// --- diff

struct DiffOptions {
  std::string before;
  std::string after;
  std::string root;
  ConnectionFlags connection;
};

// The family of a set, by the names of its parts.
FamilyOptions family_of(const attestation::CollateralSet& set) {
  FamilyOptions family;
  for (const CollateralPart& part : set.parts()) {
    const std::string last = part.name.substr(part.name.rfind('/') + 1);
    if (part.kind == "tcb-info") {
      family.fmspc = last;
    } else if (part.kind == "pck-crl") {
      family.ca = last;
    }
  }
  family.anchor = set.anchor_is_vendor() ? "" : set.anchor().text();
  return family;
}

Result<CollateralSetPtr> kept_set(const Context& context, const DiffOptions& options,
                                  const attestation::CollateralSet& like) {
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const Json set, get_set(api, family_of(like)));
  return open_set(set.at("collateral"), options.root);
}

std::string_view relation(const CollateralPart* before, const CollateralPart* after, bool same) {
  if (before == nullptr || after == nullptr) {
    return before == nullptr ? "added" : "missing";
  }
  if (same) {
    return "same";
  }
  const auto order = [](const CollateralPart& part) {
    return attestation::collateral_order(part.number, part.issued);
  };
  return order(*after) > order(*before) ? "newer" : "not newer";
}

const CollateralPart* find_part(const attestation::CollateralSet& set, const std::string& name) {
  const auto found = std::ranges::find(set.parts(), name, &CollateralPart::name);
  return found == set.parts().end() ? nullptr : &*found;
}

// One row for each name that either set has.
Json compare(const attestation::CollateralSet& before, const attestation::CollateralSet& after) {
  std::map<std::string, bool> names;
  for (const auto* set : {&before, &after}) {
    for (const CollateralPart& part : set->parts()) {
      names.emplace(part.name, true);
    }
  }
  Json rows = Json::array();
  for (const auto& [name, unused] : names) {
    const CollateralPart* old = find_part(before, name);
    const CollateralPart* now = find_part(after, name);
    const bool both = old != nullptr && now != nullptr;
    const bool same = both && members_of(before, *old) == members_of(after, *now);
    rows.push_back({{"name", name},
                    {"after", relation(old, now, same)},
                    {"says_the_same", both && old->substance == now->substance},
                    {"before_issued", old != nullptr ? Json(to_rfc3339(old->issued)) : Json()},
                    {"after_issued", now != nullptr ? Json(to_rfc3339(now->issued)) : Json()},
                    {"before_number", old != nullptr ? Json(old->number) : Json()},
                    {"after_number", now != nullptr ? Json(now->number) : Json()}});
  }
  return rows;
}

Result<Exit> diff(const Context& context, const DiffOptions& options) {
  ASSAY_ASSIGN(const Json first, read_bundle(options.before));
  ASSAY_ASSIGN(CollateralSetPtr after, open_set(first, options.root));
  CollateralSetPtr before;
  if (options.after.empty()) {
    // What the service keeps against the file.
    ASSAY_ASSIGN(before, kept_set(context, options, *after));
  } else {
    before = std::move(after);
    ASSAY_ASSIGN(const Json second, read_bundle(options.after));
    ASSAY_ASSIGN(after, open_set(second, options.root));
  }
  const Json rows = compare(*before, *after);
  const bool same =
      std::ranges::all_of(rows, [](const Json& row) { return text_at(row, "after") == "same"; });
  if (context.json()) {
    print_json({{"same", same}, {"parts", rows}});
  } else {
    Table table({"part", "after", "says the same", "issued before", "issued after"});
    for (const Json& row : rows) {
      table.row({text_at(row, "name"), text_at(row, "after"),
                 row.at("says_the_same").get<bool>() ? "yes" : "no", text_at(row, "before_issued"),
                 text_at(row, "after_issued")});
    }
    print_table(context, table);
  }
  return same ? Exit::kYes : Exit::kNo;
}

// --- fetch

struct FetchOptions {
  std::string fmspc;
  std::string ca;
  std::string quote;
  std::string pcs;
  std::string pccs;
  std::string root_crl;
  std::string update;
  std::optional<std::uint64_t> evaluation_number;
  std::string cacert;
  std::string root;
  std::string at;
  std::uint64_t timeout = 30;
  std::string out = "-";
};

std::string without_slash(std::string text) {
  while (text.ends_with('/')) {
    text.pop_back();
  }
  return text;
}

// Which family is meant: named, or that of a quote.
Status find_family(FetchOptions& options) {
  if (!options.quote.empty()) {
    ASSAY_ASSIGN(const Bytes quote, client::read_file(options.quote, kMaxQuoteBytes));
    const auto family = tdx::claimed_family(quote);
    if (!family) {
      return fail(ErrorCode::kInvalidEncoding,
                  options.quote + " is no TDX quote with a PCK chain of Intel's shape");
    }
    options.fmspc = hex_encode(family->fmspc);
    options.ca = family->ca;
  }
  std::ranges::transform(options.fmspc, options.fmspc.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (options.fmspc.size() != 12 || !hex_decode(options.fmspc)) {
    return fail(ErrorCode::kUsage, "Give --from-quote FILE, or --fmspc with twelve hex digits");
  }
  if (options.ca.empty()) {
    return fail(ErrorCode::kUsage, "Give --pck-ca platform or --pck-ca processor");
  }
  return {};
}

Result<CollateralSource> source_of(const FetchOptions& options) {
  if (!options.pcs.empty() && !options.pccs.empty()) {
    return fail(ErrorCode::kUsage, "Give --pcs or --pccs, not both");
  }
  if (!options.update.empty() && options.evaluation_number) {
    return fail(ErrorCode::kUsage, "Give --update or --evaluation-number, not both");
  }
  const std::string base = without_slash(
      !options.pccs.empty() ? options.pccs
                            : (options.pcs.empty() ? std::string(kIntelPcs) : options.pcs));
  CollateralSource source = source_at(base, options.root_crl);
  source.update = options.update;
  source.evaluation_number = options.evaluation_number;
  return source;
}

// A source, above all a cache, may answer with something else than what was asked for.
Status require_what_was_asked(const attestation::CollateralSet& set, const FetchOptions& options,
                              Timestamp now) {
  const auto refused = [](const std::string& why) {
    return fail(ErrorCode::kCollateralRefused, "the source gave collateral " + why);
  };
  const FamilyOptions family = family_of(set);
  if (family.fmspc != options.fmspc || family.ca != options.ca) {
    return refused("of FMSPC " + family.fmspc + " and CA " +
                   (family.ca.empty() ? "none" : family.ca));
  }
  for (const CollateralPart& part : set.parts()) {
    const bool is_evaluated = part.kind == "tcb-info" || part.kind == "qe-identity";
    if (is_evaluated && options.evaluation_number.value_or(part.number) != part.number) {
      return refused("with evaluation number " + std::to_string(part.number) + " in its " +
                     std::string(part.kind));
    }
  }
  if (now < set.valid_from() || now > set.valid_until()) {
    return refused("that is valid from " + to_rfc3339(set.valid_from()) + " to " +
                   to_rfc3339(set.valid_until()));
  }
  return {};
}

std::uint64_t number_of(const attestation::CollateralSet& set, std::string_view kind) {
  const auto found = std::ranges::find(set.parts(), kind, &CollateralPart::kind);
  return found == set.parts().end() ? 0 : found->number;
}

// Which numbers the source chose matters: "early" and "standard" differ for months.
void tell_fetched(const Context& context, const attestation::CollateralSet& set, bool to_a_file) {
  if (context.json() && to_a_file) {
    print_json(view_of(set));
    return;
  }
  message(context, "Fetched and verified: evaluation number " +
                       std::to_string(number_of(set, "tcb-info")) + " (QE identity " +
                       std::to_string(number_of(set, "qe-identity")) + "), valid until " +
                       to_rfc3339(set.valid_until()));
}

Result<Exit> fetch(const Context& context, FetchOptions options) {
  ASSAY_TRY(find_family(options));
  ASSAY_ASSIGN(const CollateralSource source, source_of(options));
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  ASSAY_ASSIGN(const tdx::Collateral texts,
               fetch_collateral(source, options.fmspc, options.ca, [&](const std::string& url) {
                 return client::fetch_public({.url = url,
                                              .ca = options.cacert,
                                              .user_agent = "assay/" + context.version,
                                              .timeout_seconds = options.timeout});
               }));
  const Json bundle = to_json(texts);
  auto set = open_set(bundle, options.root);
  if (!set) {
    return refuse_or_fail(context, std::move(set).error());
  }
  if (Status asked = require_what_was_asked(**set, options, now); !asked) {
    return refuse_or_fail(context, std::move(asked).error());
  }
  ASSAY_TRY(client::write_file(options.out, bundle.dump(2) + "\n"));
  tell_fetched(context, **set, options.out != "-");
  return Exit::kYes;
}

void add_fetch_verb(const Command& group, Context& context) {
  auto options = std::make_shared<FetchOptions>();
  const Command verb =
      group.add("fetch", "Get collateral from Intel or a cache, verify it, write it");
  verb.option("--fmspc", options->fmspc, "HEX", "platform family, twelve hex digits");
  verb.choice("--pck-ca", options->ca, {"platform", "processor"}, "CA of the PCK certificates");
  verb.option("--from-quote", options->quote, "FILE", "take family and CA from this quote");
  verb.option("--pcs", options->pcs, "URL", "service of Intel's PCS API v4; Intel's by default");
  verb.option("--pccs", options->pccs, "URL", "caching service (PCCS)");
  verb.option("--root-crl", options->root_crl, "URL", "address of the root CA's CRL");
  verb.choice("--update", options->update, {"early", "standard"},
              "which TCB info and QE identity; by default the source chooses");
  verb.option("--evaluation-number", options->evaluation_number, "N",
              "the TCB info and QE identity with this evaluation number");
  verb.option("--cacert", options->cacert, "FILE", "PEM of the source's certificate or CA");
  verb.option("--root", options->root, "FILE", "root certificate to accept besides Intel's");
  verb.option("--at", options->at, "TIME", "RFC 3339; the collateral must be valid then");
  verb.option("--timeout", options->timeout, "SECONDS", "for each request");
  verb.option("--out", options->out, "FILE", "where to write it; standard output by default");
  verb.note("Calls the source and no service. Redirects are not followed.");
  verb.example("assay collateral fetch --from-quote quote.bin --out collateral.json",
               "get what is needed to verify quotes of this machine");
  verb.action([options, &context] { return fetch(context, *options); });
}

void add_show_and_diff(const Command& group, Context& context) {
  auto shown = std::make_shared<ShowOptions>();
  const Command show_verb =
      group.add("show", "Print the parts of a file, or those that the service keeps");
  show_verb.optional_argument("FILE", shown->file, "collateral; without it the service is asked");
  show_verb.option("--root", shown->root, "FILE", "root certificate to accept besides Intel's");
  add_list_options(show_verb, shown->list);
  show_verb.example("assay collateral show", "see what the service keeps, and when it ends");
  show_verb.action([shown, &context] { return show(context, *shown); });

  auto compared = std::make_shared<DiffOptions>();
  const Command diff_verb =
      group.add("diff", "Compare a file with what the service keeps, or two files");
  diff_verb.argument("FILE", compared->before, "collateral");
  diff_verb.optional_argument("AFTER", compared->after, "collateral to compare FILE with");
  diff_verb.option("--root", compared->root, "FILE", "root certificate to accept besides Intel's");
  add_connection_options(diff_verb, compared->connection);
  diff_verb.note("Exits with 0 when both are the same, with 1 when they differ.");
  diff_verb.example("assay collateral diff collateral.json", "see what an import would move");
  diff_verb.action([compared, &context] { return diff(context, *compared); });
}

}  // namespace

void add_collateral(const Command& root, Context& context) {
  const Command group = root.add("collateral", "What a hardware vendor says about platforms");
  add_fetch_verb(group, context);

  auto imported = std::make_shared<ImportOptions>();
  const Command import_verb = group.add("import", "Give collateral to the service");
  import_verb.argument(
      "FILE", imported->file,
      "collateral, as 'fetch' and 'export' write it, or the CRL of an AMD root in DER");
  add_connection_options(import_verb, imported->connection);
  import_verb.note("Parts move forward only; an older part leaves what is kept as it is.");
  import_verb.example("assay collateral import collateral.json",
                      "let nodes of this family enrol without sending collateral");
  import_verb.action([imported, &context] { return import(context, *imported); });

  auto family = std::make_shared<FamilyOptions>();
  const Command export_verb = group.add("export", "Write the collateral of one family to a file");
  export_verb.option("--fmspc", family->fmspc, "HEX", "platform family");
  export_verb.required();
  export_verb.choice("--pck-ca", family->ca, {"platform", "processor"},
                     "CA of the PCK certificates");
  export_verb.required();
  export_verb.option("--anchor", family->anchor, "DIGEST", "root other than the vendor's");
  export_verb.option("--out", family->out, "FILE", "where to write it; standard output by default");
  add_connection_options(export_verb, family->connection);
  export_verb.example("assay collateral export --fmspc b0c06f000000 --pck-ca platform",
                      "verify evidence offline with what the service has");
  export_verb.action([family, &context] { return export_set(context, *family); });

  add_show_and_diff(group, context);
}

}  // namespace assay::cli
