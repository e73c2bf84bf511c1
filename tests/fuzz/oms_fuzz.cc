// SPDX-License-Identifier: Apache-2.0
// Signatures by OpenSSF Model Signing. The input is a bundle or a statement. What is read is
// written, and reads back as the same. No payload verifies but the one that the key signed. What a
// statement says of files holds for any files.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "attestation/oms/coverage.h"
#include "attestation/oms/verify.h"
#include "schemas/core/artifact.h"
#include "schemas/core/sha.h"

namespace {

using namespace assay;
namespace oms = attestation::oms;

// tests/vectors/oms/keys, and what it signed in the corpus: SHA-256 of the payload.
constexpr std::string_view kKey =
    "3076301006072a8648ce3d020106052b8104002203620004b2eeab6460538f1b6f4563cc8b14fedc7ca7755d09"
    "d186ed68765470ee0310af8e2473bfe1edf66dbfdf6c9292a5181c06c22928b7158a35289b214e1116ddeeef81"
    "4cf4948c664342ae89ee54efa7f1005d018e2b15bd44fd0c197dea024be2";
constexpr std::string_view kSigned =
    "2e74c416a043c5624eb3c0021c2b6915dea3adde64416e7bb901094ed48d5dd9";

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_statement(const oms::Statement& statement) {
  std::map<std::string, std::uint64_t> sizes;
  for (const oms::Resource& resource : statement.resources) {
    require(resource.path == oms::kOnlyFile || check_path(resource.path).has_value());
    sizes[resource.path] = std::max(sizes[resource.path], resource.end);
  }
  std::vector<oms::DiskFile> files;
  for (const auto& [path, size] : sizes) {
    files.push_back({path, size});
  }
  const bool only = files.size() == 1 && files.front().path == oms::kOnlyFile;
  if (only) {
    files.front().path = "model";
  }
  const oms::Coverage all = oms::compare_files(statement, files, only, oms::Extra::kRefused);
  require(all.findings.empty() && all.parts.size() == statement.resources.size());
  files.push_back({"\x01 in no statement", 1});
  require(!oms::compare_files(statement, files, only, oms::Extra::kRefused).findings.empty());
}

void check(ByteView payload) {
  const auto statement = oms::parse_oms_statement(payload, oms::OldForm::kRefused);
  if (!statement) {
    return;
  }
  check_statement(*statement);
  const auto text = oms::encode_oms_statement(*statement);
  require(text.has_value());
  const auto again = oms::parse_oms_statement(as_bytes(*text), oms::OldForm::kRefused);
  require(again && again->resources == statement->resources &&
          again->serialization == statement->serialization);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const oms::Trust trust = oms::TrustedPublicKey{
      std::move(attestation::PublicKey::from_der(hex_decode(kKey).value())).value()};
  const ByteView input(data, size);
  check(input);
  static_cast<void>(oms::parse_oms_statement(input, oms::OldForm::kAccepted));
  const auto bundle = oms::parse_bundle(input);
  if (!bundle) {
    return 0;
  }
  check(bundle->envelope.payload);
  const auto verified = oms::verify_bundle(*bundle, input, trust, oms::OldForm::kAccepted);
  require(!verified || sha256(bundle->envelope.payload).hex() == kSigned);
  if (!std::holds_alternative<oms::SigstoreMaterial>(bundle->material)) {
    const std::string written = oms::encode_bundle(*bundle).value();
    const auto again = oms::parse_bundle(as_bytes(written));
    require(again && oms::encode_bundle(*again).value() == written);
  }
  return 0;
}
