// SPDX-License-Identifier: Apache-2.0
// XML of others, through libxml2, within bounds and without anything that reaches outside of the
// text: no DTD, entities, processing instructions, comments, CDATA, XInclude, xml:* attributes.
// Internal to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <libxml/tree.h>

#include "attestation/nvidia/error.h"
#include "attestation/nvidia/xml_limits.h"
#include "schemas/core/bytes.h"
#include "schemas/core/handle.h"

namespace assay::attestation::nvidia {

using XmlDocument = Handle<xmlDoc, xmlFreeDoc>;

// While it lives, messages of libxml2 on this thread go nowhere.
class QuietXml {
 public:
  QuietXml();
  ~QuietXml();
  QuietXml(const QuietXml&) = delete;
  QuietXml& operator=(const QuietXml&) = delete;
};

// Parses one document in UTF-8. The bounds are checked on the bytes, before the parser sees them.
// Errors: INPUT_TOO_LARGE for each of the bounds but the depth; RIM_FORMAT.
[[nodiscard]] Checked<XmlDocument> parse_xml(ByteView bytes);

// A name and its namespace.
struct XmlName {
  std::string_view space;  // the URI; empty for none
  std::string_view local;
};

[[nodiscard]] bool is_element(const xmlNode* node, const XmlName& name);
// Returns the elements below `parent`; nullopt when text between them is more than white space.
[[nodiscard]] std::optional<std::vector<xmlNode*>> child_elements(const xmlNode* parent);
// Returns the text of an element without elements in it; nullopt for any other.
[[nodiscard]] std::optional<std::string> text_of(const xmlNode* element);
// Returns the value of an attribute; nullopt when it is absent. An empty space is no namespace.
[[nodiscard]] std::optional<std::string> attribute(const xmlNode* element, const XmlName& name);
[[nodiscard]] std::size_t attribute_count(const xmlNode* element);

}  // namespace assay::attestation::nvidia
