// SPDX-License-Identifier: Apache-2.0
// Reads the JSON form of protocol buffers, as strictly as the sigstore client specification
// (section 5) allows: member names in lowerCamelCase alone, enumerations by name, no member that
// the message does not have. Internal to this folder. Source:
// https://protobuf.dev/programming-guides/json/
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::attestation::sigstore {

// One message of a document, with its place. A view: the document must outlive it.
class Message {
 public:
  // `code` is the error for whatever is not as it must be.
  Message(const Json& json, ErrorCode code, std::string where)
      : json_(&json), code_(code), where_(std::move(where)) {}

  // Requires an object with no members but `names`. Errors: the code; unknown-member.
  [[nodiscard]] Status check(std::initializer_list<std::string_view> names) const;

  // Returns whether the member is there and is not null (which means absent in proto3).
  [[nodiscard]] bool has(std::string_view name) const;
  // Returns a member that must be there. Errors: the code.
  [[nodiscard]] Result<Message> message(std::string_view name) const;
  [[nodiscard]] Result<std::string> text(std::string_view name) const;
  // Bytes in canonical, padded, standard base64, of at most `most` bytes; not empty.
  [[nodiscard]] Result<Bytes> bytes(std::string_view name, std::size_t most) const;
  // An integer of 0 to 2^53 - 1, as a decimal string or a number; 0 when it is absent, as proto3
  // writes no zeros.
  [[nodiscard]] Result<std::uint64_t> integer(std::string_view name) const;
  // An RFC 3339 time.
  [[nodiscard]] Result<Timestamp> time(std::string_view name) const;
  // Returns the items of a list of at most `most`; none when it is absent.
  [[nodiscard]] Result<std::vector<Message>> list(std::string_view name, std::size_t most) const;

  // Returns this message as text, and as bytes in base64: for items of lists.
  [[nodiscard]] Result<std::string> as_text() const;
  [[nodiscard]] Result<Bytes> as_base64(std::size_t most) const;

  [[nodiscard]] std::unexpected<Error> wrong(std::string why) const;
  [[nodiscard]] const Json& json() const { return *json_; }

 private:
  [[nodiscard]] std::string place(std::string_view name) const;
  [[nodiscard]] Message at(std::string_view name) const;

  const Json* json_;
  ErrorCode code_;
  std::string where_;
};

}  // namespace assay::attestation::sigstore
