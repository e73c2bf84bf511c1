// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/snp_key.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/crypto/openssl_handles.h"
#include "attestation/simulate/der_writer.h"
#include "schemas/core/sha.h"

namespace assay::attestation::snp {
namespace {

namespace asn1 = tdx::der;

using Number = Handle<BIGNUM, BN_clear_free>;
using NumberContext = Handle<BN_CTX, BN_CTX_free>;
using Group = Handle<EC_GROUP, EC_GROUP_free>;
using Point = Handle<EC_POINT, EC_POINT_free>;

constexpr std::size_t kPrimes = 8;
constexpr std::size_t kPrimeBytes = 64;
constexpr std::size_t kModulusBytes = kPrimes * kPrimeBytes;
constexpr BN_ULONG kExponent = 65537;

// Failures here mean that memory is exhausted.
void need(bool ok) {
  if (ASSAY_NO_MEMORY(!ok)) {
    std::abort();
  }
}

Number number_of(ByteView bytes) {
  Number number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  need(number != nullptr);
  return number;
}
Number zero() {
  Number number(BN_new());
  need(number != nullptr);
  return number;
}
NumberContext room() {
  NumberContext context(BN_CTX_new());
  need(context != nullptr);
  return context;
}
Bytes bytes_of(const BIGNUM* number, std::size_t size) {
  Bytes bytes(size);
  need(BN_bn2binpad(number, bytes.data(), static_cast<int>(size)) == static_cast<int>(size));
  return bytes;
}

// As many bytes as wanted that follow from `parts`.
Bytes expand(std::initializer_list<ByteView> parts, std::size_t size) {
  const Digest start = sha(HashAlgorithm::kSha384, parts);
  Bytes out;
  for (std::uint8_t counter = 0; out.size() < size; ++counter) {
    const Digest block = sha(HashAlgorithm::kSha384, {start.bytes(), ByteView(&counter, 1)});
    out.insert(out.end(), block.bytes().begin(), block.bytes().end());
  }
  out.resize(size);
  return out;
}

// The first prime from a place that the seed names. The upper bits make a product of eight primes
// 4096 bits long.
Bytes find_prime(ByteView seed, std::string_view label, std::uint8_t index) {
  Bytes start = expand(
      {as_bytes("assay simulated prime"), seed, as_bytes(label), ByteView(&index, 1)}, kPrimeBytes);
  start.front() |= 0xf0;
  start.back() |= 0x01;
  const Number prime = number_of(start);
  const NumberContext context = room();
  while (BN_mod_word(prime.get(), kExponent) == 1 ||
         BN_check_prime(prime.get(), context.get(), nullptr) != 1) {
    need(BN_add_word(prime.get(), 2) == 1);
  }
  return bytes_of(prime.get(), kPrimeBytes);
}

// Searching takes longer than all else of a simulation.
std::vector<Bytes> primes_of(ByteView seed, std::string_view label) {
  static std::mutex mutex;
  static std::map<std::pair<Bytes, std::string>, std::vector<Bytes>> known;
  const std::scoped_lock lock(mutex);
  auto& primes = known[{Bytes(seed.begin(), seed.end()), std::string(label)}];
  for (std::uint8_t i = 0; primes.size() < kPrimes; ++i) {
    primes.push_back(find_prime(seed, label, i));
  }
  return primes;
}

// RFC 8017 appendix B.2.1.
Bytes mask(ByteView seed, std::size_t size, HashAlgorithm hash) {
  Bytes out;
  for (std::uint8_t counter = 0; out.size() < size; ++counter) {
    const std::array<std::uint8_t, 4> text = {0, 0, 0, counter};
    const Digest block = sha(hash, {seed, text});
    out.insert(out.end(), block.bytes().begin(), block.bytes().end());
  }
  out.resize(size);
  return out;
}

// RFC 8017 section 9.1.1, for a modulus of 4096 bits.
Bytes encode_pss(ByteView message, HashAlgorithm hash) {
  const Digest digest = sha(hash, message);
  const Digest salt = sha(hash, {as_bytes("assay simulated salt"), digest.bytes()});
  const Bytes zeros(8);
  const Digest h = sha(hash, {zeros, digest.bytes(), salt.bytes()});
  const std::size_t size = h.bytes().size();
  Bytes block(kModulusBytes - size - 1);
  std::ranges::copy(salt.bytes(), block.end() - static_cast<std::ptrdiff_t>(size));
  block[block.size() - size - 1] = 0x01;
  const Bytes masked = mask(h.bytes(), block.size(), hash);
  for (std::size_t i = 0; i < block.size(); ++i) {
    block[i] ^= masked[i];
  }
  block.front() &= 0x7f;
  block.insert(block.end(), h.bytes().begin(), h.bytes().end());
  block.push_back(0xbc);
  return block;
}

// The part that one prime adds to the power of `base` by the private exponent (Chinese remainder
// theorem).
Number share(const BIGNUM* base, const BIGNUM* prime, const BIGNUM* modulus, BN_CTX* context) {
  const Number order(BN_dup(prime));
  need(order != nullptr && BN_sub_word(order.get(), 1) == 1);
  const Number exponent = zero();
  need(BN_set_word(exponent.get(), kExponent) == 1);
  const Number inverse(BN_mod_inverse(nullptr, exponent.get(), order.get(), context));
  need(inverse != nullptr);
  const Number power = zero();
  need(BN_nnmod(power.get(), base, prime, context) == 1);
  need(BN_mod_exp(power.get(), power.get(), inverse.get(), prime, context) == 1);
  const Number others = zero();
  need(BN_div(others.get(), nullptr, modulus, prime, context) == 1);
  const Number weight(BN_mod_inverse(nullptr, others.get(), prime, context));
  need(weight != nullptr);
  Number sum = zero();
  need(BN_mod_mul(sum.get(), power.get(), weight.get(), prime, context) == 1);
  need(BN_mul(sum.get(), sum.get(), others.get(), context) == 1);
  return sum;
}

// The curve and room to calculate.
struct Curve384 {
  Group group{EC_GROUP_new_by_curve_name(NID_secp384r1)};
  NumberContext context = room();

