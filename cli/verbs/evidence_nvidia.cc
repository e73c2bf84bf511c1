// SPDX-License-Identifier: Apache-2.0
// assay evidence verify --type nvidia-gpu.
#include "cli/verbs/evidence_nvidia.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "attestation/nvidia/accept.h"
#include "attestation/nvidia/evidence_file.h"
#include "attestation/nvidia/topology.h"
#include "attestation/nvidia/verify.h"
#include "attestation/x509/certificate.h"
#include "cli/output.h"
#include "cli/verbs/evidence.h"
#include "client/files.h"
#include "schemas/core/printable.h"

namespace assay::cli {

namespace {

namespace nvidia = attestation::nvidia;
namespace certificates = attestation::x509;

struct FileRefusal {
  std::string file;
  nvidia::Failure failure;
};

struct Stored {
  std::vector<nvidia::OcspResponse> responses;
  std::vector<nvidia::Rim> rims;
  std::vector<FileRefusal> refused;  // files that do not verify, and count as absent
};

struct DeviceVerdict {
  std::optional<nvidia::DeviceFacts> facts;
  std::vector<nvidia::Failure> failures;
};

struct MachineVerdict {
  std::vector<DeviceVerdict> devices;
  std::optional<nvidia::Failure> failure;  // of all devices together, or of the file
  std::optional<bool> is_board_whole;      // nothing without protected PCIe
};

// The files that are named, those in named folders included.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const std::size_t begin = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.is_regular_file(error)) {
        files.push_back(entry.path().string());
      }
    }
    if (error) {
      return fail(ErrorCode::kFileUnreadable, "The folder " + path + " cannot be read");
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(begin), files.end());
  }
  return files;
}

using Anchors = std::vector<certificates::Certificate>;

Result<certificates::Certificate> read_anchor(const std::string& path,
                                              const certificates::Certificate& otherwise) {
  if (path.empty()) {
    return otherwise;
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
  ASSAY_ASSIGN(auto all, certificates::parse_certificates(bytes));
  if (all.size() != 1) {
    return fail(ErrorCode::kUsage, "A root is one certificate");
  }
  return std::move(all.front());
}

// A RIM is kept under the name of its file, or under the id in an answer of the RIM service.
nvidia::Checked<nvidia::Rim> open_rim_file(const std::string& path, const Bytes& bytes,
                                           const Anchors& roots, const Stored& stored) {
  const std::filesystem::path file(path);
  if (file.extension() != ".json") {
    return nvidia::open_rim(file.stem().string(), bytes, roots, stored.responses);
  }
  const auto answer = nvidia::parse_rim_answer(bytes);
  if (!answer) {
    return std::unexpected(answer.error());
  }
  return nvidia::open_rim(answer->id, answer->xml, roots, stored.responses);
}

// RIMs and answers of a collateral document; chains are those of the evidence and of the RIMs.
void read_collateral_of(const Json& json, const Anchors& roots, Stored& stored) {
  const auto each = [&](std::string_view prefix, const auto& take) {
    for (const auto& [key, value] : json.items()) {
      if (key.starts_with(prefix) && value.is_string()) {
        take(key, key.substr(prefix.size()), value.template get_ref<const std::string&>());
      }
    }
  };
  each("ocsp/", [&](const std::string& key, const std::string&, const std::string& text) {
    auto response = nvidia::OcspResponse::parse(base64_decode(text).value_or(Bytes()));
    if (response) {
      stored.responses.push_back(*std::move(response));
    } else {
      stored.refused.push_back({key, std::move(response).error()});
    }
  });
  each("rim/", [&](const std::string& key, const std::string& id, const std::string& text) {
    auto rim = nvidia::open_rim(id, as_bytes(text), roots, stored.responses);
    if (rim) {
      stored.rims.push_back(*std::move(rim));
    } else {
      stored.refused.push_back({key, std::move(rim).error()});
    }
  });
}

Result<Anchors> anchors_with(const std::string& path, const certificates::Certificate& vendor,
                             const Endorsed& endorsed) {
  Anchors anchors;
  ASSAY_ASSIGN(certificates::Certificate first, read_anchor(path, vendor));
  anchors.push_back(std::move(first));
  for (const Bytes& der : endorsed.roots) {
    ASSAY_ASSIGN(certificates::Certificate root, certificates::Certificate::from_der(der));
    anchors.push_back(std::move(root));
  }
  return anchors;
}

Result<Stored> read_stored(const NvidiaCommonOptions& common, const NvidiaVerifyOptions& options,
                           const Endorsed& endorsed) {
  Stored stored;
  ASSAY_ASSIGN(const Anchors roots, anchors_with(options.rim_root, nvidia::rim_root(), endorsed));
  ASSAY_ASSIGN(const auto answers, files_of(options.answers));
  for (const std::string& path : answers) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
    auto response = nvidia::OcspResponse::parse(bytes);
    if (response) {
      stored.responses.push_back(*std::move(response));
    } else {
      stored.refused.push_back({path, std::move(response).error()});
    }
  }
  ASSAY_ASSIGN(const auto rims, files_of(options.rims));
  for (const std::string& path : rims) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
    auto rim = open_rim_file(path, bytes, roots, stored);
    if (rim) {
      stored.rims.push_back(*std::move(rim));
    } else {
      stored.refused.push_back({path, std::move(rim).error()});
    }
  }
  if (!common.collateral.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, client::read_file(common.collateral));
    ASSAY_ASSIGN(const Json json, parse_json(bytes));
    read_collateral_of(json, roots, stored);
  }
  read_collateral_of(endorsed.collateral, roots, stored);
  return stored;
}

