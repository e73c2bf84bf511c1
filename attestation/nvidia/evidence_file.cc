// SPDX-License-Identifier: Apache-2.0
// Evidence and facts as JSON.
#include "attestation/nvidia/evidence_file.h"

#include <algorithm>
#include <optional>

namespace assay::attestation::nvidia {
namespace {

constexpr std::size_t kMaxEvidenceMemory = 4 * kMaxEvidenceFile;

std::unexpected<Failure> bad_device(std::string expected, std::size_t device) {
  return reject(NvidiaError::kEvidenceFormat, std::move(expected), {}, std::to_string(device));
}

std::optional<std::string> text_member(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

// Hex digits are base64 as well, so hex comes first: a report in base64 is never hex alone.
Result<Bytes> decode_report(const std::string& text) {
  auto hex = hex_decode(lower_case(text));
  return hex ? hex : base64_decode(text);
}

Checked<Evidence> read_device(const Json& object, std::size_t number) {
  if (!object.is_object()) {
    return bad_device("an object for each device", number);
  }
  const auto report_text = text_member(object, "evidence");
  const auto chain_text = text_member(object, "certificate");
  auto report = decode_report(report_text.value_or(""));
  const auto chain = base64_decode(chain_text.value_or(""));
  if (!report_text || !chain_text || !report || !chain) {
    return bad_device("evidence and certificate in base64", number);
  }
  Evidence evidence{*std::move(report), std::string(as_text(*chain)), std::nullopt, std::nullopt};
  if (object.contains("arch")) {
    evidence.architecture = architecture_from(text_member(object, "arch").value_or(""));
    if (!evidence.architecture) {
      return bad_device("arch HOPPER, BLACKWELL or LS10", number);
    }
  }
  if (object.contains("nonce")) {
    const auto nonce = hex_decode(lower_case(text_member(object, "nonce").value_or("")));
    if (!nonce || nonce->size() != kNonceBytes) {
      return bad_device("a nonce of 64 hex digits", number);
    }
    std::ranges::copy(*nonce, evidence.nonce.emplace().begin());
  }
  return evidence;
}

// The devices of a document of any of the forms; an object of one device is a list of one. Empty
// for another object.
Json list_of(Json json) {
  if (!json.is_object()) {
    return json;
  }
  const auto list = json.find("device_evidence_list");
  if (list != json.end()) {
    return std::move(*list);
  }
  Json one = Json::array();
  if (json.contains("evidence")) {
    one.push_back(std::move(json));
  }
  return one;
}

Json optional_text(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

Json rims_json(const DeviceFacts& facts) {
  Json list = Json::array();
  for (const RimFact& rim : facts.rims) {
    list.push_back({{"source", name(rim.source)},
                    {"id", rim.id},
                    {"state", name(rim.state)},
                    {"digest", rim.digest ? Json(rim.digest->text()) : Json(nullptr)},
                    {"ends", rim.ends ? Json(to_rfc3339(*rim.ends)) : Json(nullptr)}});
  }
  return list;
}

Json mismatches_json(const DeviceFacts& facts) {
  Json list = Json::array();
  for (const Mismatch& one : facts.mismatches) {
    Json golden = Json::array();
    for (const Bytes& value : one.golden) {
      golden.push_back(hex_encode(value));
    }
    list.push_back({{"source", name(one.source)},
                    {"index", one.index},
                    {"golden", std::move(golden)},
                    {"reported", one.reported ? Json(hex_encode(*one.reported)) : Json(nullptr)}});
  }
  return list;
}

Json revocations_json(const DeviceFacts& facts) {
  Json list = Json::array();
  for (const RevocationFact& one : facts.revocations) {
    list.push_back({{"of", one.where},
                    {"subject", one.subject},
                    {"state", name(one.state)},
                    {"reason", one.reason}});
  }
  return list;
}

}  // namespace

Checked<std::vector<Evidence>> parse_evidence(ByteView bytes) {
  if (bytes.size() > kMaxEvidenceFile) {
    return reject(NvidiaError::kInputTooLarge, std::to_string(kMaxEvidenceFile) + " bytes");
  }
  auto json = parse_json(
      bytes, {.max_bytes = kMaxEvidenceFile, .max_depth = 8, .max_memory = kMaxEvidenceMemory});
  const Json list = json ? list_of(*std::move(json)) : Json();
  if (!list.is_array() || list.empty()) {
    return reject(NvidiaError::kEvidenceFormat, "a list of evidence in JSON");
  }
  if (list.size() > kMaxDevices) {
    return reject(NvidiaError::kInputTooLarge, std::to_string(kMaxDevices) + " devices",
                  std::to_string(list.size()));
  }
  std::vector<Evidence> all;
  for (const Json& object : list) {
    auto evidence = read_device(object, all.size());
    if (!evidence) {
      return std::unexpected(std::move(evidence).error());
    }
    all.push_back(*std::move(evidence));
  }
  return all;
}

Checked<Evidence> parse_device(ByteView bytes) {
  if (bytes.size() > kMaxDeviceEvidence) {
    return reject(NvidiaError::kInputTooLarge, std::to_string(kMaxDeviceEvidence) + " bytes");
  }
  const auto json = parse_json(bytes, {.max_bytes = kMaxDeviceEvidence, .max_depth = 2});
  const auto is_known = [](const auto& member) {
    return member.key() == "arch" || member.key() == "nonce" || member.key() == "evidence" ||
           member.key() == "certificate";
  };
  if (!json || !json->is_object() || !std::ranges::all_of(json->items(), is_known)) {
    return reject(NvidiaError::kEvidenceFormat,
                  "an object with arch, nonce, evidence, certificate");
  }
  return read_device(*json, 0);
}

Json to_json(const DeviceFacts& facts) {
  return {
      {"identity", facts.identity.text()},
      {"kind", name(facts.kind)},
      {"architecture", name(facts.architecture)},
      {"chip", facts.chip},
      {"serial", facts.serial},
      {"pdi", optional_text(facts.pdi)},
      {"root", facts.root.text()},
      {"is_nvidia_root", facts.is_nvidia_root},
      {"mode", facts.kind == DeviceKind::kGpu ? Json(name(facts.firmware.mode)) : Json(nullptr)},
      {"driver_version", optional_text(facts.firmware.driver)},
      {"vbios_version", facts.firmware.vbios},
      {"nonce", hex_encode(facts.nonce)},
      {"nonce_matched", facts.nonce_matched},
      {"fwid", name(facts.fwid)},
      {"rims", rims_json(facts)},
      {"measured", facts.is_measured},
      {"compared", facts.compared},
      {"mismatches", mismatches_json(facts)},
      {"conflicts", facts.conflicts},
      {"debug", name(facts.debug)},
      {"secure_boot", facts.is_measured ? Json(true) : Json(nullptr)},
      {"revocation", revocations_json(facts)},
      {"neighbours", facts.firmware.neighbours},
      {"valid_until", to_rfc3339(facts.valid_until)}};
}

Json to_json(const Failure& failure) {
  return {{"error", code(failure)},
          {"meaning", meaning(failure.error)},
          {"expected", failure.expected},
          {"actual", failure.actual}};
}

}  // namespace assay::attestation::nvidia
