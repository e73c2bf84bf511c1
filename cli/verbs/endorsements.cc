// SPDX-License-Identifier: Apache-2.0
// assay endorsements: collateral of several vendors in one file, for services without a network.
#include "schemas/endorsements.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "attestation/corim/reference_document.h"
#include "cli/documents/endorsed.h"
#include "cli/output.h"
#include "cli/verbs/collateral_files.h"
#include "cli/verbs/endorsements_fetch.h"
#include "cli/verbs/evidence.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"

namespace assay::cli {

namespace {

using attestation::CollateralPart;

struct BundleOptions {
  std::uint64_t number = 0;
  std::vector<std::string> collateral;
  std::vector<std::string> roots;
  std::vector<std::string> reference_values;
  std::string at;
  std::string out;
};

Result<EndorsedCollateral> read_endorsed(const std::string& path) {
  auto collateral = read_bundle(path);
  if (!collateral) {
    Error error = std::move(collateral).error();
    error.where = path + (error.where.empty() ? "" : ": " + error.where);
    return std::unexpected(std::move(error));
  }
  return EndorsedCollateral{std::string(bundle_type(*collateral)), *std::move(collateral)};
}

Result<EndorsedBytes> read_values(const std::string& path) {
  ASSAY_ASSIGN(Bytes bytes, client::read_file(path));
  const auto document = attestation::corim::read_reference_document(bytes);
  if (!document) {
    return fail(document.error().code, document.error().detail, path);
  }
  return EndorsedBytes{document->evidence_type, std::move(bytes)};
}

// The files that are named, and the JSON files of folders that are named: those of 'fetch'.
Result<std::vector<std::string>> collateral_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.path().extension() == ".json") {
        found.push_back(entry.path().string());
      }
    }
    if (error || found.empty()) {
      return fail(ErrorCode::kFileUnreadable, "The folder has no collateral", path);
    }
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Result<Endorsements> put_together(const BundleOptions& options, Timestamp now) {
  Endorsements bundle{options.number, now, {}};
  for (const std::string& path : options.collateral) {
    ASSAY_ASSIGN(EndorsedCollateral one, read_endorsed(path));
    bundle.collateral.push_back(std::move(one));
  }
  for (const std::string& text : options.roots) {
    ASSAY_ASSIGN(EndorsedBytes root, read_typed_root(text));
    bundle.roots.push_back(std::move(root));
  }
  for (const std::string& path : options.reference_values) {
    ASSAY_ASSIGN(EndorsedBytes values, read_values(path));
    bundle.reference_values.push_back(std::move(values));
  }
  return bundle;
}

// A service takes nothing else.
Status require_good(const std::vector<OpenedCollateral>& opened, const BundleOptions& options,
                    Timestamp now) {
  for (std::size_t i = 0; i < opened.size(); ++i) {
    const OpenedCollateral& one = opened[i];
    if (one.set == nullptr) {
      Error error = *one.error;
      error.where = options.collateral[i] + error.where;
      return std::unexpected(std::move(error));
    }
    if (now < one.set->valid_from() || now > one.set->valid_until()) {
      return fail(ErrorCode::kCollateralRefused,
                  "valid from " + to_rfc3339(one.set->valid_from()) + " to " +
                      to_rfc3339(one.set->valid_until()),
                  options.collateral[i]);
    }
  }
  return {};
}

// All parts, those that end first before others.
std::vector<CollateralPart> by_end(const std::vector<OpenedCollateral>& opened) {
  std::vector<CollateralPart> parts;
  for (const OpenedCollateral& one : opened) {
    parts.insert(parts.end(), one.set->parts().begin(), one.set->parts().end());
  }
  std::ranges::stable_sort(parts, {}, &CollateralPart::next_update);
  return parts;
}

