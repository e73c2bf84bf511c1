// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/endorsements_source.h"

#include <algorithm>

#include "attestation/nvidia/firmware.h"
#include "attestation/nvidia/ocsp_request.h"
#include "attestation/snp/certificate_table.h"
#include "attestation/snp/guest_checks.h"
#include "attestation/snp/verify.h"
#include "attestation/tdx/collateral.h"
#include "attestation/tdx/quote_platform.h"
#include "attestation/x509/certificate.h"
#include "cli/documents/endorsed.h"
#include "schemas/evidence.h"

namespace assay::cli {
namespace {

namespace gpu = attestation::nvidia;
namespace amd = attestation::snp;
namespace intel = attestation::tdx;
using attestation::x509::Certificate;

std::unexpected<Error> refused(const std::string& what, const gpu::Failure& failure) {
  return fail(ErrorCode::kCollateralRefused, what + ": " + code(failure));
}

// --- what evidence asks for

std::string spl(const char* name, std::uint8_t value) {
  const std::string digits = std::to_string(value);
  return std::string(name) + "SPL=" + (digits.size() < 2 ? "0" : "") + digits;
}

// Where AMD gives out the certificate of a chip at its reported TCB (AMD 57230). Turin's chips have
// an id of eight bytes.
std::string vcek_path(const amd::Report& report, amd::Generation generation, const amd::Tcb& tcb) {
  constexpr std::size_t kShortId = 8;
  const bool is_turin = generation == amd::Generation::kTurin;
  const ByteView id =
      is_turin ? ByteView(report.chip_id).first(kShortId) : ByteView(report.chip_id);
  return "/vcek/v1/" + std::string(amd::product(generation)) + "/" + hex_encode(id) + "?" +
         (is_turin ? spl("fmc", tcb.fmc) + "&" : "") + spl("bl", tcb.boot_loader) + "&" +
         spl("tee", tcb.tee) + "&" + spl("snp", tcb.snp) + "&" + spl("ucode", tcb.microcode);
}

// A host can hide the chip; then there is nothing to ask for.
void add_chip(const amd::Claimed& claimed, ByteView evidence, WantedEndorsements& wanted) {
  const ByteView table = evidence.subspan(std::min(evidence.size(), amd::kReportBytes));
  const auto certificates = amd::parse_certificate_table(table);
  const bool has_leaf = certificates && !certificates->leaf(claimed.report.signing_key).empty();
  const auto tcb = amd::decode(claimed.report.reported_tcb, *claimed.generation);
  if (!has_leaf && tcb && claimed.report.signing_key == amd::SigningKey::kVcek &&
      claimed.report.chip_id != amd::ChipId{}) {
    wanted.chips.emplace(hex_encode(claimed.report.chip_id).substr(0, 16),
                         vcek_path(claimed.report, *claimed.generation, *tcb));
  }
}

// --- NVIDIA

// Collateral of devices while it is fetched.
class DeviceFetch {
 public:
  DeviceFetch(const EndorsementSources& sources, const AskVendor& ask,
              std::vector<Certificate> device_roots, std::vector<Certificate> rim_roots)
      : sources_(sources),
        ask_(ask),
        device_roots_(std::move(device_roots)),
        rim_roots_(std::move(rim_roots)) {}

  // The leaf of a device is made anew with each firmware, so nobody answers for it.
  Status add(const gpu::Evidence& device) {
    const auto chain = gpu::verify_device_chain(device.certificates, device_roots_);
    if (!chain) {
      return refused("the chain of a device", chain.error());
    }
    const auto report = gpu::parse_report(device.report);
    if (!report) {
      return refused("the report of a device", report.error());
    }
    const auto firmware = gpu::read_firmware(*report, *chain);
    if (!firmware) {
      return refused("the report of a device", firmware.error());
    }
    ASSAY_TRY(add_answers(std::span(chain->certificates).subspan(1)));
    for (const gpu::WantedRim& wanted : firmware->wanted) {
      ASSAY_TRY(add_rim(wanted.id));
    }
    return {};
  }
  Json take() { return std::move(collateral_); }

 private:
  // The id is a claim of the report, and part of an address.
  Status add_rim(const std::string& id) {
    constexpr std::string_view kOfIds =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-";
    if (id.find_first_not_of(kOfIds) != std::string::npos || id.find("..") != std::string::npos) {
      return fail(ErrorCode::kCollateralRefused, "a report asks for a RIM with an odd id");
    }
    const std::string member = "rim/" + id;
    if (collateral_.contains(member)) {
      return {};
    }
    const std::string url = sources_.rims + "/v1/rim/" + id;
    ASSAY_ASSIGN(const client::PublicDocument document, ask_(url, {}));
    const auto answer = gpu::parse_rim_answer(document.body);
    if (!answer || answer->id != id) {
      return fail(ErrorCode::kCollateralUnavailable, url + ": no answer with this RIM");
    }
    const auto rim = gpu::open_rim(id, answer->xml, rim_roots_, {});
    if (!rim) {
      return refused("the RIM " + id, rim.error());
    }
    collateral_[member] = std::string(as_text(answer->xml));
    return add_answers(rim->certificates);
  }

  // About each certificate of a chain but the root.
  Status add_answers(std::span<const Certificate> chain) {
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      const std::string name = chain[i].digest().hex();
      if (collateral_.contains("ocsp/" + name)) {
        continue;
      }
      ASSAY_ASSIGN(const Bytes question, gpu::ocsp_request(chain[i], chain[i + 1]));
      ASSAY_ASSIGN(const client::PublicDocument document, ask_(sources_.ocsp, question));
      ASSAY_TRY(check_answer(document.body, chain[i], chain[i + 1]));
      std::string text;
      for (const Certificate& certificate : chain.subspan(i)) {
        text += attestation::x509::pem(certificate);
      }
      collateral_["ocsp/" + name] = base64_encode(document.body);
      collateral_["chain/" + name] = std::move(text);
    }
    return {};
  }

