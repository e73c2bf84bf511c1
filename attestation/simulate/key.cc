// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/key.h"

#include <cstdlib>

#include <openssl/bn.h>
#include <openssl/obj_mac.h>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/crypto/no_memory.h"
#include "attestation/crypto/openssl_handles.h"
#include "attestation/simulate/der_writer.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {
namespace {

using BnHandle = Handle<BIGNUM, BN_clear_free>;
using BnContextHandle = Handle<BN_CTX, BN_CTX_free>;
using GroupHandle = Handle<EC_GROUP, EC_GROUP_free>;
using PointHandle = Handle<EC_POINT, EC_POINT_free>;

// Failures here mean that memory is exhausted.
void require(bool ok) {
  if (ASSAY_NO_MEMORY(!ok)) {
    std::abort();
  }
}

BnHandle to_number(ByteView bytes) {
  BnHandle number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  require(number != nullptr);
  return number;
}

void write(const BIGNUM* number, std::span<std::uint8_t> out) {
  require(BN_bn2binpad(number, out.data(), static_cast<int>(out.size())) ==
          static_cast<int>(out.size()));
}

// The curve and room to calculate.
struct Curve {
  GroupHandle group{EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)};
  BnContextHandle context{BN_CTX_new()};

  Curve() {
    require(group != nullptr);
    require(context != nullptr);
  }
  [[nodiscard]] const BIGNUM* order() const { return EC_GROUP_get0_order(group.get()); }

  // A number of 1 to order - 1 from a hash; the bias does not matter here.
  [[nodiscard]] BnHandle scalar(std::initializer_list<ByteView> parts) const {
    const Digest digest = sha(HashAlgorithm::kSha256, parts);
    BnHandle number = to_number(digest.bytes());
    const BnHandle limit(BN_dup(order()));
    require(limit != nullptr);
    require(BN_sub_word(limit.get(), 1) == 1);
    require(BN_nnmod(number.get(), number.get(), limit.get(), context.get()) == 1);
    require(BN_add_word(number.get(), 1) == 1);
    return number;
  }

  // The coordinates of scalar * G.
  void multiply(const BIGNUM* scalar, BIGNUM* x, BIGNUM* y) const {
    const PointHandle point(EC_POINT_new(group.get()));
    require(point != nullptr);
    require(EC_POINT_mul(group.get(), point.get(), scalar, nullptr, nullptr, context.get()) == 1);
    require(EC_POINT_get_affine_coordinates(group.get(), point.get(), x, y, context.get()) == 1);
  }
};

BnHandle new_number() {
  BnHandle number(BN_new());
  require(number != nullptr);
  return number;
}

}  // namespace

SimulatedKey::SimulatedKey(ByteView seed, std::string_view label) {
  const Curve curve;
  const BnHandle scalar = curve.scalar({as_bytes("assay simulated key"), seed, as_bytes(label)});
  const BnHandle x = new_number();
  const BnHandle y = new_number();
  curve.multiply(scalar.get(), x.get(), y.get());
  write(scalar.get(), scalar_);
  write(x.get(), std::span(point_).first<32>());
  write(y.get(), std::span(point_).last<32>());
}

Bytes SimulatedKey::spki() const {
  Bytes encoded = {0x04};
  encoded.insert(encoded.end(), point_.begin(), point_.end());
  return der::sequence(
      {der::sequence({der::oid("1.2.840.10045.2.1"), der::oid("1.2.840.10045.3.1.7")}),
       der::bits(encoded)});
}

// FIPS 186-5 section 6.4.1, with a nonce that follows from key and message.
RawSignature SimulatedKey::sign(ByteView message) const {
  const Curve curve;
  const Digest digest = sha256(message);
  const BnHandle nonce = curve.scalar({as_bytes("assay simulated nonce"), scalar_, digest.bytes()});
  const BnHandle r = new_number();
  const BnHandle y = new_number();
  curve.multiply(nonce.get(), r.get(), y.get());
  const BnHandle secret = to_number(scalar_);
  const BnHandle hash = to_number(digest.bytes());
  const BnHandle s = new_number();
  const BnHandle inverse(BN_mod_inverse(nullptr, nonce.get(), curve.order(), curve.context.get()));
  require(inverse != nullptr);
  BN_CTX* const context = curve.context.get();
  require(BN_nnmod(r.get(), r.get(), curve.order(), context) == 1);
  require(BN_mod_mul(s.get(), r.get(), secret.get(), curve.order(), context) == 1);
  require(BN_mod_add(s.get(), s.get(), hash.get(), curve.order(), context) == 1);
  require(BN_mod_mul(s.get(), s.get(), inverse.get(), curve.order(), context) == 1);
  RawSignature signature{};
  write(r.get(), std::span(signature).first<32>());
  write(s.get(), std::span(signature).last<32>());
  return signature;
}

Bytes SimulatedKey::sign_der(ByteView message) const { return der_signature(sign(message)); }

}  // namespace assay::attestation::tdx
