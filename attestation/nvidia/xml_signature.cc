// SPDX-License-Identifier: Apache-2.0
// Form and verification of the signature of a RIM.
#include "attestation/nvidia/xml_signature.h"

#include <algorithm>
#include <array>
#include <span>

#include <xmlsec/crypto.h>
#include <xmlsec/errors.h>
#include <xmlsec/io.h>
#include <xmlsec/keys.h>
#include <xmlsec/openssl/evp.h>
#include <xmlsec/xmldsig.h>
#include <xmlsec/xmlsec.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/nvidia/xml_tree.h"
#include "attestation/x509/handles.h"

namespace assay::attestation::nvidia {
namespace {

using ContextHandle = Handle<xmlSecDSigCtx, xmlSecDSigCtxDestroy>;
using KeyHandle = Handle<xmlSecKey, xmlSecKeyDestroy>;
using KeyDataHandle = Handle<xmlSecKeyData, xmlSecKeyDataDestroy>;

constexpr std::string_view kDsig = "http://www.w3.org/2000/09/xmldsig#";
constexpr std::string_view kC14n11 = "http://www.w3.org/2006/12/xml-c14n11";
constexpr std::string_view kEnveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
constexpr std::string_view kEcdsaSha384 = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384";
constexpr std::string_view kSha384Uri = "http://www.w3.org/2001/04/xmldsig-more#sha384";

std::unexpected<Failure> bad_form(std::string expected) {
  return reject(NvidiaError::kRimSignatureForm, std::move(expected));
}

std::unexpected<Failure> not_verified() { return reject(NvidiaError::kRimSignature); }

// The elements below `parent`, which must be exactly these.
std::optional<std::vector<xmlNode*>> exactly(const xmlNode* parent,
                                             std::span<const std::string_view> names) {
  auto found = child_elements(parent);
  if (!found || found->size() != names.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_element((*found)[i], {kDsig, names[i]})) {
      return std::nullopt;
    }
  }
  return found;
}

bool has_no_attribute(const xmlNode* element) { return attribute_count(element) == 0; }

// An element with this algorithm, no other attribute, and nothing in it.
bool is_algorithm(const xmlNode* element, std::string_view uri) {
  return attribute_count(element) == 1 && attribute(element, {"", "Algorithm"}) == uri &&
         element->children == nullptr;
}

constexpr auto kSignatureParts =
    std::to_array<std::string_view>({"SignedInfo", "SignatureValue", "KeyInfo"});
constexpr auto kSignedInfoParts =
    std::to_array<std::string_view>({"CanonicalizationMethod", "SignatureMethod", "Reference"});
constexpr auto kReferenceParts =
    std::to_array<std::string_view>({"Transforms", "DigestMethod", "DigestValue"});
constexpr auto kTransforms = std::to_array<std::string_view>({"Transform", "Transform"});
constexpr auto kKeyInfoParts = std::to_array<std::string_view>({"X509Data"});

bool is_the_reference(const xmlNode* reference) {
  if (attribute_count(reference) != 1 || attribute(reference, {"", "URI"}) != "") {
    return false;
  }
  const auto parts = exactly(reference, kReferenceParts);
  if (!parts || !is_algorithm((*parts)[1], kSha384Uri) || !has_no_attribute((*parts)[0]) ||
      !has_no_attribute((*parts)[2]) || !text_of((*parts)[2])) {
    return false;
  }
  const auto transforms = exactly((*parts)[0], kTransforms);
  return transforms && is_algorithm((*transforms)[0], kEnveloped) &&
         is_algorithm((*transforms)[1], kC14n11);
}

bool is_the_signed_info(const xmlNode* info) {
  const auto parts = exactly(info, kSignedInfoParts);
  return parts && has_no_attribute(info) && is_algorithm((*parts)[0], kC14n11) &&
         is_algorithm((*parts)[1], kEcdsaSha384) && is_the_reference((*parts)[2]);
}

Checked<std::vector<x509::Certificate>> read_certificates(const xmlNode* key_info) {
  const auto data = exactly(key_info, kKeyInfoParts);
  const auto elements = data && has_no_attribute(key_info) && has_no_attribute(data->front())
                            ? child_elements(data->front())
                            : std::nullopt;
  if (!elements || elements->empty() || elements->size() > kMaxRimCertificates) {
    return bad_form("KeyInfo with X509Data alone");
  }
  std::vector<x509::Certificate> certificates;
  for (const xmlNode* element : *elements) {
    auto text = is_element(element, {kDsig, "X509Certificate"}) && has_no_attribute(element)
                    ? text_of(element)
                    : std::nullopt;
    if (!text) {
      return bad_form("X509Data of X509Certificate alone");
    }
    std::erase_if(*text, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
    const auto der = base64_decode(*text);
    auto certificate = x509::Certificate::from_der(der ? *der : Bytes());
    if (!certificate) {
      return bad_form("certificates in base64");
    }
    certificates.push_back(*std::move(certificate));
  }
  return certificates;
}

// All elements of this name below `root`, wherever.
std::vector<xmlNode*> all_signatures(xmlNode* root) {
  std::vector<xmlNode*> found;
  std::vector<xmlNode*> open = {root};
  while (!open.empty()) {
    xmlNode* node = open.back();
    open.pop_back();
    if (is_element(node, {kDsig, "Signature"})) {
      found.push_back(node);
    }
    for (xmlNode* child = node->children; child != nullptr; child = child->next) {
      open.push_back(child);
    }
  }
  return found;
}

// libxmlsec1 with OpenSSL, once for the process, with nothing that opens files or addresses.
bool start_xmlsec() {
  xmlSecErrorsDefaultCallbackEnableOutput(0);
  const int begun = xmlSecInit();
  xmlSecIOCleanupCallbacks();
  return begun >= 0 && xmlSecCheckVersion() == 1 && xmlSecCryptoInit() >= 0;
}

bool is_xmlsec_ready() {
  static const bool kReady = start_xmlsec();
  return kReady;
}

KeyHandle key_of(const x509::Certificate& certificate) {
  EVP_PKEY* pkey = X509_get0_pubkey(x509::x509_of(certificate));
  if (pkey == nullptr || EVP_PKEY_up_ref(pkey) != 1) {
    return nullptr;
  }
  KeyDataHandle data(xmlSecOpenSSLEvpKeyAdopt(pkey));
  if (data == nullptr) {
    EVP_PKEY_free(pkey);
    return nullptr;
  }
  KeyHandle key(xmlSecKeyCreate());
  if (ASSAY_NO_MEMORY(key == nullptr || xmlSecKeySetValue(key.get(), data.get()) < 0)) {
    return nullptr;
  }
  static_cast<void>(data.release());
  return key;
}

// Allows the algorithms of the form and no others: what read_signature() has checked, again.
ContextHandle make_context() {
  ContextHandle context(xmlSecDSigCtxCreate(nullptr));
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return nullptr;
  }
  context->flags |= XMLSEC_DSIG_FLAGS_STORE_SIGNEDINFO_REFERENCES;
  context->enabledReferenceUris = xmlSecTransformUriTypeEmpty;
  bool done = true;
  for (const xmlSecTransformId id :
       {xmlSecTransformEnvelopedId, xmlSecTransformInclC14N11Id, xmlSecTransformSha384Id}) {
    done = done && xmlSecDSigCtxEnableReferenceTransform(context.get(), id) >= 0;
  }
  for (const xmlSecTransformId id : {xmlSecTransformInclC14N11Id, xmlSecTransformEcdsaSha384Id}) {
    done = done && xmlSecDSigCtxEnableSignatureTransform(context.get(), id) >= 0;
  }
  return ASSAY_NO_MEMORY(!done) ? nullptr : std::move(context);
}

// The bytes under the digest of the one reference.
Checked<Bytes> digested_bytes(xmlSecDSigCtx* context) {
  if (xmlSecPtrListGetSize(&context->signedInfoReferences) != 1) {
    return not_verified();
  }
  auto* const reference = static_cast<xmlSecDSigReferenceCtxPtr>(
      xmlSecPtrListGetItem(&context->signedInfoReferences, 0));
  xmlSecBuffer* buffer = reference == nullptr || reference->status != xmlSecDSigStatusSucceeded
                             ? nullptr
                             : xmlSecDSigReferenceCtxGetPreDigestBuffer(reference);
  if (buffer == nullptr || xmlSecBufferGetData(buffer) == nullptr) {
    return not_verified();
  }
  const xmlSecByte* data = xmlSecBufferGetData(buffer);
  return Bytes(data, data + xmlSecBufferGetSize(buffer));
}

}  // namespace