  Curve384() { need(group != nullptr); }
  [[nodiscard]] const BIGNUM* order() const { return EC_GROUP_get0_order(group.get()); }

  // A number of 1 to order - 1.
  [[nodiscard]] Number scalar(std::initializer_list<ByteView> parts) const {
    Number number = number_of(expand(parts, 48));
    const Number limit(BN_dup(order()));
    need(limit != nullptr && BN_sub_word(limit.get(), 1) == 1);
    need(BN_nnmod(number.get(), number.get(), limit.get(), context.get()) == 1);
    need(BN_add_word(number.get(), 1) == 1);
    return number;
  }
  void multiply(const BIGNUM* by, BIGNUM* x, BIGNUM* y) const {
    const Point point(EC_POINT_new(group.get()));
    need(point != nullptr);
    need(EC_POINT_mul(group.get(), point.get(), by, nullptr, nullptr, context.get()) == 1);
    need(EC_POINT_get_affine_coordinates(group.get(), point.get(), x, y, context.get()) == 1);
  }
};

}  // namespace

SimulatedRsaKey::SimulatedRsaKey(ByteView seed, std::string_view label)
    : primes_(primes_of(seed, label)) {
  const NumberContext context = room();
  const Number modulus = zero();
  need(BN_one(modulus.get()) == 1);
  for (const Bytes& prime : primes_) {
    need(BN_mul(modulus.get(), modulus.get(), number_of(prime).get(), context.get()) == 1);
  }
  modulus_ = bytes_of(modulus.get(), kModulusBytes);
}

Bytes SimulatedRsaKey::spki() const {
  const Bytes null = asn1::value(0x05, {});
  return asn1::sequence(
      {asn1::sequence({asn1::oid("1.2.840.113549.1.1.1"), null}),
       asn1::bits(asn1::sequence({asn1::integer(ByteView(modulus_)), asn1::integer(kExponent)}))});
}

Bytes SimulatedRsaKey::sign(ByteView message, HashAlgorithm hash) const {
  const NumberContext context = room();
  const Number modulus = number_of(modulus_);
  const Number encoded = number_of(encode_pss(message, hash));
  const Number sum = zero();
  for (const Bytes& prime : primes_) {
    const Number part = share(encoded.get(), number_of(prime).get(), modulus.get(), context.get());
    need(BN_mod_add(sum.get(), sum.get(), part.get(), modulus.get(), context.get()) == 1);
  }
  return bytes_of(sum.get(), kModulusBytes);
}

SimulatedP384Key::SimulatedP384Key(ByteView seed, std::string_view label) {
  const Curve384 curve;
  const Number scalar =
      curve.scalar({as_bytes("assay simulated P-384 key"), seed, as_bytes(label)});
  const Number x = zero();
  const Number y = zero();
  curve.multiply(scalar.get(), x.get(), y.get());
  std::ranges::copy(bytes_of(scalar.get(), 48), scalar_.begin());
  std::ranges::copy(bytes_of(x.get(), 48), point_.begin());
  std::ranges::copy(bytes_of(y.get(), 48), point_.begin() + 48);
}

Bytes SimulatedP384Key::spki() const {
  Bytes encoded = {0x04};
  encoded.insert(encoded.end(), point_.begin(), point_.end());
  return asn1::sequence(
      {asn1::sequence({asn1::oid("1.2.840.10045.2.1"), asn1::oid("1.3.132.0.34")}),
       asn1::bits(encoded)});
}

// FIPS 186-5 section 6.4.1, with a nonce that follows from key and message.
std::array<std::uint8_t, 96> SimulatedP384Key::sign(ByteView message) const {
  const Curve384 curve;
  const Digest digest = sha(HashAlgorithm::kSha384, message);
  const Number nonce =
      curve.scalar({as_bytes("assay simulated P-384 nonce"), scalar_, digest.bytes()});
  const Number r = zero();
  const Number y = zero();
  curve.multiply(nonce.get(), r.get(), y.get());
  BN_CTX* const context = curve.context.get();
  const Number hash = number_of(digest.bytes());
  const Number secret = number_of(scalar_);
  const Number inverse(BN_mod_inverse(nullptr, nonce.get(), curve.order(), context));
  need(inverse != nullptr);
  const Number s = zero();
  need(BN_nnmod(r.get(), r.get(), curve.order(), context) == 1);
  need(BN_mod_mul(s.get(), r.get(), secret.get(), curve.order(), context) == 1);
  need(BN_mod_add(s.get(), s.get(), hash.get(), curve.order(), context) == 1);
  need(BN_mod_mul(s.get(), s.get(), inverse.get(), curve.order(), context) == 1);
  std::array<std::uint8_t, 96> signature{};
  std::ranges::copy(bytes_of(r.get(), 48), signature.begin());
  std::ranges::copy(bytes_of(s.get(), 48), signature.begin() + 48);
  return signature;
}

}  // namespace assay::attestation::snp
