// SPDX-License-Identifier: Apache-2.0
// The message of a seal: kind and name of the row, then for each row its columns with their types
// and lengths, so that no two rows give the same bytes.
#include "storage/sqlite/seals.h"

#include <algorithm>
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

std::unexpected<Error> changed(Sealed kind, const std::string& row) {
  return fail(ErrorCode::kDataLoss,
              "a stored row was changed by something else than this service; see docs/recovery.md",
              std::string(name(kind)) + " " + row);
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
  constexpr std::array<std::string_view, kSealedKinds + 1> kNames = {"",
                                                                     "statement",
                                                                     "node",
                                                                     "job",
                                                                     "challenge",
                                                                     "outline",
                                                                     "pod",
                                                                     "claim",
                                                                     "high-water",
                                                                     "evidence",
                                                                     "node-key",
                                                                     "generation",
                                                                     "place",
                                                                     "places",
                                                                     "version",
                                                                     "usage",
                                                                     "change",
                                                                     "about",
                                                                     "made-from",
                                                                     "signed-name",
                                                                     "released-name",
                                                                     "signed-place",
                                                                     "named-policy",
                                                                     "stage-evidence",
                                                                     "on-platform"};
  return kNames.at(std::to_underlying(kind));
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

Status SealedRow::keep(Connection& connection) const {
  return connection.map().put(map_name(connection, kind_, name_), seal_of(connection, message_));
}

Status SealedRow::check(Connection& connection) const {
  const Seal seal = seal_of(connection, message_);
  ASSAY_ASSIGN(const bool fits, connection.map().holds(map_name(connection, kind_, name_), seal));
  return fits ? Status() : changed(kind_, name_);
}

void SealedRow::add(std::uint64_t column) { append_number(message_, column); }

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

namespace {

SealedRow row_of(Sealed kind, const std::string& name, RowColumns columns) {
  SealedRow row(kind, name);
  for (const std::uint64_t column : columns) {
    row.add(column);
  }
  return row;
}

}  // namespace

Status check_seal(Connection& connection, Sealed kind, const std::string& name,
                  RowColumns columns) {
  return row_of(kind, name, columns).check(connection);
}

Status keep_seal(Connection& connection, Sealed kind, const std::string& name, RowColumns columns) {
  return row_of(kind, name, columns).keep(connection);
}

Status check_absent(Connection& connection, Sealed kind, const std::string& name) {
  ASSAY_ASSIGN(const auto entry, connection.map().find(map_name(connection, kind, name)));
  return entry ? fail(ErrorCode::kDataLoss, "a stored row is missing; see docs/recovery.md",
                      std::string(assay::storage::sqlite::name(kind)) + " " + name)
               : Status();
}

Status erase_seal(Connection& connection, Sealed kind, const std::string& name) {
  return connection.map().erase(map_name(connection, kind, name));
}

Result<std::uint64_t> load_count(Connection& connection, Sealed kind, const std::string& name) {
  ASSAY_ASSIGN(const auto value, connection.map().find(map_name(connection, kind, name)));
  std::uint64_t count = 0;
  for (std::size_t i = 0; value && i < sizeof(count); ++i) {
    count = count << 8 | value->at(i);
  }
  return count;
}

Status store_count(Connection& connection, Sealed kind, const std::string& name,
                   std::uint64_t count) {
  Bytes bytes;
  append_number(bytes, count);
  MapValue value{};
  std::ranges::copy(bytes, value.begin());
  return count == 0 ? erase_seal(connection, kind, name)
                    : connection.map().put(map_name(connection, kind, name), value);
}

MapName map_name(const Connection& connection, Sealed kind, std::string_view name) {
  Bytes message = to_bytes("name\n");
  message.push_back(std::to_underlying(kind));
  message.insert(message.end(), name.begin(), name.end());
  MapName hashed = seal_of(connection, message);
  hashed.back() = std::to_underlying(kind);
  return hashed;
}

}  // namespace assay::storage::sqlite
