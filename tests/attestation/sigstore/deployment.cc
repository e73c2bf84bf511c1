// SPDX-License-Identifier: Apache-2.0
#include "tests/attestation/sigstore/deployment.h"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include <openssl/ts.h>

#include "attestation/dsse.h"
#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"

namespace assay::test {
namespace {

// Keys by number: the tests of certificates use others.
const KeyPtr& certificate_log_key(bool another = false) {
  static const KeyPtr keys[] = {key_of("P-256", 110), key_of("P-256", 111)};
  return keys[another ? 1 : 0];
}
KeyPtr rekor1_key() { return key_of("P-256", 112); }
KeyPtr rekor2_key() { return key_of("ED25519", 113); }
KeyPtr stamp_key(bool another) { return key_of("P-256", another ? 116 : 115); }

void require(bool done, const char* what) {
  if (!done) {
    std::cerr << "test deployment: " << what << " failed\n";
    std::abort();
  }
}

std::uint64_t unix_seconds(const std::string& text) {
  const auto time = parse_rfc3339(text).value().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

void put(Bytes& out, std::uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}
void put(Bytes& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

Bytes digest_of(ByteView bytes) {
  const Digest digest = sha256(bytes);
  return {digest.bytes().begin(), digest.bytes().end()};
}

Bytes log_id(const KeyPtr& key) { return digest_of(public_der(key)); }

// --- certificates

CertificateSpec fulcio_root() { return root_spec("fulcio root"); }

CertificateSpec fulcio_intermediate() {
  CertificateSpec spec = ca_spec();
  spec.subject = "fulcio";
  spec.issuer = "fulcio root";
  return spec;
}

CertificateSpec stamp_root() {
  CertificateSpec spec = root_spec("tsa root");
  spec.key = spec.issuer_key = key_of("P-256", 114);
  spec.hash = "SHA256";
  return spec;
}

CertificateSpec stamp_leaf(bool another) {
  CertificateSpec spec;
  spec.subject = "tsa";
  spec.issuer = "tsa root";
  spec.key = stamp_key(another);
  spec.issuer_key = key_of("P-256", another ? 117 : 114);
  spec.serial = 9;
  spec.extensions = {{"keyUsage", "critical,digitalSignature"},
                     {"extendedKeyUsage", "critical,timeStamping"}};
  return spec;
}

// The certificate of a timestamp authority, the same each time: the root names its very bytes.
const Bytes& stamp_certificate(bool another) {
  static const Bytes made[] = {make_certificate(stamp_leaf(false)),
                               make_certificate(stamp_leaf(true))};
  return made[another ? 1 : 0];
}

// The TBSCertificate of a certificate without timestamps: what the log signs of it.
Bytes tbs_of(const Bytes& certificate) {
  const unsigned char* next = certificate.data();
  X509* x509 = d2i_X509(nullptr, &next, static_cast<long>(certificate.size()));
  unsigned char* out = nullptr;
  const int size = i2d_re_X509_tbs(x509, &out);
  require(size > 0, "a TBSCertificate");
  Bytes tbs(out, out + size);
  OPENSSL_free(out);
  X509_free(x509);
  return tbs;
}

// RFC 6962 section 3.2, one timestamp.
Bytes sct_of(const SctRecipe& recipe, const Bytes& tbs, const Bytes& issuer_key) {
  const std::uint64_t time = unix_seconds(recipe.time) * 1000;
  Bytes to_sign = {0, 0};
  put(to_sign, time, 8);
  put(to_sign, 1, 2);
  put(to_sign, digest_of(issuer_key));
  put(to_sign, tbs.size(), 3);
  put(to_sign, tbs);
  put(to_sign, 0, 2);
  const KeyPtr key = certificate_log_key(recipe.by_another);
  const Bytes signature = sign_with(recipe.is_broken ? key_of("P-256", 118) : key, to_sign);
  Bytes sct = {0};
  put(sct, log_id(key));
  put(sct, time, 8);
  put(sct, 0, 2);
  put(sct, 0x0403, 2);
  put(sct, signature.size(), 2);
  put(sct, signature);
  return sct;
}

Bytes leaf_of(const Recipe& recipe) {
  CertificateSpec spec = recipe.leaf;
  const Bytes tbs = tbs_of(make_certificate(spec));
  Bytes list;
  for (const SctRecipe& sct : recipe.scts) {
    if (sct.is_there) {
      const Bytes one = sct_of(sct, tbs, public_der(fulcio_intermediate().key));
      put(list, one.size(), 2);
      put(list, one);
    }
  }
  if (!list.empty()) {
    Bytes value = {0x04, 0x82};
    put(value, list.size() + 2, 2);
    put(value, list.size(), 2);
    put(value, list);
    spec.extensions.emplace_back("1.3.6.1.4.1.11129.2.4.2", "DER:" + hex_encode(value));
  }
  return make_certificate(spec);
}

// --- timestamps

const StampRecipe* current_stamp = nullptr;

ASN1_INTEGER* next_serial(TS_RESP_CTX* /*context*/, void* /*data*/) {
  ASN1_INTEGER* serial = ASN1_INTEGER_new();
  ASN1_INTEGER_set(serial, 77);
  return serial;
}

int stamp_time(TS_RESP_CTX* /*context*/, void* /*data*/, long* seconds, long* micros) {
  *seconds = static_cast<long>(unix_seconds(current_stamp->time));
  *micros = 0;
  return 1;
}

// A TimeStampReq over `message`.
Bytes stamp_request(const StampRecipe& recipe, ByteView message) {
  const EVP_MD* hash = EVP_get_digestbyname(recipe.hash);
  unsigned char value[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(message.data(), message.size(), value, &size, hash, nullptr);
  TS_REQ* request = TS_REQ_new();
  TS_MSG_IMPRINT* imprint = TS_MSG_IMPRINT_new();
  X509_ALGOR* algorithm = X509_ALGOR_new();
  X509_ALGOR_set0(algorithm, OBJ_nid2obj(EVP_MD_get_type(hash)), V_ASN1_NULL, nullptr);
  require(TS_REQ_set_version(request, 1) == 1 && TS_MSG_IMPRINT_set_algo(imprint, algorithm) == 1 &&
              TS_MSG_IMPRINT_set_msg(imprint, value, static_cast<int>(size)) == 1 &&
              TS_REQ_set_msg_imprint(request, imprint) == 1 &&
              TS_REQ_set_cert_req(request, recipe.with_certificate ? 1 : 0) == 1,
          "a timestamp request");
  unsigned char* out = nullptr;
  const int length = i2d_TS_REQ(request, &out);
  Bytes der(out, out + length);
  OPENSSL_free(out);
  X509_ALGOR_free(algorithm);
  TS_MSG_IMPRINT_free(imprint);
  TS_REQ_free(request);
  return der;
}

Bytes stamp(const StampRecipe& recipe, ByteView signature) {
  current_stamp = &recipe;
  const Bytes request =
      stamp_request(recipe, recipe.message.empty() ? signature : as_bytes(recipe.message));
  const Bytes& der = stamp_certificate(recipe.by_another);
  const unsigned char* next = der.data();
  X509* signer = d2i_X509(nullptr, &next, static_cast<long>(der.size()));
  TS_RESP_CTX* context = TS_RESP_CTX_new();
  TS_RESP_CTX_set_serial_cb(context, next_serial, nullptr);
  TS_RESP_CTX_set_time_cb(context, stamp_time, nullptr);
  ASN1_OBJECT* policy = OBJ_txt2obj("1.2.3.4.1", 1);
  bool ready =
      TS_RESP_CTX_set_signer_cert(context, signer) == 1 &&
      TS_RESP_CTX_set_signer_key(context, stamp_key(recipe.by_another).get()) == 1 &&
      TS_RESP_CTX_set_def_policy(context, policy) == 1 &&
      TS_RESP_CTX_set_signer_digest(context, EVP_get_digestbyname(recipe.signature_hash)) == 1;
  for (const char* hash : {"SHA1", "SHA256", "SHA384", "SHA512"}) {
    ready = ready && TS_RESP_CTX_add_md(context, EVP_get_digestbyname(hash)) == 1;
  }
  require(ready, "a timestamp authority");
  BIO* in = BIO_new_mem_buf(request.data(), static_cast<int>(request.size()));
  TS_RESP* response = TS_RESP_create_response(context, in);
  unsigned char* out = nullptr;
  const int size = i2d_TS_RESP(response, &out);
  require(size > 0, "a timestamp");
  Bytes result(out, out + size);
  OPENSSL_free(out);
  TS_RESP_free(response);
  BIO_free(in);
  ASN1_OBJECT_free(policy);
  TS_RESP_CTX_free(context);
  X509_free(signer);
  return result;
}

// --- logs

std::string pem_block(const char* label, ByteView der) {
  return std::string("-----BEGIN ") + label + "-----\n" + base64_encode(der) + "\n-----END " +
         label + "-----\n";
}

// The material of a bundle under way.
struct Parts {
  Bytes signature;
  Bytes payload;  // of an envelope
  Bytes signer;   // certificate or key in DER
};

bool is_version2(const Recipe& recipe) {
  return recipe.version == "0.0.2" && recipe.kind != "intoto";
}

Json body_of(const Recipe& recipe, const Parts& parts) {
  const char* label = recipe.managed ? "PUBLIC KEY" : "CERTIFICATE";
  const std::string pem = base64_encode(as_bytes(pem_block(label, parts.signer)));
  const std::string signature = base64_encode(parts.signature);
  const Json verifier = {{"keyDetails", "PKIX_ECDSA_P256_SHA_256"},
                         {recipe.managed ? "publicKey" : "x509Certificate",
                          {{"rawBytes", base64_encode(parts.signer)}}}};
  const Json payload_hash = {{"algorithm", "sha256"}, {"value", sha256(parts.payload).hex()}};
  const Json payload_hash2 = {{"algorithm", "SHA2_256"},
                              {"digest", base64_encode(digest_of(parts.payload))}};
  const Bytes message = recipe.statement ? attestation::pre_authentication_encoding(
                                               recipe.payload_type, parts.payload)
                                         : to_bytes(recipe.artifact);
  Json spec;
  if (recipe.kind == "intoto") {
    spec = {{"content",
             {{"payloadHash", payload_hash},
              {"envelope",
               {{"payloadType", recipe.payload_type},
                {"signatures",
                 {{{"sig", base64_encode(as_bytes(signature))}, {"publicKey", pem}}}}}}}}};
  } else if (recipe.kind == "dsse" && is_version2(recipe)) {
    spec = {{"dsseV002",
             {{"payloadHash", payload_hash2},
              {"signatures", {{{"content", signature}, {"verifier", verifier}}}}}}};
  } else if (recipe.kind == "dsse") {
    spec = {{"payloadHash", payload_hash},
            {"signatures", {{{"signature", signature}, {"verifier", pem}}}}};
  } else if (is_version2(recipe)) {
    spec = {{"hashedRekordV002",
             {{"data", {{"algorithm", "SHA2_256"}, {"digest", base64_encode(digest_of(message))}}},
              {"signature", {{"content", signature}, {"verifier", verifier}}}}}};
  } else {
    spec = {{"data", {{"hash", {{"algorithm", "sha256"}, {"value", sha256(message).hex()}}}}},
            {"signature", {{"content", signature}, {"publicKey", {{"content", pem}}}}}};
  }
  return {{"apiVersion", recipe.version}, {"kind", recipe.kind}, {"spec", spec}};
}

std::string checkpoint_of(const Recipe& recipe, const Digest& root, std::uint64_t size) {
  const bool second = is_version2(recipe);
  const std::string name = second ? "rekor2.example" : "rekor.example";
  const std::string origin = second ? name : recipe.origin;
  const std::string text =
      origin + "\n" + std::to_string(size) + "\n" + base64_encode(root.bytes()) + "\n";
  Bytes line;
  if (second) {
    Bytes hashed = to_bytes(name + "\n");
    hashed.push_back(1);
    const Bytes spki = public_der(rekor2_key());
    put(hashed, ByteView(spki).last(32));
    put(line, ByteView(digest_of(hashed)).first(4));
    put(line, sign_with(rekor2_key(), as_bytes(text), ""));
  } else {
    put(line, ByteView(log_id(rekor1_key())).first(4));
    put(line, sign_with(rekor1_key(), as_bytes(text)));
  }
  return text + "\n\u2014 " + name + " " + base64_encode(line) + "\n";
}

Json entry_of(const Recipe& recipe, const Parts& parts) {
  const Bytes body = to_bytes(canonical_json(body_of(recipe, parts)).value());
  std::vector<Digest> leaves;
  for (const char* other : {"1", "2", "3", "4", "5"}) {
    leaves.push_back(merkle_leaf(HashAlgorithm::kSha256, as_bytes(other)));
  }
  const std::uint64_t index = 3;
  leaves[index] = merkle_leaf(HashAlgorithm::kSha256, body);
  const Digest root = merkle_root(HashAlgorithm::kSha256, leaves);
  Json hashes = Json::array();
  const auto path = inclusion_path(HashAlgorithm::kSha256, leaves, index);
  for (const Digest& hash : path.value()) {
    hashes.push_back(base64_encode(hash.bytes()));
  }
  const bool second = is_version2(recipe);
  const Bytes id = second ? Bytes(32, 2) : log_id(rekor1_key());
  const std::uint64_t log_index = second ? index : 1000;
  Json entry = {{"logIndex", std::to_string(log_index)},
                {"logId", {{"keyId", base64_encode(id)}}},
                {"kindVersion", {{"kind", recipe.kind}, {"version", recipe.version}}},
                {"canonicalizedBody", base64_encode(body)}};
  if (!second && recipe.with_promise) {
    const std::uint64_t time = unix_seconds(recipe.integrated);
    const std::string promised = canonical_json({{"body", base64_encode(body)},
                                                 {"integratedTime", time},
                                                 {"logID", hex_encode(id)},
                                                 {"logIndex", log_index}})
                                     .value();
    entry["integratedTime"] = std::to_string(time);
    entry["inclusionPromise"] = {
        {"signedEntryTimestamp", base64_encode(sign_with(rekor1_key(), as_bytes(promised)))}};
  }
  if (recipe.with_proof) {
    entry["inclusionProof"] = {
        {"logIndex", std::to_string(index)},
        {"treeSize", std::to_string(leaves.size())},
        {"rootHash", base64_encode(root.bytes())},
        {"hashes", hashes},
        {"checkpoint", {{"envelope", checkpoint_of(recipe, root, leaves.size())}}}};
  }
  return entry;
}

Json log_json(const char* url, const KeyPtr& key, const Bytes& id) {
  return {{"baseUrl", url},
          {"hashAlgorithm", "SHA2_256"},
          {"publicKey",
           {{"rawBytes", base64_encode(public_der(key))},
            {"keyDetails", "PKIX_ECDSA_P256_SHA_256"},
            {"validFor", {{"start", "2026-02-01T00:00:00Z"}}}}},
          {"logId", {{"keyId", base64_encode(id)}}}};
}

Json authority_json(const char* url, const std::vector<Bytes>& chain) {
  Json certificates = Json::array();
  for (const Bytes& certificate : chain) {
    certificates.push_back({{"rawBytes", base64_encode(certificate)}});
  }
  return {{"uri", url},
          {"certChain", {{"certificates", certificates}}},
          {"validFor", {{"start", "2026-02-01T00:00:00Z"}}}};
}

}  // namespace

Recipe::Recipe() : leaf(leaf_spec()) {
  leaf.issuer = "fulcio";
  leaf.not_before = "2026-03-01T12:00:00Z";
  leaf.not_after = "2026-03-01T12:10:00Z";
  leaf.extensions.emplace_back("1.3.6.1.4.1.57264.1.8", "ASN1:UTF8String:https://issuer.example");
}

Json statement_about(const std::string& artifact) {
  return {{"_type", "https://in-toto.io/Statement/v1"},
          {"subject",
           {{{"name", "artifact"}, {"digest", {{"sha256", sha256(as_bytes(artifact)).hex()}}}}}},
          {"predicateType", "https://example.com/p"},
          {"predicate", Json::object()}};
}

Recipe rekor2() {
  Recipe recipe;
  recipe.version = "0.0.2";
  recipe.stamps = {StampRecipe{}};
  return recipe;
}

Recipe envelope(const std::string& kind, const std::string& version) {
  Recipe recipe;
  recipe.kind = kind;
  recipe.version = version;
  recipe.statement = statement_about(recipe.artifact);
  recipe.stamps = {StampRecipe{}};
  return recipe;
}

Json deployment_root() {
  return {
      {"mediaType", "application/vnd.dev.sigstore.trustedroot+json;version=0.1"},
      {"tlogs", Json::array({log_json("https://rekor.example", rekor1_key(), log_id(rekor1_key())),
                             log_json("https://rekor2.example/", rekor2_key(), Bytes(32, 2))})},
      {"certificateAuthorities",
       Json::array(
           {authority_json("https://fulcio.example", {make_certificate(fulcio_intermediate()),
                                                      make_certificate(fulcio_root())})})},
      {"ctlogs", Json::array({log_json("https://ct.example", certificate_log_key(),
                                       log_id(certificate_log_key()))})},
      {"timestampAuthorities",
       Json::array({authority_json("https://tsa.example",
                                   {stamp_certificate(false), make_certificate(stamp_root())})})}};
}

Json make_bundle(const Recipe& recipe) {
  Parts parts;
  const KeyPtr key = recipe.leaf.key;
  const char* hash = EVP_PKEY_get_bits(key.get()) == 384 ? "SHA384" : "SHA256";
  parts.signer = recipe.managed ? public_der(key) : leaf_of(recipe);
  Json content;
  if (recipe.statement) {
    parts.payload = to_bytes(recipe.statement->dump());
    parts.signature = sign_with(
        key, attestation::pre_authentication_encoding(recipe.payload_type, parts.payload), hash);
    content = {{"payload", base64_encode(parts.payload)},
               {"payloadType", recipe.payload_type},
               {"signatures", {{{"sig", base64_encode(parts.signature)}}}}};
  } else {
    parts.signature = sign_with(key, as_bytes(recipe.artifact), hash);
    content = {{"messageDigest",
                {{"algorithm", "SHA2_256"},
                 {"digest", base64_encode(digest_of(as_bytes(recipe.artifact)))}}},
               {"signature", base64_encode(parts.signature)}};
  }
  Json material = {{"tlogEntries", Json::array({entry_of(recipe, parts)})}};
  const Json leaf = {{"rawBytes", base64_encode(parts.signer)}};
  if (recipe.managed) {
    material["publicKey"] = {{"hint", "a key"}};
  } else if (recipe.as_chain) {
    Json certificates = Json::array({leaf});
    if (recipe.with_intermediate) {
      certificates.push_back(
          {{"rawBytes", base64_encode(make_certificate(fulcio_intermediate()))}});
    }
    material["x509CertificateChain"] = {{"certificates", certificates}};
  } else {
    material["certificate"] = leaf;
  }
  Json stamps = Json::array();
  for (const StampRecipe& one : recipe.stamps) {
    stamps.push_back({{"signedTimestamp", base64_encode(stamp(one, parts.signature))}});
  }
  material["timestampVerificationData"] = {{"rfc3161Timestamps", stamps}};
  return {{"mediaType", recipe.media_type},
          {"verificationMaterial", material},
          {recipe.statement ? "dsseEnvelope" : "messageSignature", content}};
}

BundleCase made(const Recipe& recipe) {
  BundleCase result;
  result.bundle = make_bundle(recipe).dump();
  result.root = deployment_root().dump();
  result.artifact = recipe.artifact;
  result.identity = "signer@example.com";
  result.issuer = "https://issuer.example";
  result.key = recipe.managed ? managed_key() : "";
  return result;
}

std::string managed_key() { return pem_block("PUBLIC KEY", public_der(key_of("P-256", 2))); }

}  // namespace assay::test
