// SPDX-License-Identifier: Apache-2.0
// Reading of SWID tags.
#include "attestation/nvidia/rim_content.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "attestation/nvidia/spdm.h"
#include "attestation/nvidia/xml_tree.h"

namespace assay::attestation::nvidia {
namespace {

constexpr std::string_view kSwid = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd";
constexpr std::string_view kHashes = "http://www.w3.org/2001/04/xmlenc#sha384";
constexpr std::array<std::size_t, 2> kSizes = {32, 48};

std::unexpected<Failure> refused(std::string why) {
  return reject(NvidiaError::kRimContent, {}, std::move(why));
}

// A number without sign and leading zeros, below `limit`.
std::optional<std::size_t> number(const xmlNode* element, std::string_view local,
                                  std::size_t limit) {
  const auto text = attribute(element, {"", local});
  if (!text || text->empty() || text->size() > 4 || (text->size() > 1 && text->front() == '0') ||
      !std::ranges::all_of(*text, [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  std::size_t value = 0;
  for (const char c : *text) {
    value = 10 * value + static_cast<std::size_t>(c - '0');
  }
  return value < limit ? std::optional(value) : std::nullopt;
}

// Hash0 to the last; no other attribute is in their namespace.
std::optional<std::vector<Bytes>> values_of(const xmlNode* resource, std::size_t count,
                                            std::size_t size) {
  std::vector<Bytes> values;
  for (std::size_t i = 0; i < count; ++i) {
    const auto text = attribute(resource, {kHashes, "Hash" + std::to_string(i)});
    auto value = hex_decode(text ? lower_case(*text) : "");
    if (!value || value->size() != size) {
      return std::nullopt;
    }
    values.push_back(*std::move(value));
  }
  return attribute(resource, {kHashes, "Hash" + std::to_string(count)}) ? std::nullopt
                                                                        : std::optional(values);
}

// An active measurement; nothing for one that does not count.
Checked<std::optional<Golden>> read_resource(const xmlNode* resource,
                                             std::set<std::size_t>& indices) {
  // SPDM counts from 1 to 255.
  const auto index = number(resource, "index", 255);
  const auto count = number(resource, "alternatives", kMaxRimAlternatives + 1);
  const auto size = number(resource, "size", kMaxMeasurementBytes + 1);
  const auto active = attribute(resource, {"", "active"});
  if (!index || !count || *count == 0 || !size ||
      std::ranges::find(kSizes, *size) == kSizes.end() || (active != "True" && active != "False")) {
    return refused("a measurement without index, alternatives, size or active");
  }
  const std::string which = "measurement " + std::to_string(*index);
  if (!indices.insert(*index).second) {
    return refused(which + " is there twice");
  }
  auto values = values_of(resource, *count, *size);
  if (!values) {
    return refused(which + " has other values than it says");
  }
  if (active == "False") {
    return std::optional<Golden>();
  }
  return Golden{static_cast<std::uint8_t>(*index), *std::move(values)};
}

Checked<std::vector<Golden>> read_payload(const xmlNode* payload) {
  const auto resources = child_elements(payload);
  if (!resources || resources->size() > kMaxRimMeasurements) {
    return refused("a payload with text, or with too many measurements");
  }
  std::set<std::size_t> indices;
  std::vector<Golden> goldens;
  for (const xmlNode* resource : *resources) {
    if (!is_element(resource, {kSwid, "Resource"}) ||
        attribute(resource, {"", "type"}) != "Measurement" || resource->children != nullptr) {
      return refused("something in the payload that is no measurement");
    }
    auto golden = read_resource(resource, indices);
    if (!golden) {
      return std::unexpected(std::move(golden).error());
    }
    if (*golden) {
      goldens.push_back(**std::move(golden));
    }
  }
  if (goldens.empty()) {
    return refused("no measurement counts");
  }
  std::ranges::sort(goldens, {}, &Golden::index);
  return goldens;
}

// The one element with this name among those of the root.
const xmlNode* only(const std::vector<xmlNode*>& elements, std::string_view local) {
  const xmlNode* found = nullptr;
  for (const xmlNode* element : elements) {
    if (!is_element(element, {kSwid, local})) {
      continue;
    }
    if (found != nullptr) {
      return nullptr;
    }
    found = element;
  }
  return found;
}

}  // namespace

Checked<RimContent> read_content(ByteView canonical) {
  const auto document = parse_xml(canonical);
  if (!document) {
    return std::unexpected(document.error());
  }
  const xmlNode* root = xmlDocGetRootElement(document->get());
  const auto elements = child_elements(root);
  if (!is_element(root, {kSwid, "SoftwareIdentity"}) || !elements) {
    return refused("not a SWID tag");
  }
  const xmlNode* meta = only(*elements, "Meta");
  const xmlNode* payload = only(*elements, "Payload");
  if (meta == nullptr || payload == nullptr) {
    return refused("not one Meta and one Payload");
  }
  auto edition = attribute(meta, {"", "edition"});
  auto product = attribute(meta, {"", "product"});
  auto version = attribute(meta, {"", "colloquialVersion"});
  if (!edition || !product || !version || product->empty() || version->empty() ||
      attribute(root, {"", "name"}) != *product) {
    return refused("no edition, product or version");
  }
  auto goldens = read_payload(payload);
  if (!goldens) {
    return std::unexpected(std::move(goldens).error());
  }
  return RimContent{*std::move(edition), *std::move(product), *std::move(version),
                    *std::move(goldens)};
}

}  // namespace assay::attestation::nvidia
