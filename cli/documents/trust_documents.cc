// SPDX-License-Identifier: Apache-2.0
#include "cli/documents/trust_documents.h"

#include <memory>
#include <utility>

#include <openssl/pem.h>
#include <openssl/x509.h>

#include "attestation/keys.h"
#include "attestation/x509/certificate.h"
#include "cli/documents/keys.h"
#include "client/files.h"
#include "schemas/core/json.h"
#include "schemas/core/json_advice.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"

namespace assay::cli {

namespace {

Result<Json> read_json_file(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
  Result<Json> json = parse_json(ByteView(bytes));
  if (!json) {
    Error error = with_json_advice(std::move(json).error(), as_text(bytes), path);
    error.where = path;
    return std::unexpected(std::move(error));
  }
  return json;
}

template <typename T>
Result<T> in_file(Result<T> result, const std::string& path) {
  if (!result) {
    Error error = std::move(result).error();
    error.where = path + (error.where.empty() ? "" : ": " + error.where);
    return std::unexpected(std::move(error));
  }
  return result;
}

}  // namespace

Result<SignerRole> read_signer_role(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  if (first == std::string::npos || first == last || first == 0 || last + 1 == text.size()) {
    return fail(ErrorCode::kUsage,
                "A role is written as stage:predicate-type:namespace, such as "
                "evaluate:lifecycle:acme",
                text);
  }
  SignerRole role{text.substr(0, first), text.substr(first + 1, last - first - 1),
                  text.substr(last + 1)};
  if (role.predicate_type == "lifecycle") {
    role.predicate_type = kLifecyclePredicateType;
  } else if (role.predicate_type == "manifest") {
    role.predicate_type = kManifestPredicateType;
  }
  return role;
}

Result<TrustedKey> read_trusted_key(const std::string& path) {
  ASSAY_ASSIGN(const Json json, read_json_file(path));
  return in_file(trusted_key_from_json(json), path);
}

Result<Principal> read_principal(const std::string& path) {
  ASSAY_ASSIGN(const Json json, read_json_file(path));
  return in_file(principal_from_json(json), path);
}

Result<Appraisal> read_appraisal(const std::string& path) {
  ASSAY_ASSIGN(const Json json, read_json_file(path));
  return in_file(appraisal_from_json(json), path);
}

Result<Registration> read_registration_file(const std::string& path) {
  ASSAY_ASSIGN(const Json json, read_json_file(path));
  return in_file(registration_from_json(json), path);
}

Result<PublicHalf> read_public_key(const std::string& path) {
  constexpr std::uint64_t kMaxPem = 65536;
  ASSAY_ASSIGN(Bytes pem, client::read_file(path, kMaxPem));
  if (as_text(pem).find("PRIVATE KEY-----") != std::string_view::npos) {
    const Error wrong =
        about_public_key({ErrorCode::kUsage, "this is a private key", {}}, as_text(pem), path);
    secure_wipe(pem);
    if (!client::file_exists(path + ".pub")) {
      return std::unexpected(wrong);
    }
    ASSAY_ASSIGN(pem, client::read_file(path + ".pub", kMaxPem));
  }
  const Result<attestation::PublicKey> key = attestation::PublicKey::from_pem(as_text(pem));
  if (!key) {
    return std::unexpected(about_public_key(key.error(), as_text(pem), path));
  }
  return PublicHalf{key->id(), key->algorithm(), key->der(), key->pem()};
}

Result<PutTrustedRoot> read_trusted_root(const std::string& text) {
  const std::size_t end = text.find('=');
  if (end == std::string::npos || end == 0 || end + 1 == text.size()) {
    return fail(ErrorCode::kUsage,
                "A trusted root is written as NAME=FILE, such as sigstore=trusted_root.json", text);
  }
  ASSAY_ASSIGN(Json document, read_json_file(text.substr(end + 1)));
  return PutTrustedRoot{text.substr(0, end), std::move(document)};
}

Result<std::vector<Bytes>> read_certificates(const std::string& path) {
  ASSAY_ASSIGN(const Bytes file, client::read_file(path, attestation::x509::kMaxCertificateFile));
  ASSAY_ASSIGN(const auto certificates, in_file(attestation::x509::parse_certificates(file), path));
  std::vector<Bytes> ders;
  for (const auto& certificate : certificates) {
    ders.push_back(certificate.der());
  }
  return ders;
}

Result<Credential> certificate_credential(const std::string& path) {
  constexpr std::uint64_t kMaxPem = 65536;
  ASSAY_ASSIGN(const Bytes pem, client::read_file(path, kMaxPem));
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr, &X509_free);
  if (!certificate) {
    return fail(ErrorCode::kInvalidEncoding, "This is no X.509 certificate in PEM", path);
  }
  unsigned char* der = nullptr;
  const int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate.get()), &der);
  if (length <= 0) {
    return fail(ErrorCode::kInvalidEncoding, "The certificate holds no usable key", path);
  }
  const Digest digest = sha256({der, static_cast<std::size_t>(length)});
  OPENSSL_free(der);
  return Credential{CredentialKind::kClientCertificate, digest};
}

}  // namespace assay::cli
