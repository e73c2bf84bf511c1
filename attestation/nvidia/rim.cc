// SPDX-License-Identifier: Apache-2.0
// From a RIM's file to its measurements.
#include "attestation/nvidia/rim.h"

#include <algorithm>
#include <array>
#include <optional>

#include "attestation/nvidia/rim_content.h"
#include "attestation/nvidia/xml_signature.h"
#include "attestation/nvidia/xml_tree.h"
#include "attestation/x509/path.h"
#include "schemas/core/json.h"
#include "schemas/core/sha.h"

namespace assay::attestation::nvidia {
namespace {

// The form of an id of NVIDIA's RIM service: "NV_GPU_DRIVER_GH100_550.144.03".
struct RimIdForm {
  std::string_view prefix;
  RimSource source;
  std::string_view edition;
  std::size_t parts;  // behind the prefix, divided by '_'
};
constexpr auto kIdForms = std::to_array<RimIdForm>({
    {"NV_GPU_DRIVER_", RimSource::kDriver, "GPU", 2},
    {"NV_GPU_CC_DRIVER_", RimSource::kDriver, "GPU", 2},
    {"NV_GPU_VBIOS_", RimSource::kVbios, "GPU", 4},
    {"NV_SWITCH_BIOS_", RimSource::kVbios, "SWITCH", 4},
});

constexpr std::size_t kFamilyLetters = 2;  // "GH", "GB", "LS"

std::unexpected<Failure> mismatch(std::string expected, std::string actual) {
  return reject(NvidiaError::kRimIdMismatch, std::move(expected), std::move(actual));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_')) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

// Checks that the content is what the id says. Returns the source.
Checked<RimSource> check_id(std::string_view id, const RimContent& content) {
  const auto form = std::ranges::find_if(
      kIdForms, [&](const RimIdForm& one) { return id.starts_with(one.prefix); });
  if (id.size() > kMaxRimIdBytes || form == kIdForms.end()) {
    return mismatch("an id such as NV_GPU_DRIVER_GH100_550.144.03", std::string(id));
  }
  const auto parts = split(id.substr(form->prefix.size()));
  if (parts.size() != form->parts || content.edition != form->edition) {
    return mismatch(std::string(id), "edition " + content.edition);
  }
  std::string version = content.version;
  if (form->source == RimSource::kVbios) {
    std::erase(version, '.');
  } else if (content.product.substr(0, kFamilyLetters) != parts.front().substr(0, kFamilyLetters)) {
    return mismatch(std::string(id), "product " + content.product);
  }
  if (lower_case(version) != lower_case(parts.back())) {
    return mismatch(std::string(id), "version " + content.version);
  }
  return form->source;
}

// RFC 5280 at the first time at which all certificates are valid: their end is a fact, judged
// later.
Checked<std::vector<x509::Certificate>> verify_chain(std::vector<x509::Certificate> chain,
                                                     std::span<const x509::Certificate> roots) {
  // The chain may bring its root, which must be a trusted one byte for byte.
  if (chain.size() > 1 && chain.back().is_self_issued()) {
    if (std::ranges::find(roots, chain.back()) == roots.end()) {
      return reject(NvidiaError::kRimChain, "a trusted root", chain.back().digest().text());
    }
    chain.pop_back();
  }
  std::optional<Failure> failure;
  for (const x509::Certificate& root : roots) {
    Timestamp begun = root.not_before();
    for (const x509::Certificate& one : chain) {
      begun = std::max(begun, one.not_before());
    }
    auto path = x509::verify_path(chain.front(), std::span(chain).subspan(1), std::span(&root, 1),
                                  {.time = begun, .purpose = x509::kAnyPurpose});
    if (path && path->certificates.size() == chain.size() + 1 &&
        std::ranges::equal(chain, std::span(path->certificates).first(chain.size()))) {
      return std::move(path->certificates);
    }
    failure = Failure{NvidiaError::kRimChain,
                      {},
                      path ? "certificates that are not of the chain" : path.error().detail,
                      {}};
  }
  return failure ? std::unexpected(*std::move(failure))
                 : reject(NvidiaError::kRimChain, "a trusted root");
}

Checked<RimContent> read_verified(const XmlSignature& signature, const x509::Certificate& leaf) {
  const auto key = leaf.public_key();
  if (!key || key->algorithm() != SignatureAlgorithm::kEcdsaP384) {
    return reject(NvidiaError::kRimSignature, "a key on P-384");
  }
  const auto bytes = verified_bytes(signature, leaf);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  return read_content(*bytes);
}

}  // namespace

std::string_view name(RimSource source) {
  return source == RimSource::kDriver ? "driver" : "vbios";
}

Checked<Rim> open_rim(std::string_view id, ByteView xml, std::span<const x509::Certificate> roots,
                      std::span<const OcspResponse> responses) {
  const auto document = parse_xml(xml);
  if (!document) {
    return std::unexpected(document.error());
  }
  auto signature = read_signature(xmlDocGetRootElement(document->get()));
  if (!signature) {
    return std::unexpected(std::move(signature).error());
  }
  auto chain = verify_chain(signature->certificates, roots);
  if (!chain) {
    return std::unexpected(std::move(chain).error());
  }
  auto content = read_verified(*signature, chain->front());
  if (!content) {
    return std::unexpected(std::move(content).error());
  }
  const auto source = check_id(id, *content);
  if (!source) {
    return std::unexpected(source.error());
  }
  const auto begun = std::ranges::max(*chain, {}, &x509::Certificate::not_before).not_before();
  const auto ended = std::ranges::min(*chain, {}, &x509::Certificate::not_after).not_after();
  auto statuses = statuses_of(*chain, responses);
  return Rim{std::string(id),
             *source,
             sha256(xml),
             std::move(content->product),
             std::move(content->version),
             std::move(content->goldens),
             begun,
             ended,
             *std::move(chain),
             std::move(statuses)};
}

Checked<RimFile> parse_rim_answer(ByteView json) {
  const auto answer = parse_json(json, {.max_bytes = 2 * kMaxXmlBytes, .max_depth = 4});
  const auto text = [&](const char* member) -> std::optional<std::string> {
    const auto found = answer->find(member);
    return found != answer->end() && found->is_string() ? std::optional(found->get<std::string>())
                                                        : std::nullopt;
  };
  if (!answer || !answer->is_object() || !text("id") || !text("rim")) {
    return reject(NvidiaError::kRimFormat, "an object with id and rim");
  }
  auto xml = base64_decode(*text("rim"));
  const auto digest = text("sha256");
  if (!xml || (digest && lower_case(*digest) != sha256(*xml).hex())) {
    return reject(NvidiaError::kRimFormat, "rim in base64, with its sha256");
  }
  return RimFile{*text("id"), *std::move(xml)};
}

}  // namespace assay::attestation::nvidia