Result<nvidia::NonceExpectation> read_nonce(const std::string& hex) {
  if (hex.empty()) {
    return nvidia::NonceExpectation::not_requested();
  }
  ASSAY_ASSIGN(const nvidia::Nonce nonce, parse_device_nonce(hex));
  return nvidia::NonceExpectation::exactly(nonce);
}

// Without --policy, as for other types of evidence, a missing nonce is told and not refused.
Result<nvidia::Acceptance> read_acceptance(const std::string& path) {
  if (path.empty()) {
    nvidia::Acceptance acceptance;
    acceptance.require_nonce = false;
    return acceptance;
  }
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
  ASSAY_ASSIGN(const Json json, parse_json(bytes));
  return nvidia::parse_acceptance(json);
}

void judge_together(MachineVerdict& verdict) {
  std::vector<nvidia::BoardDevice> all;
  for (const DeviceVerdict& device : verdict.devices) {
    if (!device.facts) {
      return;  // refused in any case
    }
    all.push_back(nvidia::board_device(*device.facts));
  }
  const bool is_protected = std::ranges::any_of(all, &nvidia::BoardDevice::is_protected);
  auto checked = nvidia::check_together(all);
  if (is_protected) {
    verdict.is_board_whole = checked.has_value();
  }
  if (!checked) {
    verdict.failure = std::move(checked).error();
  }
}

MachineVerdict judge(const Bytes& file, const nvidia::Trust& trust, Timestamp now,
                     const nvidia::NonceExpectation& nonce, const nvidia::Acceptance& acceptance) {
  MachineVerdict verdict;
  auto evidence = nvidia::parse_evidence(file);
  if (!evidence) {
    verdict.failure = std::move(evidence).error();
    return verdict;
  }
  for (const nvidia::Evidence& one : *evidence) {
    DeviceVerdict& device = verdict.devices.emplace_back();
    auto facts = nvidia::verify(one, trust, now, nonce);
    if (!facts) {
      device.failures.push_back(std::move(facts).error());
      continue;
    }
    device.failures = nvidia::shortcomings(*facts, acceptance, now);
    device.facts = *std::move(facts);
  }
  judge_together(verdict);
  return verdict;
}

const nvidia::Failure* first_failure(const MachineVerdict& verdict) {
  for (const DeviceVerdict& device : verdict.devices) {
    if (!device.failures.empty()) {
      return &device.failures.front();
    }
  }
  return verdict.failure ? &*verdict.failure : nullptr;
}

Json failures_json(const MachineVerdict& verdict) {
  Json list = Json::array();
  const auto add = [&](const nvidia::Failure& failure, Json device) {
    Json row = nvidia::to_json(failure);
    row["device"] = std::move(device);
    list.push_back(std::move(row));
  };
  for (std::size_t i = 0; i < verdict.devices.size(); ++i) {
    for (const nvidia::Failure& failure : verdict.devices[i].failures) {
      add(failure, i);
    }
  }
  if (verdict.failure) {
    add(*verdict.failure, nullptr);
  }
  return list;
}

void print_nvidia_json(const MachineVerdict& verdict, const Stored& stored) {
  const nvidia::Failure* first = first_failure(verdict);
  Json devices = Json::array();
  for (const DeviceVerdict& device : verdict.devices) {
    devices.push_back(device.facts ? nvidia::to_json(*device.facts) : Json(nullptr));
  }
  Json refused = Json::array();
  for (const FileRefusal& one : stored.refused) {
    refused.push_back({{"file", one.file}, {"error", code(one.failure)}});
  }
  print_json({{"type", "nvidia-gpu"},
              {"verdict", first == nullptr ? "accepted" : "rejected"},
              {"error", first == nullptr ? Json(nullptr) : Json(code(*first))},
              {"errors", failures_json(verdict)},
              {"devices", std::move(devices)},
              {"board", verdict.is_board_whole ? Json(*verdict.is_board_whole) : Json(nullptr)},
              {"refused_files", std::move(refused)}});
}

void print_failure(const nvidia::Failure& failure) {
  print_line("  " + code(failure) + ": " + std::string(meaning(failure.error)));
  if (!failure.expected.empty()) {
    print_line("    expected " + printable(failure.expected));
  }
  if (!failure.actual.empty()) {
    print_line("    actual   " + printable(failure.actual));
  }
}

