// SPDX-License-Identifier: Apache-2.0
// Strict XML over libxml2.
#include "attestation/nvidia/xml_tree.h"

#include <algorithm>

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>

#include "attestation/crypto/no_memory.h"

namespace assay::attestation::nvidia {
namespace {

using ParserHandle = Handle<xmlParserCtxt, xmlFreeParserCtxt>;

constexpr std::string_view kXInclude = "http://www.w3.org/2001/XInclude";
constexpr std::string_view kXml = "http://www.w3.org/XML/1998/namespace";

std::unexpected<Failure> bad_xml(std::string why) {
  return reject(NvidiaError::kRimFormat, {}, std::move(why));
}

std::unexpected<Failure> too_large(const std::string& limit) {
  return reject(NvidiaError::kInputTooLarge, limit);
}

std::string_view view(const xmlChar* text) {
  return text == nullptr ? std::string_view()
                         : as_text(ByteView(text, static_cast<std::size_t>(xmlStrlen(text))));
}

void ignore(void* /*context*/, xmlErrorPtr /*error*/) {}

// libxml2 compares each attribute of a tag with each other one, and each namespace with those
// around it: the bounds keep that small.
Outcome check_bytes(std::string_view text) {
  if (text.size() > kMaxXmlBytes) {
    return too_large(std::to_string(kMaxXmlBytes) + " bytes of XML");
  }
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos) {
    return bad_xml("not UTF-8");
  }
  if (text.find("<!") != std::string_view::npos || text.find("<?") != std::string_view::npos) {
    return bad_xml("a declaration, comment, CDATA section or processing instruction");
  }
  std::size_t tags = 0;
  for (std::size_t at = text.find('<'); at != std::string_view::npos;) {
    const std::size_t next = text.find('<', at + 1);
    if (++tags > kMaxXmlTags) {
      return too_large(std::to_string(kMaxXmlTags) + " tags");
    }
    if (std::min(next, text.size()) - at > kMaxXmlTagBytes) {
      return too_large(std::to_string(kMaxXmlTagBytes) + " bytes of a tag");
    }
    at = next;
  }
  std::size_t namespaces = 0;
  for (std::size_t at = text.find("xmlns"); at != std::string_view::npos;
       at = text.find("xmlns", at + 1)) {
    if (++namespaces > kMaxXmlNamespaces) {
      return too_large(std::to_string(kMaxXmlNamespaces) + " namespaces");
    }
  }
  return {};
}

bool is_space(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Outcome check_element(const xmlNode* node) {
  if (node->ns != nullptr && view(node->ns->href) == kXInclude) {
    return bad_xml("an element of XInclude");
  }
  for (const xmlAttr* one = node->properties; one != nullptr; one = one->next) {
    if (one->ns != nullptr && view(one->ns->href) == kXml) {
      return bad_xml("an attribute of XML itself");
    }
  }
  return {};
}

// Every node below `root` is an element or text.
Outcome check_tree(const xmlNode* root) {
  std::size_t depth = 1;
  for (const xmlNode* node = root; node != nullptr;) {
    if (node->type == XML_ELEMENT_NODE) {
      if (auto checked = check_element(node); !checked) {
        return checked;
      }
    } else if (node->type != XML_TEXT_NODE) {
      return bad_xml("a node that is neither element nor text");
    }
    if (node->children != nullptr) {
      if (++depth > kMaxXmlDepth) {
        return bad_xml("more than " + std::to_string(kMaxXmlDepth) + " elements in each other");
      }
      node = node->children;
      continue;
    }
    while (node != root && node->next == nullptr) {
      node = node->parent;
      --depth;
    }
    node = node == root ? nullptr : node->next;
  }
  return {};
}

}  // namespace

QuietXml::QuietXml() { xmlSetStructuredErrorFunc(nullptr, ignore); }
QuietXml::~QuietXml() { xmlSetStructuredErrorFunc(nullptr, nullptr); }

Checked<XmlDocument> parse_xml(ByteView bytes) {
  if (auto checked = check_bytes(as_text(bytes)); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  const QuietXml quiet;
  const ParserHandle parser(xmlNewParserCtxt());
  if (ASSAY_NO_MEMORY(parser == nullptr)) {
    return bad_xml("no parser");
  }
  const std::string_view text = as_text(bytes);
  // The encoding is told, so that no declaration changes it. No option substitutes entities or
  // loads a DTD.
  XmlDocument document(
      xmlCtxtReadMemory(parser.get(), text.data(), static_cast<int>(text.size()), nullptr, "UTF-8",
                        XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING));
  if (document == nullptr || parser->wellFormed != 1 || parser->nsWellFormed != 1) {
    return bad_xml("not well-formed XML");
  }
  const xmlNode* root = xmlDocGetRootElement(document.get());
  if (root == nullptr || document->intSubset != nullptr || document->extSubset != nullptr ||
      root->prev != nullptr || root->next != nullptr) {
    return bad_xml("not one element");
  }
  if (auto checked = check_tree(root); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  return document;
}

bool is_element(const xmlNode* node, const XmlName& name) {
  return node != nullptr && node->type == XML_ELEMENT_NODE && view(node->name) == name.local &&
         (node->ns == nullptr ? name.space.empty() : view(node->ns->href) == name.space);
}

std::optional<std::vector<xmlNode*>> child_elements(const xmlNode* parent) {
  std::vector<xmlNode*> found;
  for (xmlNode* node = parent->children; node != nullptr; node = node->next) {
    if (node->type == XML_ELEMENT_NODE) {
      found.push_back(node);
    } else if (!is_space(view(node->content))) {
      return std::nullopt;
    }
  }
  return found;
}

std::optional<std::string> text_of(const xmlNode* element) {
  std::string text;
  for (const xmlNode* node = element->children; node != nullptr; node = node->next) {
    if (node->type != XML_TEXT_NODE) {
      return std::nullopt;
    }
    text += view(node->content);
  }
  return text;
}

std::optional<std::string> attribute(const xmlNode* element, const XmlName& name) {
  for (const xmlAttr* one = element->properties; one != nullptr; one = one->next) {
    const std::string_view space = one->ns == nullptr ? "" : view(one->ns->href);
    if (view(one->name) != name.local || space != name.space) {
      continue;
    }
    std::string value;
    for (const xmlNode* node = one->children; node != nullptr; node = node->next) {
      value += view(node->content);
    }
    return value;
  }
  return std::nullopt;
}

std::size_t attribute_count(const xmlNode* element) {
  std::size_t count = 0;
  for (const xmlAttr* one = element->properties; one != nullptr; one = one->next) {
    ++count;
  }
  return count;
}

}  // namespace assay::attestation::nvidia
