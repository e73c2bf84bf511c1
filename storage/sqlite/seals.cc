// SPDX-License-Identifier: Apache-2.0
// The message of a seal: kind and name of the row, then for each row its columns with their types
// and lengths, so that no two rows give the same bytes.
#include "storage/sqlite/seals.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "schemas/core/hmac.h"
#include "schemas/core/sha.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kBlock = 64;  // of SHA-256

void append_number(Bytes& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

void append_bytes(Bytes& out, ByteView bytes) {
  append_number(out, bytes.size());
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::unexpected<Error> changed(std::string_view row) {
  return fail(ErrorCode::kDataLoss,
              "a stored row was changed by something else than this service; see docs/recovery.md",
              std::string(row));
}

std::string hex_digits(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), number, 16);
  return {digits.begin(), end.ptr};
}

Bytes padded(ByteView key, std::uint8_t pad) {
  Bytes block(kBlock, pad);
  for (std::size_t i = 0; i < key.size() && i < kBlock; ++i) {
    block[i] ^= key[i];
  }
  return block;
}

}  // namespace

std::string_view name(Sealed kind) {
  constexpr std::array<std::string_view, 15> kNames = {
      "",          "statement", "decision",   "node",          "job",
      "challenge", "outline",   "pod",        "claim",         "high-water",
      "evidence",  "node-key",  "generation", "newest-report", "report-group"};
  return kNames.at(std::to_underlying(kind));
}

std::string seal_name(std::uint64_t number) {
  const std::string digits = hex_digits(number);
  return hex_digits(digits.size()) + digits;
}

std::optional<std::uint64_t> seal_number(const std::string& name) {
  const std::string digits = name.empty() ? name : name.substr(1);
  // The comparison refuses what else strtoull() accepts.
  const std::uint64_t number = std::strtoull(digits.c_str(), nullptr, 16);
  return seal_name(number) == name ? std::optional(number) : std::nullopt;
}

std::string shown(Sealed kind, const std::string& row) {
  const bool numbered =
      kind == Sealed::kStatement || kind == Sealed::kDecision || kind == Sealed::kJob;
  const auto number = numbered ? seal_number(row) : std::nullopt;
  return std::string(name(kind)) + " " +
         (number ? std::to_string(static_cast<std::int64_t>(*number)) : row);
}

std::string seal_name(std::initializer_list<std::string_view> columns) {
  std::string name;
  for (const std::string_view column : columns) {
    name.append(column).push_back('\x1f');
  }
  name.pop_back();
  return name;
}

Result<SecretBytes> derive_seal_key(const Signer& signer) {
  ASSAY_ASSIGN(Bytes signature, signer.sign(as_bytes("assay/seal-key/v1")));
  const Digest digest = sha256(signature);
  secure_wipe(signature);
  return SecretBytes(Bytes(digest.bytes().begin(), digest.bytes().end()));
}

namespace {

// Of one key to encrypt and one message ever: the seal key of the store. So a pad and a tag do.
Bytes sealed_with(ByteView heir, ByteView key) {
  const Digest pad = hmac_sha256(heir, {as_bytes("assay/seal-key/pad/v1")});
  Bytes wrapped(key.begin(), key.end());
  for (std::size_t i = 0; i < wrapped.size(); ++i) {
    wrapped[i] ^= pad.bytes()[i];
  }
  return wrapped;
}

Bytes tag_of(ByteView heir, ByteView wrapped) {
  const Digest tag = hmac_sha256(heir, {as_bytes("assay/seal-key/tag/v1"), wrapped});
  return Bytes(tag.bytes().begin(), tag.bytes().end());
}

}  // namespace

Result<SecretBytes> seal_key_of(Connection& connection, const Signer& signer) {
  ASSAY_ASSIGN(SecretBytes own, derive_seal_key(signer));
  Query query = connection.query(Sql::kSealKeyGet);
  ASSAY_ASSIGN(const bool found, query.bind(signer.key_id()).next());
  if (!found) {
    return own;
  }
  const Bytes wrapped = query.bytes(0);
  if (wrapped.size() != own.view().size() || query.bytes(1) != tag_of(own.view(), wrapped)) {
    return fail(ErrorCode::kDataLoss, "the key of the seals was altered");
  }
  return SecretBytes(sealed_with(own.view(), wrapped));
}