void print_device(const nvidia::DeviceFacts& facts) {
  print_line("  identity " + facts.identity.text() + (facts.pdi ? ", PDI " + *facts.pdi : ""));
  print_line("  root     " +
             (facts.is_nvidia_root
                  ? std::string("NVIDIA's")
                  : facts.root.text() + ", not NVIDIA's: perhaps no hardware at all"));
  print_line("  firmware " +
             (facts.firmware.driver ? "driver " + *facts.firmware.driver + ", VBIOS "
                                    : std::string("BIOS ")) +
             facts.firmware.vbios + ", debugging " + std::string(name(facts.debug)));
  for (const nvidia::RimFact& rim : facts.rims) {
    print_line("  RIM      " + rim.id + ": " + std::string(name(rim.state)) +
               (rim.ends ? ", ends " + to_rfc3339(*rim.ends) : ""));
  }
  print_line("  measured " + std::to_string(facts.compared) + " compared, " +
             std::to_string(facts.mismatches.size()) + " differ");
  print_line("  valid    until " + to_rfc3339(facts.valid_until));
}

void print_nvidia(const Context& context, const MachineVerdict& verdict, const Stored& stored) {
  if (context.json()) {
    print_nvidia_json(verdict, stored);
    return;
  }
  const nvidia::Failure* first = first_failure(verdict);
  print_line(first == nullptr ? "accepted" : "rejected: " + code(*first));
  for (std::size_t i = 0; i < verdict.devices.size(); ++i) {
    const DeviceVerdict& device = verdict.devices[i];
    print_line("device " + std::to_string(i) +
               (device.facts ? ": " + std::string(name(device.facts->architecture)) + " " +
                                   std::string(name(device.facts->kind)) + " " +
                                   printable(device.facts->chip + " " + device.facts->serial)
                             : ": refused"));
    if (device.facts) {
      print_device(*device.facts);
    }
    std::ranges::for_each(device.failures, print_failure);
  }
  if (verdict.is_board_whole == true) {
    print_line("The devices are one board in protected PCIe mode.");
  }
  if (verdict.failure) {
    print_failure(*verdict.failure);
  }
  for (const FileRefusal& one : stored.refused) {
    message(context, "Not used: " + one.file + ": " + code(one.failure));
  }
}

}  // namespace

Result<nvidia::Nonce> parse_device_nonce(const std::string& hex) {
  const auto bytes = hex_decode(lower_case(hex));
  if (!bytes || bytes->size() != nvidia::kNonceBytes) {
    return fail(ErrorCode::kUsage, "A nonce is 64 hex digits");
  }
  nvidia::Nonce nonce{};
  std::ranges::copy(*bytes, nonce.begin());
  return nonce;
}

std::shared_ptr<NvidiaVerifyOptions> add_nvidia_options(const Command& verb) {
  auto options = std::make_shared<NvidiaVerifyOptions>();
  verb.option("--nonce", options->nonce, "HEX",
              "32 bytes: nvidia-gpu: what each report must have been asked with; composite: the "
              "challenge");
  verb.option(
      "--rim", options->rims, "PATH",
      "nvidia-gpu: a RIM named by its id (.xml), an answer of the RIM service (.json), or a "
      "folder of these; several times");
  verb.option("--ocsp", options->answers, "PATH",
              "nvidia-gpu: a stored OCSP answer (DER), or a folder of these; several times");
  verb.option("--rim-root", options->rim_root, "FILE",
              "nvidia-gpu: trust this root of RIMs (DER or PEM) in place of NVIDIA's");
  verb.example(
      "assay evidence verify --type nvidia-gpu --nonce $HEX --rim rims --ocsp ocsp gpus.json",
      "verify GPUs against signed measurements, with the network off");
  return options;
}

Result<Exit> verify_nvidia(const Context& context, const NvidiaCommonOptions& common,
                           const NvidiaVerifyOptions& options) {
  ASSAY_ASSIGN(const Bytes file, client::read_file(common.evidence));
  ASSAY_ASSIGN(const Endorsed endorsed, read_endorsed(context, common.endorsed, kNvidiaEvidence,
                                                      file, common.collateral, {}, common.at));
  ASSAY_ASSIGN(nvidia::Acceptance acceptance, read_acceptance(common.policy));
  for (const auto& [id, digest] : endorsed.vouched) {
    acceptance.vouched.insert(digest);
  }
  ASSAY_ASSIGN(const nvidia::NonceExpectation nonce, read_nonce(options.nonce));
  ASSAY_ASSIGN(const Timestamp now, evidence_time(common.at, context.clock));
  ASSAY_ASSIGN(const Anchors roots, anchors_with(common.root, nvidia::device_root(), endorsed));
  ASSAY_ASSIGN(const Stored stored, read_stored(common, options, endorsed));
  const MachineVerdict verdict = judge(
      file, {roots, stored.rims, stored.responses, acceptance.window}, now, nonce, acceptance);
  print_nvidia(context, verdict, stored);
  if (!context.json() && options.nonce.empty()) {
    message(context, "No nonce was compared: the evidence may be old, and answers nobody");
  }
  return first_failure(verdict) == nullptr ? Exit::kYes : Exit::kNo;
}

}  // namespace assay::cli