  static Status check_answer(ByteView der, const Certificate& certificate,
                             const Certificate& issuer) {
    const std::string what = "the OCSP answer about " + certificate.subject();
    const auto response = gpu::OcspResponse::parse(der);
    if (!response) {
      return refused(what, response.error());
    }
    const auto status = gpu::status_of(*response, certificate, issuer);
    if (!status) {
      return refused(what, status.error());
    }
    return *status ? Status()
                   : fail(ErrorCode::kCollateralUnavailable, what + " is about another one");
  }

  const EndorsementSources& sources_;
  const AskVendor& ask_;
  std::vector<Certificate> device_roots_;
  std::vector<Certificate> rim_roots_;
  Json collateral_ = Json::object();
};

Result<std::vector<Certificate>> roots_with(const Certificate& vendor,
                                            const std::vector<EndorsedBytes>& roots) {
  std::vector<Certificate> all = {vendor};
  for (const Bytes& der : bytes_for(roots, kNvidiaEvidence)) {
    ASSAY_ASSIGN(Certificate root, Certificate::from_der(der));
    all.push_back(std::move(root));
  }
  return all;
}

// Collateral in pieces of as many texts as a service takes. An answer stays with its chain.
std::vector<Json> in_pieces(const Json& collateral) {
  constexpr std::size_t kTextsOfPiece = 510;
  std::vector<Json> pieces = {Json::object()};
  for (const auto& [member, text] : collateral.items()) {
    if (member.starts_with("chain/")) {
      continue;
    }
    if (pieces.back().size() >= kTextsOfPiece) {
      pieces.push_back(Json::object());
    }
    pieces.back()[member] = text;
    if (member.starts_with("ocsp/")) {
      const std::string chain = "chain/" + member.substr(5);
      pieces.back()[chain] = collateral.at(chain);
    }
  }
  return pieces;
}

Result<Json> fetch_devices(const EndorsementSources& sources, const WantedEndorsements& wanted,
                           const std::vector<EndorsedBytes>& roots, const AskVendor& ask) {
  ASSAY_ASSIGN(auto device_roots, roots_with(gpu::device_root(), roots));
  ASSAY_ASSIGN(auto rim_roots, roots_with(gpu::rim_root(), roots));
  DeviceFetch fetch(sources, ask, std::move(device_roots), std::move(rim_roots));
  for (const gpu::Evidence& device : wanted.devices) {
    ASSAY_TRY(fetch.add(device));
  }
  return fetch.take();
}

}  // namespace

Status add_wanted(ByteView file, const std::string& path, WantedEndorsements& wanted) {
  if (!file.empty() && (file.front() == '{' || file.front() == '[')) {
    auto devices = gpu::parse_evidence(file);
    if (!devices) {
      return fail(ErrorCode::kInvalidEncoding, code(devices.error()), path);
    }
    std::ranges::move(*devices, std::back_inserter(wanted.devices));
    return {};
  }
  if (const auto family = intel::claimed_family(file)) {
    wanted.families.emplace(hex_encode(family->fmspc), family->ca);
    return {};
  }
  const auto claimed = amd::claimed(file);
  if (!claimed || !claimed->generation) {
    return fail(ErrorCode::kInvalidEncoding,
                "This is no TDX quote with a PCK chain, no SEV-SNP report of a known processor, "
                "and no list of devices",
                path);
  }
  wanted.generations.emplace(amd::product(*claimed->generation));
  add_chip(*claimed, file, wanted);
  return {};
}

Result<std::vector<FetchedEndorsement>> fetch_endorsements(const EndorsementSources& sources,
                                                           const WantedEndorsements& wanted,
                                                           const std::vector<EndorsedBytes>& roots,
                                                           const AskVendor& ask) {
  std::vector<FetchedEndorsement> fetched;
  const GetDocument get = [&ask](const std::string& url) { return ask(url, {}); };
  for (const auto& [fmspc, ca] : wanted.families) {
    ASSAY_ASSIGN(const intel::Collateral texts, fetch_collateral(sources.intel, fmspc, ca, get));
    std::string file = "tdx-";
    file.append(fmspc).append("-").append(ca).append(".json");
    fetched.push_back({std::move(file), std::string(kTdxEvidence), intel::to_json(texts)});
  }
  for (const std::string& product : wanted.generations) {
    const std::string url = sources.kds + "/vcek/v1/" + product + "/crl";
    ASSAY_ASSIGN(const client::PublicDocument crl, get(url));
    fetched.push_back({"sev-snp-" + lower_case(product) + ".json", std::string(kSnpEvidence),
                       Json{{"crl", hex_encode(crl.body)}}});
  }
  for (const auto& [id, path] : wanted.chips) {
    ASSAY_ASSIGN(client::PublicDocument certificate, get(sources.kds + path));
    ASSAY_TRY(Certificate::from_der(certificate.body));
    fetched.push_back(
        {"vcek-" + id + ".der", std::string(kSnpEvidence), Json(), std::move(certificate.body)});
  }
  if (!wanted.devices.empty()) {
    ASSAY_ASSIGN(const Json collateral, fetch_devices(sources, wanted, roots, ask));
    std::size_t number = 0;
    for (Json& piece : in_pieces(collateral)) {
      const std::string more = ++number == 1 ? "" : "-" + std::to_string(number);
      fetched.push_back(
          {"nvidia-gpu" + more + ".json", std::string(kNvidiaEvidence), std::move(piece)});
    }
  }
  return fetched;
}

}  // namespace assay::cli
