// SPDX-License-Identifier: Apache-2.0
#include "attestation/pkcs11/uri.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace assay::attestation::pkcs11 {
namespace {

constexpr std::string_view kScheme = "pkcs11:";
constexpr std::string_view kUnreserved = "-._~";
// RFC 7512 section 2.3: pk11-res-avail, with what only paths and only queries have.
constexpr std::string_view kAvailable = ":[]@!$'()*+,=";
constexpr std::string_view kPathOnly = "&";
constexpr std::string_view kQueryOnly = "/?|";

std::unexpected<Error> refused(std::string why) {
  return fail(ErrorCode::kKeyUnusable, "PKCS#11 URI: " + std::move(why));
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Decodes a value, every byte of which must be allowed where it stands.
Result<Bytes> decode(std::string_view text, std::string_view more) {
  Bytes out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      std::string digits(text.substr(i + 1, 2));
      std::ranges::transform(digits, digits.begin(), [](char digit) {
        return digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
      });
      const Result<Bytes> byte = hex_decode(digits);
      if (!byte || byte->size() != 1) {
        return refused("% stands before two hexadecimal digits");
      }
      out.push_back(byte->front());
      i += 2;
    } else if (is_letter_or_digit(c) || kUnreserved.contains(c) || kAvailable.contains(c) ||
               more.contains(c)) {
      out.push_back(static_cast<std::uint8_t>(c));
    } else {
      return refused("a character must be written as % and two hexadecimal digits");
    }
  }
  if (out.empty() || out.size() > kMaxAttribute) {
    return refused("the value of an attribute has 1 to 1024 bytes");
  }
  return out;
}

// The engine takes C strings.
Result<std::string> text_in(const Bytes& bytes) {
  std::string text(as_text(bytes));
  const bool printable = std::ranges::none_of(text, [](char c) { return c >= 0 && c < ' '; });
  if (!printable || !is_utf8(text)) {
    return refused("attributes but the id are UTF-8 without control characters");
  }
  return text;
}

// An absolute path, also as a file: URI without a host (RFC 8089).
Result<std::string> file_in(std::string text) {
  for (const std::string_view scheme : {"file://", "file:"}) {
    if (text.starts_with(scheme)) {
      text.erase(0, scheme.size());
      break;
    }
  }
  if (!text.starts_with('/')) {
    return refused("module-path and pin-source are absolute paths");
  }
  return text;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

struct Attribute {
  std::string_view name;
  std::string_view value;
};

// Splits "name=value" pairs; each name comes once in path and query together.
Status split(std::string_view text, char between, std::set<std::string_view>& seen,
             const auto& each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(between), text.size());
    const std::string_view pair = text.substr(0, end);
    const bool more = end < text.size();
    text.remove_prefix(more ? end + 1 : end);
    if (more && text.empty()) {
      return refused("it ends in the middle");
    }
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return refused("attributes are written as name=value");
    }
    const Attribute attribute{pair.substr(0, equals), pair.substr(equals + 1)};
    if (!is_name(attribute.name)) {
      return refused("the name of an attribute has lower-case letters and - alone");
    }
    if (!seen.insert(attribute.name).second) {
      return refused("the attribute " + std::string(attribute.name) + " is given twice");
    }
    ASSAY_TRY(each(attribute));
  }
  return {};
}

Status read_path_attribute(const Attribute& attribute, Uri& uri) {
  const std::array<std::pair<std::string_view, std::string*>, 5> texts = {
      {{"token", &uri.token},
       {"manufacturer", &uri.manufacturer},
       {"model", &uri.model},
       {"serial", &uri.serial},
       {"object", &uri.object}}};
  ASSAY_ASSIGN(Bytes value, decode(attribute.value, kPathOnly));
  if (attribute.name == "id") {
    uri.id = std::move(value);
    return {};
  }
  ASSAY_ASSIGN(std::string text, text_in(value));
  if (attribute.name == "type") {
    return text == "private" ? Status() : Status(refused("a key that signs has type=private"));
  }
  const auto known =
      std::ranges::find(texts, attribute.name, &std::pair<std::string_view, std::string*>::first);
  if (known == texts.end()) {
    return refused(
        "the attribute is not used here; name the key by token, manufacturer, model, "
        "serial, object and id");
  }
  *known->second = std::move(text);
  return {};
}

Status read_query_attribute(const Attribute& attribute, Uri& uri) {
  if (attribute.name == "pin-value") {
    return refused(
        "pin-value would be read by everybody on this machine; write the PIN to a file of mode "
        "0600 and give pin-source=/path/of/the/file");
  }
  std::string* const to = attribute.name == "module-path"  ? &uri.module_path
                          : attribute.name == "pin-source" ? &uri.pin_source
                                                           : nullptr;
  if (to == nullptr) {
    return refused("the query has module-path and pin-source alone");
  }
  ASSAY_ASSIGN(const Bytes value, decode(attribute.value, kQueryOnly));
  ASSAY_ASSIGN(std::string text, text_in(value));
  ASSAY_ASSIGN(*to, file_in(std::move(text)));
  return {};
}

// Only letters, digits and what needs no thought stays as it is.
void append_encoded(std::string& out, ByteView bytes) {
  for (const std::uint8_t byte : bytes) {
    const char c = static_cast<char>(byte);
    if (is_letter_or_digit(c) || kUnreserved.contains(c)) {
      out += c;
    } else {
      out += "%" + hex_encode(ByteView(&byte, 1));
    }
  }
}

}  // namespace

bool is_uri(std::string_view text) { return text.starts_with(kScheme); }

Result<Uri> parse_uri(std::string_view text) {
  if (!is_uri(text) || text.size() > kMaxUri) {
    return refused("it begins with pkcs11: and has at most 4096 bytes");
  }
  text.remove_prefix(kScheme.size());
  const std::size_t mark = text.find('?');
  Uri uri;
  std::set<std::string_view> seen;
  ASSAY_TRY(split(text.substr(0, mark), ';', seen,
                  [&](const Attribute& one) { return read_path_attribute(one, uri); }));
  if (mark != std::string_view::npos) {
    ASSAY_TRY(split(text.substr(mark + 1), '&', seen,
                    [&](const Attribute& one) { return read_query_attribute(one, uri); }));
  }
  if (uri.object.empty() && uri.id.empty()) {
    return refused("name the key with object=LABEL or id=%..");
  }
  return uri;
}

std::string path_of(const Uri& uri) {
  const std::array<std::pair<std::string_view, ByteView>, 6> parts = {
      {{"token", as_bytes(uri.token)},
       {"manufacturer", as_bytes(uri.manufacturer)},
       {"model", as_bytes(uri.model)},
       {"serial", as_bytes(uri.serial)},
       {"object", as_bytes(uri.object)},
       {"id", uri.id}}};
  std::string out(kScheme);
  for (const auto& [name, value] : parts) {
    if (!value.empty()) {
      out += (out.size() == kScheme.size() ? "" : ";") + std::string(name) + "=";
      append_encoded(out, value);
    }
  }
  return out;
}

}  // namespace assay::attestation::pkcs11
