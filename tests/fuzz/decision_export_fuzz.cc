// SPDX-License-Identifier: Apache-2.0
// Exported decisions: what is read is written again as the same, and nothing verifies under the key
// of the corpus but the decisions that its log has. Documents get the digests that they have, so
// that changed ones are read, too.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "cli/decisions/verify_export.h"
#include "schemas/core/sha.h"

namespace {

using namespace assay;

// The key of the log of tests/fuzz/corpus/decision_export, and what it says of each decision.
constexpr std::string_view kKey =
    "e2e.example/log+e3cded47+Ae/g/36lQwhzUt7mDAXF0fBRh0ESo6o+tCul8R/Xib2M";
struct Decided {
  std::string_view id;
  bool allowed;
};
constexpr std::array kDecided = {Decided{"01a22e35-5f13-708d-bb62-39dd0bced62b", true},
                                 Decided{"01a22e35-5f67-75a8-a03d-edd6ce3d40b2", false}};

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void verify(const DecisionExport& file) {
  static const auto key = attestation::parse_verifier_key(kKey).value();
  if (const auto verified = cli::verify_decision_export(file, key)) {
    const auto known = std::ranges::find(kDecided, file.decision, &Decided::id);
    require(known != kDecided.end() && verified->verdict.allowed == known->allowed);
  }
}

// The documents of a file under the digests that they have. Two that became one stay one.
void rename_documents(Json& file) {
  Json documents = Json::object();
  for (const Json& text : file["documents"]) {
    if (!text.is_string()) {
      return;
    }
    const auto& bytes = text.get_ref<const std::string&>();
    documents[DocumentId(sha256(as_bytes(bytes))).text()] = bytes;
  }
  file["documents"] = std::move(documents);
}

void check(const DecisionExport& file) {
  const Json written = to_json(file);
  const std::string text = written.dump();
  require(looks_like_decision_export(text));
  const auto again = parse_decision_export(as_bytes(text));
  require(again && to_json(*again) == written);
  static_cast<void>(cli::read_exported_case(file));
  verify(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  if (const auto file = parse_decision_export(bytes)) {
    check(*file);
    return 0;
  }
  auto json = parse_json(bytes);
  if (json && json->is_object() && json->contains("documents") &&
      (*json)["documents"].is_object()) {
    rename_documents(*json);
    if (const auto file = parse_decision_export(as_bytes(json->dump()))) {
      check(*file);
    }
  }
  return 0;
}
