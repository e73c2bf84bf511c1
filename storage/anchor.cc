// SPDX-License-Identifier: Apache-2.0
// The anchor file: canonical JSON {"checksum", "epochs", "note", "v"}. The checksum (SHA-256 over
// the canonical JSON of the rest) tells a damaged file from a good one; it is no signature. What an
// attacker could change is covered by the note's signature, which whoever opens the store checks.
#include "schemas/core/json.h"
#include "schemas/core/sha.h"
#include "storage/durable_file.h"
#include "storage/store.h"

namespace assay::storage {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxBytes = 64U << 10;

std::unexpected<Error> damaged() {
  return fail(ErrorCode::kDataLoss,
              "the anchor file is damaged; restore it, or the database and the anchor together");
}

Result<std::string> checksum(const Json& rest) {
  ASSAY_ASSIGN(const std::string text, canonical_json(rest));
  return sha256(as_bytes(text)).text();
}

Result<std::uint64_t> counter(const Json& epochs, const char* name) {
  const auto found = epochs.find(name);
  if (found == epochs.end() || !found->is_number_unsigned()) {
    return damaged();
  }
  return found->get<std::uint64_t>();
}

Result<Epochs> epochs_from(const Json& json) {
  if (!json.is_object() || json.size() != 3) {
    return damaged();
  }
  Epochs epochs;
  ASSAY_ASSIGN(epochs.trust.trust, counter(json, "trust"));
  ASSAY_ASSIGN(epochs.trust.revocation, counter(json, "revocation"));
  ASSAY_ASSIGN(epochs.policy, counter(json, "policy"));
  return epochs;
}

Result<Anchor::State> state_from(Json document) {
  if (!document.is_object() || document.size() != 4 || !document.contains("checksum") ||
      !document.contains("epochs") || !document.contains("note") || !document["note"].is_string() ||
      document.value("v", Json()) != Json(kVersion)) {
    return damaged();
  }
  const Json claimed = document["checksum"];
  document.erase("checksum");
  ASSAY_ASSIGN(const std::string actual, checksum(document));
  if (claimed != Json(actual)) {
    return damaged();
  }
  ASSAY_ASSIGN(const Epochs epochs, epochs_from(document["epochs"]));
  std::string note = document["note"].get<std::string>();
  const auto parsed = parse_checkpoint(note);
  if (!parsed) {
    return damaged();
  }
  return Anchor::State{std::move(note), parsed->checkpoint, epochs};
}

}  // namespace

Result<Anchor::State> Anchor::load() const {
  const auto bytes = read_file(path_, kMaxBytes);
  if (!bytes) {
    return bytes.error().code == ErrorCode::kLimitExceeded
               ? Result<State>(damaged())
               : Result<State>(std::unexpected(bytes.error()));
  }
  auto document = parse_json(*bytes);
  return document ? state_from(std::move(*document)) : Result<State>(damaged());
}

Status Anchor::save(const std::string& note, const Epochs& epochs) const {
  Json document = {{"v", kVersion},
                   {"note", note},
                   {"epochs",
                    {{"trust", epochs.trust.trust},
                     {"revocation", epochs.trust.revocation},
                     {"policy", epochs.policy}}}};
  ASSAY_ASSIGN(document["checksum"], checksum(document));
  ASSAY_ASSIGN(const std::string text, canonical_json(document));
  return replace_file(path_, as_bytes(text + "\n"));
}

}  // namespace assay::storage
