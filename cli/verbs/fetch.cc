// SPDX-License-Identifier: Apache-2.0
// assay fetch: a model image or artifact with what is attached to it, from a registry or a layout.
#include <algorithm>
#include <memory>
#include <utility>

#include "cli/client/connect.h"
#include "cli/oci/attached.h"
#include "cli/oci/extract.h"
#include "cli/oci/layout.h"
#include "cli/oci/registry.h"
#include "cli/oci/source.h"
#include "cli/oci/staging.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs/verbs.h"
#include "schemas/core/artifact.h"

namespace assay::cli {
namespace {

constexpr int kMaxIndexDepth = 4;

struct FetchOptions {
  std::string reference;
  std::string out;
  std::string layout;
  bool tag = false;
  bool files = false;
  std::string platform;
  std::string below = "models";
  std::uint64_t max_size = oci::kMaxModelBytes;
  oci::RegistryOptions registry;
};

Result<std::unique_ptr<oci::Source>> source_of(const Context& context,
                                               const oci::Reference& reference,
                                               const FetchOptions& options) {
  if (!options.layout.empty()) {
    return oci::open_layout(options.layout);
  }
  oci::RegistryOptions registry = options.registry;
  registry.host = reference.host;
  registry.path = reference.path;
  registry.user_agent = "assay/" + context.version;
  return oci::open_registry(std::move(registry));
}

// What the reference names: by its digest, or by its tag where the user says so.
Result<oci::Fetched> named(oci::Source& source, oci::Reference& reference, bool by_tag) {
  if (reference.digest) {
    return oci::fetch_by_digest(source, *reference.digest, {});
  }
  if (!by_tag) {
    return fail(ErrorCode::kUsage,
                "A tag can mean something else tomorrow: give a digest, or --tag to take what it "
                "means now",
                reference.text());
  }
  ASSAY_ASSIGN(oci::Fetched fetched, oci::fetch_by_tag(source, reference.tag));
  reference.digest = fetched.digest;
  return fetched;
}

// Whether an entry of an index is an image, and of the platform that is asked for.
bool fits(const oci::ContentRef& one, const std::string& platform) {
  // BuildKit lists attestations as images of an unknown platform.
  return one.annotation("vnd.docker.reference.type").empty() &&
         (platform.empty() || one.platform == platform || one.platform.starts_with(platform + "/"));
}

// The one manifest that an index leads to.
Result<oci::ContentRef> chosen_from(const oci::Fetched& index, const std::string& platform) {
  const oci::ContentRef* found = nullptr;
  std::string all;
  for (const oci::ContentRef& one : index.manifest.parts) {
    if (!fits(one, platform)) {
      continue;
    }
    all += (all.empty() ? "" : ", ") + (one.platform.empty() ? one.digest.text() : one.platform);
    if (found != nullptr && found->digest != one.digest) {
      return fail(ErrorCode::kModelReferenceAmbiguous,
                  "The index has several manifests; choose one with --platform or by its digest",
                  all);
    }
    found = &one;
  }
  if (found == nullptr) {
    return fail(
        ErrorCode::kNotFound,
        "The index has no manifest" + (platform.empty() ? "" : " for the platform " + platform),
        index.digest.text());
  }
  return *found;
}

// The reference's manifest first, the image last; indexes lead from one to the other.
Result<std::vector<oci::Fetched>> way_to_image(oci::Source& source, oci::Fetched first,
                                               const std::string& platform) {
  std::vector<oci::Fetched> way;
  way.push_back(std::move(first));
  while (way.back().manifest.is_index) {
    if (way.size() > kMaxIndexDepth) {
      return fail(ErrorCode::kLimitExceeded,
                  "Indexes lead to indexes more than " + std::to_string(kMaxIndexDepth) + " times",
                  way.front().digest.text());
    }
    ASSAY_ASSIGN(const oci::ContentRef next, chosen_from(way.back(), platform));
    ASSAY_ASSIGN(oci::Fetched fetched, oci::fetch_manifest(source, next));
    way.push_back(std::move(fetched));
  }
  return way;
}

// Shows how much of the layers has arrived.
class ShownSource final : public oci::Source {
 public:
  ShownSource(const Context& context, oci::Source& source, const oci::Manifest& image)
      : source_(source), progress_(context, "fetching") {
    for (const oci::ContentRef& layer : image.parts) {
      total_ += layer.size;
    }
  }

