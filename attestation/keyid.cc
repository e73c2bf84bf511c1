// SPDX-License-Identifier: Apache-2.0
#include "attestation/keyid.h"

#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

void put_string(Bytes& out, ByteView text) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(text.size() >> shift));
  }
  out.insert(out.end(), text.begin(), text.end());
}

// RFC 4251 section 5: a positive number has a leading zero byte where its first bit is set.
void put_number(Bytes& out, const Bytes& number) {
  Bytes signed_number(number.front() >= 0x80 ? 1 : 0, 0);
  signed_number.insert(signed_number.end(), number.begin(), number.end());
  put_string(out, signed_number);
}

std::unexpected<Error> no_form(const AlgorithmRow& row, const char* whose) {
  return fail(ErrorCode::kInvalidParameter, std::string(whose) + " has no keyid for " +
                                                row.openssl + " keys; write none or sha256");
}

// The key as OpenSSH sends it: RFC 8709 section 4, RFC 5656 section 3.1, RFC 4253 section 6.6.
Result<std::string> ssh_fingerprint(const PublicKey& key) {
  const AlgorithmRow& row = row_of(key.algorithm());
  if (row.ssh.empty()) {
    return no_form(row, "OpenSSH");
  }
  Bytes blob;
  put_string(blob, as_bytes(row.ssh));
  if (const auto rsa = key.rsa_numbers()) {
    put_number(blob, rsa->exponent);
    put_number(blob, rsa->modulus);
  } else if (row.kind == KeyKind::kEc) {
    put_string(blob, as_bytes(row.ssh.substr(row.ssh.rfind('-') + 1)));
    put_string(blob, ByteView(key.der()).last(row.key_bytes + 1));
  } else {
    put_string(blob, ByteView(key.der()).last(row.key_bytes));
  }
  const Digest digest = sha256(blob);
  std::string text = base64_encode(digest.bytes());
  text.erase(text.find_last_not_of('=') + 1);
  return "SHA256:" + text;
}

// Canonical JSON of OLPC escapes quotes and backslashes alone; neither hex nor PEM has any.
Result<std::string> tuf_id(const PublicKey& key) {
  const AlgorithmRow& row = row_of(key.algorithm());
  if (row.tuf_type.empty()) {
    return no_form(row, "TUF");
  }
  const std::string value = row.kind == KeyKind::kOctets
                                ? hex_encode(ByteView(key.der()).last(row.key_bytes))
                                : key.pem();
  const std::string json = "{\"keytype\":\"" + std::string(row.tuf_type) +
                           "\",\"keyval\":{\"public\":\"" + value + "\"},\"scheme\":\"" +
                           std::string(row.tuf_scheme) + "\"}";
  return sha256(as_bytes(json)).hex();
}

}  // namespace

Result<std::string> keyid_of(std::string_view form, const PublicKey& key) {
  if (form == kKeyidNone) {
    return std::string();
  }
  if (form == kKeyidSha256) {
    return key.id().digest().hex();
  }
  if (form == kKeyidSsh) {
    return ssh_fingerprint(key);
  }
  if (form == kKeyidTuf) {
    return tuf_id(key);
  }
  if (form.empty() || form.size() > kMaxKeyid || !is_utf8(form)) {
    return fail(ErrorCode::kInvalidParameter, "a keyid is 1 to 1024 bytes of UTF-8");
  }
  return std::string(form);
}

}  // namespace assay::attestation
