// SPDX-License-Identifier: Apache-2.0
#include "attestation/keyid.h"

#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kEd25519Bytes = 32;
constexpr std::size_t kP256Bytes = 65;  // uncompressed points
constexpr std::size_t kP384Bytes = 97;

// How other software calls an algorithm, and the bytes of the key at the end of its DER form.
struct Names {
  std::string_view ssh;    // RFC 8709, RFC 5656 section 3.1
  std::string_view curve;  // empty for Ed25519
  std::string_view tuf_type;
  std::string_view tuf_scheme;
  std::size_t size;
};

Names names_of(SignatureAlgorithm algorithm) {
  switch (algorithm) {
    case SignatureAlgorithm::kEcdsaP256:
      return {"ecdsa-sha2-nistp256", "nistp256", "ecdsa", "ecdsa-sha2-nistp256", kP256Bytes};
    case SignatureAlgorithm::kEcdsaP384:
      return {"ecdsa-sha2-nistp384", "nistp384", "ecdsa", "ecdsa-sha2-nistp384", kP384Bytes};
    default:
      return {"ssh-ed25519", "", "ed25519", "ed25519", kEd25519Bytes};
  }
}

void put_string(Bytes& out, ByteView text) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(text.size() >> shift));
  }
  out.insert(out.end(), text.begin(), text.end());
}

std::string ssh_fingerprint(const PublicKey& key) {
  const Names names = names_of(key.algorithm());
  Bytes blob;
  put_string(blob, as_bytes(names.ssh));
  if (!names.curve.empty()) {
    put_string(blob, as_bytes(names.curve));
  }
  put_string(blob, ByteView(key.der()).last(names.size));
  const Digest digest = sha256(blob);
  std::string text = base64_encode(digest.bytes());
  text.erase(text.find_last_not_of('=') + 1);
  return "SHA256:" + text;
}

// Canonical JSON of OLPC escapes quotes and backslashes alone; neither hex nor PEM has any.
std::string tuf_id(const PublicKey& key) {
  const Names names = names_of(key.algorithm());
  const std::string value = key.algorithm() == SignatureAlgorithm::kEd25519
                                ? hex_encode(ByteView(key.der()).last(names.size))
                                : key.pem();
  const std::string json = "{\"keytype\":\"" + std::string(names.tuf_type) +
                           "\",\"keyval\":{\"public\":\"" + value + "\"},\"scheme\":\"" +
                           std::string(names.tuf_scheme) + "\"}";
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
