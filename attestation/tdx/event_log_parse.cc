// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/event_log_parse.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "attestation/tdx/cursor.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::string_view kSignature{"Spec ID Event03\0", 16};
constexpr std::uint16_t kSha384 = 0x000c;
constexpr std::uint32_t kRegisters = 5;
constexpr std::size_t kPaddingBytes = 8;
constexpr std::size_t kHeaderDigestBytes = 20;

// Bytes of a digest, by TCG algorithm id. The length of any other digest is unknown, so that what
// follows it cannot be read.
std::optional<std::size_t> digest_size(std::uint16_t algorithm) {
  switch (algorithm) {
    case 0x0004:
      return 20;  // SHA-1
    case 0x000b:
    case 0x0012:
      return 32;  // SHA-256, SM3
    case kSha384:
      return 48;
    case 0x000d:
      return 64;  // SHA-512
    default:
      return std::nullopt;
  }
}

std::unexpected<Failure> truncated(std::string_view what) {
  return reject(TdxError::kEventlogTruncated, std::string(what), "the log ends");
}

std::unexpected<Failure> malformed(std::string expected, std::string actual) {
  return reject(TdxError::kEventlogFormat, std::move(expected), std::move(actual));
}

// The list of algorithms in the header (TCG_EfiSpecIdEvent): SHA-384 must be among them.
Outcome check_algorithms(Cursor& header) {
  const auto count = header.u32();
  if (!count) {
    return truncated("the list of algorithms");
  }
  if (*count > kMaxDigestsOfAnEvent) {
    return malformed("at most 5 algorithms", std::to_string(*count));
  }
  bool has_sha384 = false;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto algorithm = header.u16();
    const auto size = header.u16();
    if (!algorithm || !size) {
      return truncated("the list of algorithms");
    }
    const auto known = digest_size(*algorithm);
    if (!known) {
      return reject(TdxError::kEventlogAlgUnknown, "a known hash algorithm",
                    std::to_string(*algorithm));
    }
    if (*known != *size) {
      return malformed(std::to_string(*known) + " bytes", std::to_string(*size));
    }
    has_sha384 = has_sha384 || *algorithm == kSha384;
  }
  if (!has_sha384) {
    return reject(TdxError::kEventlogNoSha384, "SHA-384 among the algorithms");
  }
  return {};
}

// The first event has the older layout (TCG_PCClientPCREvent) and names the newer one.
Outcome read_header(Cursor& cursor) {
  const auto index = cursor.u32();
  const auto type = cursor.u32();
  const auto digest = cursor.take(kHeaderDigestBytes);
  const auto size = cursor.u32();
  const auto data = size ? cursor.take(*size) : std::nullopt;
  if (!index || !type || !digest || !data) {
    return truncated("the header");
  }
  Cursor header(*data);
  const auto signature = header.take(kSignature.size());
  if (*type != kEvNoAction || !signature || as_text(*signature) != kSignature) {
    return malformed("a header with Spec ID Event03", "another event");
  }
  // Platform class, version, errata, size of an integer.
  if (!header.take(4 + 1 + 1 + 1 + 1)) {
    return truncated("the header");
  }
  return check_algorithms(header);
}

// Reads the digests of an event; the SHA-384 one goes into `out`.
Outcome read_digests(Cursor& cursor, Measurement& out) {
  const auto count = cursor.u32();
  if (!count) {
    return truncated("the digests of an event");
  }
  if (*count > kMaxDigestsOfAnEvent) {
    return truncated("at most 5 digests of an event, not " + std::to_string(*count));
  }
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto algorithm = cursor.u16();
    if (!algorithm) {
      return truncated("the digests of an event");
    }
    const auto size = digest_size(*algorithm);
    if (!size) {
      return reject(TdxError::kEventlogAlgUnknown, "a known hash algorithm",
                    std::to_string(*algorithm));
    }
    const auto digest = cursor.take(*size);
    if (!digest) {
      return truncated("the digests of an event");
    }
    if (*algorithm == kSha384) {
      std::ranges::copy(*digest, out.begin());
      ++found;
    }
  }
  if (found == 0) {
    return reject(TdxError::kEventlogNoSha384, "a SHA-384 digest in each event");
  }
  return found == 1 ? Outcome() : malformed("one SHA-384 digest of an event", "several");
}

Checked<LoggedEvent> read_event(Cursor& cursor) {
  LoggedEvent event;
  const auto index = cursor.u32();
  const auto type = cursor.u32();
  if (!index || !type) {
    return truncated("an event");
  }
  if (*index >= kRegisters) {
    return reject(TdxError::kEventlogIndex, "0 to 4", std::to_string(*index));
  }
  event.index = *index;
  event.type = *type;
  if (auto outcome = read_digests(cursor, event.digest); !outcome) {
    return std::unexpected(std::move(outcome).error());
  }
  const auto size = cursor.u32();
  const auto data = size ? cursor.take(*size) : std::nullopt;
  if (!data) {
    return truncated("the data of an event");
  }
  event.data = *data;
  return event;
}

// What fills the log area behind the last event.
bool is_padding(ByteView rest) {
  if (rest.empty()) {
    return true;
  }
  const std::uint8_t fill = rest.front();
  return (fill == 0xff || fill == 0) && rest.size() >= kPaddingBytes &&
         std::ranges::all_of(rest.first(kPaddingBytes),
                             [fill](std::uint8_t byte) { return byte == fill; });
}

}  // namespace

Checked<EventLogView> parse_event_log(ByteView log) {
  if (log.size() > kMaxEventLogAreaBytes) {
    return reject(TdxError::kInputTooLarge, "at most 1 MiB", std::to_string(log.size()) + " bytes");
  }
  Cursor cursor(log);
  if (auto outcome = read_header(cursor); !outcome) {
    return std::unexpected(std::move(outcome).error());
  }
  EventLogView view;
  while (!is_padding(cursor.rest())) {
    if (view.events.size() == kMaxLoggedEvents) {
      return malformed("at most 10000 events", "more");
    }
    auto event = read_event(cursor);
    if (!event) {
      return std::unexpected(std::move(event).error());
    }
    view.events.push_back(*event);
  }
  view.size = log.size() - cursor.remaining();
  const ByteView rest = cursor.rest();
  if (std::ranges::any_of(rest, [&](std::uint8_t byte) { return byte != rest.front(); })) {
    return malformed("only padding behind the last event", "other bytes");
  }
  return view;
}

}  // namespace assay::attestation::tdx
