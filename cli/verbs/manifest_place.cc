// SPDX-License-Identifier: Apache-2.0
// assay manifest place: says where a model lies, without a new manifest.
#include <memory>

#include "cli/documents/documents.h"
#include "cli/documents/keys.h"
#include "cli/verbs/verbs.h"
#include "schemas/location.h"
#include "schemas/placement.h"

namespace assay::cli {

namespace {

struct PlaceOptions {
  std::string model;
  std::string name;
  std::vector<std::string> locations;
  std::string out;
  SigningFlags signing;
};

Result<Placement> placement_of(const PlaceOptions& options) {
  std::vector<std::string> locations;
  for (const std::string& location : options.locations) {
    ASSAY_ASSIGN(std::string normal, normalise_location(location));
    locations.push_back(std::move(normal));
  }
  ASSAY_ASSIGN(NamedModel model, load_named_model(options.model, options.name));
  return Placement{std::move(model.name), std::move(model.artifact), std::move(locations)};
}

Result<Exit> place(const Context& context, const PlaceOptions& options) {
  ASSAY_ASSIGN(const Placement placement, placement_of(options));
  ASSAY_ASSIGN(const Statement statement, to_statement(placement));
  ASSAY_TRY(placement_from(statement));  // refused here rather than by the service
  return sign_and_write(context, statement, options.signing, options.out,
                        {{"artifact", placement.artifact.text()},
                         {"name", placement.name},
                         {"locations", placement.locations}});
}

}  // namespace

void add_manifest_place(const Command& group, Context& context) {
  auto options = std::make_shared<PlaceOptions>();
  const Command verb = group.add("place", "Say where a model lies, without a new manifest");
  verb.argument("MODEL", options->model, "file with its manifest, or artifact id with --name");
  verb.option("--location", options->locations, "URI",
              "where it lies, such as pvc://NAMESPACE/CLAIM/PATH; may be given again");
  verb.required();
  verb.option("--name", options->name, "NAME", "name of the model, beside an artifact id");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  add_signing_options(verb, options->signing, false);
  verb.note(
      "A placement counts like the locations of a manifest: when its signers themselves satisfy\n"
      "what a policy asks of the manifest's. It ends when the key that signed it is revoked.");
  verb.example(
      "assay manifest place llama.signed.json --location pvc://serving/models-b/llama \\\n"
      "      --key publisher.pem --out moved.json",
      "say that the claim has another name now; 'assay push moved.json' tells the service");
  verb.action([options, &context] { return place(context, *options); });
}

}  // namespace assay::cli