Json made_json(const Endorsements& bundle, const std::vector<OpenedCollateral>& opened,
               const std::string& file) {
  Json parts = Json::array();
  for (const CollateralPart& part : by_end(opened)) {
    parts.push_back({{"name", part.name},
                     {"kind", part.kind},
                     {"number", part.number},
                     {"issued", to_rfc3339(part.issued)},
                     {"ends", to_rfc3339(part.next_update)}});
  }
  const auto end = first_end(opened);
  return {{"number", bundle.number},
          {"made_at", to_rfc3339(bundle.made_at)},
          {"first_end", end ? Json{{"at", to_rfc3339(end->at)}, {"part", end->part}} : Json()},
          {"parts", std::move(parts)},
          {"file", file}};
}

void tell_made(const Context& context, const Endorsements& bundle,
               const std::vector<OpenedCollateral>& opened, const BundleOptions& options) {
  if (context.json()) {
    print_json(made_json(bundle, opened, options.out));
    return;
  }
  Table table({"ENDS", "ISSUED", "NUMBER", "PART"}, {"ENDS"});
  for (const CollateralPart& part : by_end(opened)) {
    table.row({to_rfc3339(part.next_update), to_rfc3339(part.issued), std::to_string(part.number),
               part.name});
  }
  print_table(context, table);
  if (const auto end = first_end(opened)) {
    message(context, "Bundle " + std::to_string(bundle.number) + " in " + options.out +
                         ": its first part ends at " + to_rfc3339(end->at) +
                         ". Two operators sign it with 'assay sign'");
  }
}

Result<Exit> make_bundle(const Context& context, BundleOptions options) {
  ASSAY_ASSIGN(options.collateral, collateral_files(options.collateral));
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  ASSAY_ASSIGN(const Endorsements bundle, put_together(options, now));
  const auto opened = open_endorsed(bundle);
  if (Status good = require_good(opened, options, now); !good) {
    return refuse_or_fail(context, std::move(good).error());
  }
  ASSAY_ASSIGN(const std::string text, canonical_json(to_json(bundle)));
  ASSAY_TRY(parse_endorsements(as_bytes(text)));  // refused here rather than by the service
  ASSAY_TRY(client::write_file(options.out, text + "\n"));
  tell_made(context, bundle, opened, options);
  return Exit::kYes;
}

}  // namespace

void add_endorsements(const Command& root, Context& context) {
  const Command group = root.add(
      "endorsements", "Collateral of all vendors in one file, for sites without a network");
  add_endorsements_fetch(group, context);

  auto options = std::make_shared<BundleOptions>();
  const Command verb = group.add("bundle", "Put collateral into one file that operators sign");
  verb.option("--number", options->number, "N",
              "a service takes higher numbers only; a date such as 20260301 will do");
  verb.required();
  verb.option(
      "--collateral", options->collateral, "PATH",
      "as 'endorsements fetch', 'collateral fetch' and 'export' write it, the CRL of an AMD "
      "root in DER, or the folder of 'endorsements fetch'; several times");
  verb.required();
  verb.option(
      "--root", options->roots, "TYPE=FILE",
      "root besides the vendor's, for offline verification (several times); a service takes "
      "its own");
  verb.option("--reference-values", options->reference_values, "FILE",
              "reference values for offline verification; several times");
  verb.option("--at", options->at, "TIME", "RFC 3339; all of it must be valid then (default now)");
  verb.option("--out", options->out, "FILE", "where to write it");
  verb.required();
  verb.note(
      "The bundle is complete: a RIM that the last bundle had and this one does not have counts "
      "no\n"
      "longer beyond its end. Two operators sign it ('assay sign'), one sends it ('assay push').\n"
      "Anybody can verify evidence with it: 'assay evidence verify --endorsements'.");
  verb.example("assay endorsements bundle --number 20260301 --collateral carried --out bundle.json",
               "make a bundle, and see what ends when");
  verb.action([options, &context] { return make_bundle(context, *options); });
}

}  // namespace assay::cli
