// SPDX-License-Identifier: Apache-2.0
// assay endorsements fetch: asks all vendors for what evidence needs, verifies it, writes it.
#include "cli/verbs/endorsements_fetch.h"

#include <filesystem>
#include <memory>

#include "attestation/collateral_set.h"
#include "attestation/nvidia/ocsp_request.h"
#include "cli/documents/endorsed.h"
#include "cli/output.h"
#include "cli/verbs/collateral_files.h"
#include "cli/verbs/endorsements_source.h"
#include "cli/verbs/evidence.h"
#include "client/files.h"

namespace assay::cli {

namespace {

struct FetchAllOptions {
  std::vector<std::string> evidence;
  std::vector<std::string> roots;
  std::string pcs{kIntelPcs};
  std::string root_crl;
  std::string rims{kNvidiaRims};
  std::string ocsp{kNvidiaOcsp};
  std::string kds{kAmdKds};
  std::string cacert;
  std::string at;
  std::uint64_t timeout = 30;
  std::string out;
};

std::string base_of(std::string url) {
  while (url.ends_with('/')) {
    url.pop_back();
  }
  return url;
}

EndorsementSources sources_of(const FetchAllOptions& options) {
  return {source_at(base_of(options.pcs), options.root_crl), base_of(options.rims),
          base_of(options.ocsp), base_of(options.kds)};
}

Result<WantedEndorsements> wanted_by(const std::vector<std::string>& files) {
  WantedEndorsements wanted;
  for (const std::string& path : files) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, attestation::nvidia::kMaxEvidenceFile));
    ASSAY_TRY(add_wanted(bytes, path, wanted));
  }
  return wanted;
}

// A source, above all a cache, may answer with something else than what was asked for.
Status check_fetched(const std::vector<FetchedEndorsement>& fetched,
                     const std::vector<EndorsedBytes>& roots, Timestamp now) {
  for (const FetchedEndorsement& one : fetched) {
    if (one.collateral.is_null()) {
      continue;  // verified with the report
    }
    auto set =
        attestation::authenticate_collateral(one.type, one.collateral, bytes_for(roots, one.type));
    if (!set) {
      return fail(set.error().code, set.error().detail, one.file + set.error().where);
    }
    if (now < (*set)->valid_from() || now > (*set)->valid_until()) {
      return fail(ErrorCode::kCollateralRefused,
                  "it is valid from " + to_rfc3339((*set)->valid_from()) + " to " +
                      to_rfc3339((*set)->valid_until()),
                  one.file);
    }
    for (const attestation::CollateralPart& part : (*set)->parts()) {
      const std::string last = part.name.substr(part.name.rfind('/') + 1);
      const bool names_file =
          part.kind == "tcb-info" || part.kind == "pck-crl" || part.kind == "amd-crl";
      if (names_file && one.file.find("-" + last) == std::string::npos) {
        return fail(ErrorCode::kCollateralRefused, "the source gave collateral of " + part.name,
                    one.file);
      }
    }
  }
  return {};
}

Status write_fetched(const std::vector<FetchedEndorsement>& fetched, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, "The folder cannot be made", folder);
  }
  for (const FetchedEndorsement& one : fetched) {
    const std::string path = folder + "/" + one.file;
    ASSAY_TRY(one.collateral.is_null() ? client::write_file(path, ByteView(one.certificate))
                                       : client::write_file(path, one.collateral.dump(2) + "\n"));
  }
  return {};
}

Result<std::vector<EndorsedBytes>> read_roots(const std::vector<std::string>& texts) {
  std::vector<EndorsedBytes> roots;
  for (const std::string& text : texts) {
    ASSAY_ASSIGN(EndorsedBytes root, read_typed_root(text));
    roots.push_back(std::move(root));
  }
  return roots;
}

Result<Exit> fetch_all(const Context& context, const FetchAllOptions& options) {
  ASSAY_ASSIGN(const Timestamp now, evidence_time(options.at, context.clock));
  ASSAY_ASSIGN(const auto roots, read_roots(options.roots));
  ASSAY_ASSIGN(const WantedEndorsements wanted, wanted_by(options.evidence));
  const AskVendor ask = [&](const std::string& url, const Bytes& body) {
    message(context, (body.empty() ? "get " : "ask ") + url);
    return client::fetch_public({.url = url,
                                 .ca = options.cacert,
                                 .user_agent = "assay/" + context.version,
                                 .timeout_seconds = options.timeout,
                                 .post = body,
                                 .post_type = std::string(attestation::nvidia::kOcspRequestType)});
  };
  auto fetched = fetch_endorsements(sources_of(options), wanted, roots, ask);
  if (!fetched) {
    return refuse_or_fail(context, std::move(fetched).error());
  }
  if (Status good = check_fetched(*fetched, roots, now); !good) {
    return refuse_or_fail(context, std::move(good).error());
  }
  ASSAY_TRY(write_fetched(*fetched, options.out));
  Json files = Json::array();
  for (const FetchedEndorsement& one : *fetched) {
    files.push_back({{"type", one.type}, {"file", options.out + "/" + one.file}});
  }
  if (context.json()) {
    print_json({{"files", std::move(files)}});
    return Exit::kYes;
  }
  for (const Json& file : files) {
    print_line(file.at("file").get<std::string>());
  }
  return Exit::kYes;
}

}  // namespace

void add_endorsements_fetch(const Command& group, Context& context) {
  auto options = std::make_shared<FetchAllOptions>();
  const Command verb =
      group.add("fetch", "Get from the vendors what evidence needs, verify it, write it");
  verb.option("--evidence", options->evidence, "FILE",
              "a TDX quote, an SEV-SNP report or a list of devices, as machines made them; several "
              "times");
  verb.required();
  verb.option("--out", options->out, "FOLDER", "where to write the files");
  verb.required();
  verb.option("--pcs", options->pcs, "URL", "Intel's PCS API v4, or a cache of it");
  verb.option("--root-crl", options->root_crl, "URL", "address of the CRL of Intel's root");
  verb.option("--rim-service", options->rims, "URL", "NVIDIA's RIM service");
  verb.option("--ocsp", options->ocsp, "URL", "NVIDIA's OCSP responder");
  verb.option("--kds", options->kds, "URL", "AMD's key distribution service");
  verb.option("--cacert", options->cacert, "FILE", "PEM of the sources' certificate or CA");
  verb.option("--root", options->roots, "TYPE=FILE", "root to accept besides the vendor's");
  verb.option("--at", options->at, "TIME", "RFC 3339; the collateral must be valid then");
  verb.option("--timeout", options->timeout, "SECONDS", "for each request");
  verb.note(
      "Needs a network, and no service. One quote of TDX or report of SEV-SNP is enough for all\n"
      "machines of its family. GPUs have certificates of their own: give the evidence of all.\n"
      "Redirects are not followed. A report of SEV-SNP without a certificate gets the one of its\n"
      "chip, for 'evidence verify --certificate'.");
  verb.example(
      "assay endorsements fetch --evidence quote.bin --evidence gpus.json --out collateral",
      "get what a site without a network needs to verify such machines");
  verb.action([options, &context] { return fetch_all(context, *options); });
}

}  // namespace assay::cli