Checked<XmlSignature> read_signature(xmlNode* root) {
  const std::vector<xmlNode*> signatures = all_signatures(root);
  if (signatures.size() != 1 || signatures.front()->parent != root) {
    return bad_form("one Signature, in the root");
  }
  xmlNode* signature = signatures.front();
  const auto parts = exactly(signature, kSignatureParts);
  if (!parts || !has_no_attribute(signature)) {
    return bad_form("SignedInfo, SignatureValue and KeyInfo");
  }
  if (!is_the_signed_info((*parts)[0])) {
    return bad_form("one Reference to the document, enveloped, Canonical XML 1.1, SHA-384, ECDSA");
  }
  if (!has_no_attribute((*parts)[1]) || !text_of((*parts)[1])) {
    return bad_form("SignatureValue with text alone");
  }
  auto certificates = read_certificates((*parts)[2]);
  if (!certificates) {
    return std::unexpected(std::move(certificates).error());
  }
  return XmlSignature{signature, *std::move(certificates)};
}

Checked<Bytes> verified_bytes(const XmlSignature& signature, const x509::Certificate& leaf) {
  const ErrorQueueGuard guard;
  const QuietXml quiet;
  if (ASSAY_NO_MEMORY(!is_xmlsec_ready())) {
    return not_verified();
  }
  const ContextHandle context = make_context();
  KeyHandle key = key_of(leaf);
  if (context == nullptr || key == nullptr) {
    return not_verified();
  }
  context->signKey = key.release();  // the context frees it
  if (xmlSecDSigCtxVerify(context.get(), signature.element) < 0 ||
      context->status != xmlSecDSigStatusSucceeded) {
    return not_verified();
  }
  return digested_bytes(context.get());
}

}  // namespace assay::attestation::nvidia
