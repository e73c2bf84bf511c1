// SPDX-License-Identifier: Apache-2.0
// The JSON form of protocol buffers.
#include "attestation/sigstore/proto_json.h"

#include <algorithm>
#include <charconv>

#include "schemas/core/json_at.h"
#include "schemas/core/printable.h"

namespace assay::attestation::sigstore {

std::unexpected<Error> Message::wrong(std::string why) const {
  return fail(code_, std::move(why), where_);
}

std::string Message::place(std::string_view name) const { return where_ + "/" + std::string(name); }

Message Message::at(std::string_view name) const {
  return {member_at(*json_, name), code_, place(name)};
}

Status Message::check(std::initializer_list<std::string_view> names) const {
  if (!json_->is_object()) {
    return wrong("an object belongs here");
  }
  for (const auto& [name, value] : json_->items()) {
    if (std::ranges::find(names, name) == names.end()) {
      return fail(ErrorCode::kUnknownMember, "the message has no member of this name",
                  place(printable(name)));
    }
  }
  return {};
}

bool Message::has(std::string_view name) const { return !member_at(*json_, name).is_null(); }

Result<Message> Message::message(std::string_view name) const {
  Message found = at(name);
  if (!found.json().is_object()) {
    return found.wrong("an object is missing here");
  }
  return found;
}

Result<std::string> Message::text(std::string_view name) const { return at(name).as_text(); }

Result<std::string> Message::as_text() const {
  if (!json_->is_string()) {
    return wrong("text is missing here");
  }
  return json_->get<std::string>();
}

Result<Bytes> Message::bytes(std::string_view name, std::size_t most) const {
  return at(name).as_base64(most);
}

Result<Bytes> Message::as_base64(std::size_t most) const {
  ASSAY_ASSIGN(const std::string text, as_text());
  auto decoded = base64_decode(text);
  if (!decoded) {
    return wrong("not canonical base64");
  }
  if (decoded->empty() || decoded->size() > most) {
    return wrong("1 to " + std::to_string(most) + " bytes belong here");
  }
  return decoded;
}

Result<std::uint64_t> Message::integer(std::string_view name) const {
  const Message found = at(name);
  const Json& json = found.json();
  std::uint64_t number = 0;
  if (json.is_null()) {
    return number;
  }
  if (json.is_number_unsigned()) {
    return json.get<std::uint64_t>();
  }
  if (!json.is_string()) {
    return found.wrong("an integer belongs here");
  }
  const auto& text = json.get_ref<const std::string&>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() ||
      (text.front() == '0' && text.size() > 1) ||
      number > static_cast<std::uint64_t>(kMaxSafeInteger)) {
    return found.wrong("a decimal integer of 0 to 2^53 - 1 belongs here");
  }
  return number;
}

Result<Timestamp> Message::time(std::string_view name) const {
  const Message found = at(name);
  ASSAY_ASSIGN(const std::string text, found.as_text());
  const auto time = parse_rfc3339(text);
  if (!time) {
    return found.wrong("a time as 2026-01-31T12:00:00Z belongs here");
  }
  return *time;
}

Result<std::vector<Message>> Message::list(std::string_view name, std::size_t most) const {
  const Message found = at(name);
  std::vector<Message> items;
  if (found.json().is_null()) {
    return items;
  }
  if (!found.json().is_array() || found.json().size() > most) {
    return found.wrong("a list of at most " + std::to_string(most) + " items belongs here");
  }
  for (const Json& item : found.json()) {
    items.emplace_back(item, code_, found.place(std::to_string(items.size())));
  }
  return items;
}

}  // namespace assay::attestation::sigstore