  Result<oci::RawManifest> manifest(const std::string& reference) override {
    return source_.manifest(reference);
  }
  Result<std::vector<oci::ContentRef>> referrers(const Digest& digest) override {
    return source_.referrers(digest);
  }
  Status blob(const Digest& digest, std::uint64_t size, const oci::TakePiece& take) override {
    return source_.blob(digest, size, [&](ByteView piece) {
      done_ += piece.size();
      progress_.update(std::min(done_, total_), total_);
      return take(piece);
    });
  }

 private:
  oci::Source& source_;
  Progress progress_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
};

std::string file_name(std::size_t number, std::string_view suffix) {
  const std::string digits = std::to_string(number);
  return "attached/" + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits + "." +
         std::string(suffix);
}

Result<Json> write_attached(oci::Staging& staging, const std::vector<oci::Attached>& all) {
  Json items = Json::array();
  std::size_t number = 0;
  for (const oci::Attached& one : all) {
    Json item = {{"kind", one.kind},
                 {"media_type", one.media_type},
                 {"digest", one.blob.text()},
                 {"manifest", one.manifest.text()},
                 {"subject", one.subject.text()},
                 {"via", one.via}};
    if (one.kind != "other") {
      const std::string file = file_name(++number, oci::file_suffix(one.kind));
      ASSAY_TRY(staging.write(file, one.bytes));
      item["file"] = file;
      if (!one.signature.empty()) {
        ASSAY_TRY(staging.write(file + ".sig", as_bytes(one.signature + "\n")));
      }
      if (!one.certificate.empty()) {
        ASSAY_TRY(staging.write(file + ".pem", as_bytes(one.certificate)));
      }
      if (!one.log_entry.empty()) {
        ASSAY_TRY(staging.write(file + ".rekor.json", as_bytes(one.log_entry)));
      }
    }
    items.push_back(std::move(item));
  }
  return items;
}

void say(const Context& context, const Json& result) {
  if (context.json()) {
    print_json(result);
    return;
  }
  print_line(text_at(result, "reference"));
  const std::string out = text_at(result, "out");
  for (const Json& one : list_at(result, "attached")) {
    const std::string file = text_at(one, "file");
    print_line("attached " + text_at(one, "kind") + " " +
               (file.empty() ? text_at(one, "media_type") + ": not written" : out + "/" + file));
  }
  if (list_at(result, "attached").empty()) {
    print_line("nothing is attached");
  }
  if (result.contains("files")) {
    print_line("model of " + counted(number_at(result["files"], "number"), "file") + ", " +
               human_bytes(static_cast<double>(number_at(result["files"], "bytes"))) + " in " +
               out + "/model");
  }
  message(context, "No signature was verified.");
}

Result<Exit> fetch(const Context& context, const FetchOptions& options) {
  ASSAY_ASSIGN(oci::Reference reference, oci::parse_reference(options.reference));
  if (!options.below.empty() && options.below != ".") {
    ASSAY_TRY(check_path(options.below));
  }
  ASSAY_ASSIGN(const auto source, source_of(context, reference, options));
  ASSAY_ASSIGN(oci::Staging staging, oci::Staging::open(options.out));
  ASSAY_ASSIGN(oci::Fetched first, named(*source, reference, options.tag));
  ASSAY_ASSIGN(const auto way, way_to_image(*source, std::move(first), options.platform));
  std::vector<oci::Attached> attached;
  for (const oci::Fetched& one : way) {
    ASSAY_ASSIGN(std::vector<oci::Attached> its, oci::find_attached(*source, one.digest));
    std::ranges::move(its, std::back_inserter(attached));
  }
  const oci::Fetched& image = way.back();
  ASSAY_TRY(staging.write("manifest.json", image.bytes));
  if (way.size() > 1) {
    ASSAY_TRY(staging.write("index.json", way.front().bytes));
  }
  Json result = {{"reference", reference.text()},
                 {"manifest", image.digest.text()},
                 {"media_type", image.manifest.media_type},
                 {"artifact_type", image.manifest.artifact_type},
                 {"out", options.out}};
  ASSAY_ASSIGN(result["attached"], write_attached(staging, attached));
  if (options.files) {
    const oci::ExtractOptions extract{options.below == "." ? "" : options.below, options.max_size};
    ShownSource shown(context, *source, image.manifest);
    ASSAY_ASSIGN(const oci::Extracted got,
                 oci::extract_model(shown, image.manifest, extract, staging, "model"));
    result["files"] = {{"number", got.files}, {"bytes", got.bytes}};
  }
  ASSAY_TRY(staging.commit());
  say(context, result);
  return Exit::kYes;
}

void add_registry_options(const Command& verb, FetchOptions& options) {
  verb.option("--registry-ca", options.registry.ca, "FILE",
              "PEM certificate that the registry's must chain to; nothing else is trusted then");
  verb.option("--registry-auth", options.registry.docker_config, "FILE",
              "file of Docker's (config.json) with user and password; no helper program is run");
  verb.option("--registry-token-file", options.registry.token_file, "FILE",
              "file with a bearer token of the registry");
  verb.option("--auth-host", options.registry.auth_hosts, "HOST",
              "host that gives out tokens for this registry, where it is another one; may be given "
              "again");
  verb.flag("--plain-http", options.registry.plain_http,
            "speak HTTP without TLS; for a registry on this machine alone");
}

}  // namespace

void add_fetch(const Command& root, Context& context) {
  auto options = std::make_shared<FetchOptions>();
  const Command verb =
      root.add("fetch", "Get a model image's manifest, signatures and files from a registry");
  verb.argument("REFERENCE", options->reference, "oci://NAME@sha256:HEX, as in a location");
  verb.option("--out", options->out, "DIR", "directory to make; not there yet, or empty");
  verb.required();
  verb.option("--layout", options->layout, "DIR",
              "OCI image layout on disk to read instead of a registry");
  verb.flag("--tag", options->tag,
            "REFERENCE is oci://NAME:TAG; the digest that it stands for is printed");
  verb.flag("--files", options->files, "write the files of the model, too, to DIR/model");
  verb.option("--path", options->below, "PATH",
              "directory of a container image that is the model (default: models, as in KServe's "
              "modelcars; '.' is all of it)");
  verb.option("--platform", options->platform, "OS/ARCH",
              "which manifest of an index, such as linux/amd64");
  verb.option("--max-size", options->max_size, "BYTES",
              "most bytes of the model's files (default: 2 TiB)");
  add_registry_options(verb, *options);
  verb.note(
      "Writes DIR/manifest.json and DIR/attached: Sigstore bundles, model.sig of OpenSSF Model\n"
      "Signing, DSSE envelopes, signatures of cosign, bills of materials. They are found by the\n"
      "referrers of OCI 1.1, by their tags, and by the tags of cosign. Every byte is checked\n"
      "against digest and size, but no signature is verified: that is for 'assay verify',\n"
      "'assay attest verify' and the service. Nothing is written unless all of it is right.");
  verb.example(
      "assay fetch oci://registry.example.com/acme/llama@sha256:9f86... --files --out llama",
      "get a model with what is attached to it");
  verb.example("assay fetch oci://acme/llama:2.0 --tag --layout ./layout --out llama",
               "take what a tag of a layout on disk stands for");
  verb.action([options, &context] { return fetch(context, *options); });
}

}  // namespace assay::cli