Status hand_over_seals(Connection& connection, ByteView key, const Signer& next) {
  ASSAY_ASSIGN(const SecretBytes heir, derive_seal_key(next));
  const Bytes wrapped = sealed_with(heir.view(), key);
  const Bytes tag = tag_of(heir.view(), wrapped);
  return connection.query(Sql::kSealKeyPut).bind(next.key_id()).bind(wrapped).bind(tag).run();
}

// HMAC (RFC 2104 section 2) in two hashes: hmac_sha256() takes three times as long, and every row
// that is read has a seal.
Seal seal_of(const Connection& connection, ByteView message) {
  const ByteView key = connection.seal_key();
  const Bytes inner_key = padded(key, 0x36);
  const Bytes outer_key = padded(key, 0x5c);
  const Digest inner = sha(HashAlgorithm::kSha256, {inner_key, message});
  const Digest outer = sha(HashAlgorithm::kSha256, {outer_key, inner.bytes()});
  Seal seal{};
  std::ranges::copy(outer.bytes().first(seal.size()), seal.begin());
  return seal;
}

SealedRow::SealedRow(Sealed kind, std::string name) : kind_(kind), name_(std::move(name)) {
  message_.reserve(1024);  // most rows
  message_.push_back(std::to_underlying(kind));
  append_bytes(message_, as_bytes(name_));
}

void SealedRow::add(const Query& query) {
  const int columns = query.columns();
  append_number(message_, static_cast<std::uint64_t>(columns));
  for (int column = 0; column < columns; ++column) {
    message_.push_back(query.type(column));
    if (query.is_integer(column)) {
      append_number(message_, query.count(column));
    } else if (!query.is_null(column)) {
      append_bytes(message_, query.view(column));
    }
  }
}

Seal SealedRow::mac(const Connection& connection) const { return seal_of(connection, message_); }

Status SealedRow::keep(Connection& connection) const {
  return connection.query(Sql::kSealPut)
      .bind(std::to_underlying(kind_))
      .bind(name_)
      .bind(mac(connection))
      .run();
}

Status SealedRow::check(Connection& connection) const {
  Query query = connection.query(Sql::kSealGet);
  ASSAY_ASSIGN(const bool found,
               query.bind(std::to_underlying(kind_)).bind(std::string_view(name_)).next());
  if (found) {
    if (std::ranges::equal(query.view(0), mac(connection))) {
      return {};
    }
  }
  return changed(shown(kind_, name_));
}

Status check_seal(Connection& connection, Sealed kind, std::string name, const Query& query) {
  SealedRow row(kind, std::move(name));
  row.add(query);
  return row.check(connection);
}

Status keep_seal(Connection& connection, Sealed kind, std::string name, Query& query) {
  ASSAY_ASSIGN(const bool found, query.next());
  if (!found) {
    return fail(ErrorCode::kInternal, "a row that was written cannot be found");
  }
  SealedRow row(kind, std::move(name));
  row.add(query);
  return row.keep(connection);
}

// No message of a sealed row begins like this: those begin with their kind, a small number.
Seal row_tag(const Connection& connection, std::string_view table, RowColumns columns) {
  Bytes message = {0xff};
  append_bytes(message, as_bytes(table));
  for (const std::string_view column : columns) {
    append_bytes(message, as_bytes(column));
  }
  return seal_of(connection, message);
}

Status check_row_tag(const Connection& connection, std::string_view table, RowColumns columns,
                     ByteView tag) {
  const Seal right = row_tag(connection, table, columns);
  return std::ranges::equal(right, tag) ? Status() : changed(table);
}

namespace {

// No other message begins like this.
Seal tag_of(const Connection& connection, const LastWrite& last) {
  return seal_of(connection,
                 as_bytes("last-write:" + std::to_string(last.time.time_since_epoch().count()) +
                          ":" + std::to_string(last.wall.time_since_epoch().count())));
}

}  // namespace

Status store_last_write(Connection& connection, const LastWrite& last) {
  const Seal tag = tag_of(connection, last);
  return connection.query(Sql::kLastWritePut).bind(last.time).bind(last.wall).bind(tag).run();
}

Result<std::optional<LastWrite>> load_last_write(Connection& connection) {
  Query query = connection.query(Sql::kLastWriteGet);
  ASSAY_ASSIGN(const bool found, query.next());
  if (!found) {
    return std::nullopt;
  }
  const LastWrite last{query.time(0), query.time(1)};
  const Seal tag = tag_of(connection, last);
  const Bytes stored = query.bytes(2);
  return std::ranges::equal(stored, tag) ? std::optional(last) : std::nullopt;
}

}  // namespace assay::storage::sqlite
