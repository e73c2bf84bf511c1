// SPDX-License-Identifier: Apache-2.0
#include "attestation/verifiers/nvidia_collateral.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <openssl/x509v3.h>

#include "attestation/nvidia/evidence_file.h"
#include "attestation/verifiers/nvidia_verifier.h"
#include "attestation/x509/handles.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

using nvidia::NvidiaError;

constexpr std::size_t kMaxTexts = 512;
constexpr std::size_t kMaxKnownDevices = 4;  // a set has the answers about one device or few
constexpr std::size_t kBytesOfADevice = 64U << 10;
constexpr std::size_t kBytesPerTextByte = 2;
constexpr std::size_t kMaxOpenedRims = 64;
constexpr std::string_view kRim = "rim/";
constexpr std::string_view kOcsp = "ocsp/";
constexpr std::string_view kChain = "chain/";
constexpr std::string_view kVouched = "vouched/";

std::unexpected<Error> refuse_text(const std::string& member, const std::string& why) {
  return fail(ErrorCode::kCollateralRefused, why, "/collateral/" + member);
}
std::unexpected<Error> refuse_text(const std::string& member, const nvidia::Failure& failure) {
  return refuse_text(member, code(failure) + ": " + std::string(nvidia::meaning(failure.error)));
}

Result<std::vector<x509::Certificate>> anchors_with(const x509::Certificate& vendor,
                                                    std::span<const Bytes> dangerous) {
  std::vector<x509::Certificate> anchors = {vendor};
  for (std::size_t i = 0; i < dangerous.size(); ++i) {
    auto anchor = x509::Certificate::from_der(dangerous[i]);
    if (!anchor) {
      return fail(anchor.error().code, anchor.error().detail,
                  "/dangerous_anchors/" + std::to_string(i));
    }
    anchors.push_back(*std::move(anchor));
  }
  return anchors;
}

// Names of parts under the root at which their chains end.
std::string prefix_under(const x509::Certificate& root) {
  std::string prefix = std::string(kNvidiaEvidence) + "/";
  const bool is_vendor = root == nvidia::device_root() || root == nvidia::rim_root();
  return is_vendor ? prefix : prefix + root.digest().hex() + "/";
}

// Whether a CA issued each certificate but the last: the next one. Evidence is judged under all
// rules of RFC 5280 by itself; here its first certificate may be that of a CA, which is no leaf
// there.
bool is_chain(std::span<const x509::Certificate> chain) {
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    X509* const subject = x509::x509_of(chain[i]);
    X509* const issuer = x509::x509_of(chain[i + 1]);
    const bool is_issued = chain[i + 1].is_ca() &&
                           X509_check_issued(issuer, subject) == X509_V_OK &&
                           X509_verify(subject, X509_get0_pubkey(issuer)) == 1;
    if (!is_issued) {
      return false;
    }
  }
  return true;
}

// The answers that `chain` asks for: about each certificate but the root.
std::vector<std::string> answers_about(std::span<const x509::Certificate> chain,
                                       const std::string& prefix) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    names.push_back(prefix + std::string(kOcsp) + chain[i].digest().hex());
  }
  return names;
}

// The RIM of this text, opened and verified once for all sets that have it: those of a thousand
// devices share two. Its statuses are those in `responses`.
nvidia::Checked<nvidia::Rim> shared_rim(std::string_view id, const std::string& xml,
                                        std::span<const x509::Certificate> roots,
                                        std::span<const nvidia::OcspResponse> responses) {
  static Lru<std::string, std::shared_ptr<const nvidia::Rim>> opened(kMaxOpenedRims);
  std::string key = std::string(id) + " " + sha256(as_bytes(xml)).hex();
  for (const x509::Certificate& root : roots) {
    key += " " + root.digest().hex();
  }
  auto known = opened.find(key);
  if (!known) {
    auto rim = nvidia::open_rim(id, as_bytes(xml), roots, {});
    if (!rim) {
      return rim;
    }
    known = std::make_shared<const nvidia::Rim>(*std::move(rim));
    opened.put(key, *known);
  }
  nvidia::Rim rim = **known;
  rim.statuses = nvidia::statuses_of(rim.certificates, responses);
  return rim;
}

// A bundle while it is read.
class Reading {
 public:
  Reading(const Json& bundle, std::span<const x509::Certificate> device_anchors,
          std::span<const x509::Certificate> rim_anchors)
      : bundle_(bundle), device_anchors_(device_anchors), rim_anchors_(rim_anchors) {}

  // Answers first: RIMs are opened with them.
  Status read() {
    for (const auto& [member, text] : bundle_.items()) {
      if (!text.is_string()) {
        return fail(ErrorCode::kSchemaViolation, "a text", "/collateral/" + member);
      }
      if (member.starts_with(kOcsp)) {
        ASSAY_TRY(read_answer(member, member.substr(kOcsp.size())));
      }
    }
    for (const auto& [member, text] : bundle_.items()) {
      if (member.starts_with(kRim)) {
        ASSAY_TRY(read_rim(member, member.substr(kRim.size())));
      } else if (member.starts_with(kVouched)) {
        ASSAY_ASSIGN(Digest digest, Digest::parse(text_of(member)));
        contents_.vouched.insert(std::move(digest));
      } else if (member.starts_with(kChain)) {
        ASSAY_TRY(require_answer(member));
      } else if (!member.starts_with(kOcsp)) {
        return fail(ErrorCode::kUnknownMember, "rim/ID, ocsp/HEX or chain/HEX",
                    "/collateral/" + member);
      }
    }
    return {};
  }

  CollateralSetPtr made() {
    const x509::Certificate& root = root_ ? *root_ : nvidia::device_root();
    const bool is_vendor = prefix_under(root) == std::string(kNvidiaEvidence) + "/";
    return std::make_shared<const NvidiaCollateralSet>(
        bundle_, std::move(contents_), std::move(parts_),
        is_vendor ? nvidia::device_root().digest() : root.digest(), is_vendor);
  }

 private:
  [[nodiscard]] const std::string& text_of(const std::string& member) const {
    return bundle_.at(member).get_ref<const std::string&>();
  }

  Status end_at(const std::string& member, const x509::Certificate& root) {
    if (root_ && prefix_under(*root_) != prefix_under(root)) {
      return refuse_text(member, "all of a set is under one root");
    }
    root_ = root;
    return {};
  }

  Status require_answer(const std::string& member) const {
    const std::string answer = std::string(kOcsp) + member.substr(kChain.size());
    return bundle_.contains(answer) ? Status() : refuse_text(member, "a chain without an answer");
  }

  // The chain of the certificate that an answer is about, up to an anchor. That certificates have
  // ended is judged with the evidence.
  Result<std::vector<x509::Certificate>> read_chain(const std::string& member,
                                                    const std::string& digest) const {
    if (!bundle_.contains(member) || !bundle_.at(member).is_string()) {
      return refuse_text(member, "an answer without the chain of its certificate");
    }
    auto chain = x509::parse_certificates(as_bytes(text_of(member)));
    if (!chain || chain->size() < 2 || chain->front().digest().hex() != digest) {
      return refuse_text(member, "the chain of the certificate with this SHA-256, up to the root");
    }
    const bool is_trusted =
        std::ranges::find(device_anchors_, chain->back()) != device_anchors_.end() ||
        std::ranges::find(rim_anchors_, chain->back()) != rim_anchors_.end();
    if (is_trusted && is_chain(*chain)) {
      return chain;
    }
    return refuse_text(member, "the chain does not lead to a trusted root");
  }

  Status read_answer(const std::string& member, const std::string& digest) {
    ASSAY_ASSIGN(const auto chain, read_chain(std::string(kChain) + digest, digest));
    ASSAY_TRY(end_at(member, chain.back()));
    const auto der = base64_decode(text_of(member));
    if (!der) {
      return refuse_text(member, "base64 of an OCSP answer");
    }
    auto response = nvidia::OcspResponse::parse(*der);
    if (!response) {
      return refuse_text(member, response.error());
    }
    const auto status = nvidia::status_of(*response, chain[0], chain[1]);
    if (!status) {
      return refuse_text(member, status.error());
    }
    if (!*status) {
      return refuse_text(member, "the answer is about other certificates");
    }
    add_answer(member, chain.back(), **status);
    contents_.responses.push_back(*std::move(response));
    return {};
  }

  void add_answer(const std::string& member, const x509::Certificate& root,
                  const nvidia::OcspStatus& status) {
    const std::string said = std::string(name(status.state)) + " " + status.reason;
    const auto until =
        status.next_update.value_or(status.this_update + nvidia::OcspWindow{}.without_next);
    parts_.push_back({.name = prefix_under(root) + member,
                      .kind = "ocsp",
                      .number = 0,
                      .issued = status.this_update,
                      .next_update = std::min(until, status.signer_until),
                      .substance = sha256(as_bytes(said)),
                      .members = {std::string(kChain) + member.substr(kOcsp.size()), member},
                      .asks = {}});
  }

  Status read_rim(const std::string& member, const std::string& id) {
    auto rim = shared_rim(id, text_of(member), rim_anchors_, contents_.responses);
    if (!rim) {
      return refuse_text(member, rim.error());
    }
    const x509::Certificate& root = rim->certificates.back();
    ASSAY_TRY(end_at(member, root));
    const std::string prefix = prefix_under(root);
    parts_.push_back({.name = prefix + member,
                      .kind = "rim",
                      .number = 0,
                      .issued = rim->valid_from,
                      .next_update = rim->valid_until,
                      .substance = rim->digest,
                      .members = {member},
                      .asks = answers_about(rim->certificates, prefix)});
    contents_.rims.push_back(*std::move(rim));
    return {};
  }

  const Json& bundle_;
  std::span<const x509::Certificate> device_anchors_;
  std::span<const x509::Certificate> rim_anchors_;
  std::optional<x509::Certificate> root_;
  NvidiaContents contents_;
  std::vector<CollateralPart> parts_;
};

Digest digest_of_bundle(const Json& bundle) {
  return sha256(as_bytes(canonical_json(bundle).value_or(std::string())));
}

}  // namespace

NvidiaCollateralSet::NvidiaCollateralSet(Json bundle, NvidiaContents contents,
                                         std::vector<CollateralPart> parts, Digest anchor,
                                         bool anchor_is_vendor)
    : bundle_(std::move(bundle)),
      contents_(std::move(contents)),
      parts_(std::move(parts)),
      digest_(digest_of_bundle(bundle_)),
      anchor_(std::move(anchor)),
      anchor_is_vendor_(anchor_is_vendor),
      valid_from_(Timestamp::min()),
      valid_until_(Timestamp::max()),
      known_(kMaxKnownDevices) {
  for (const CollateralPart& part : parts_) {
    if (part.kind == "ocsp") {
      valid_from_ = std::max(valid_from_, part.issued - nvidia::OcspWindow{}.clock_difference);
      valid_until_ = std::min(valid_until_, part.next_update);
    }
  }
}

std::size_t NvidiaCollateralSet::memory_bytes() const {
  std::size_t text = 0;
  for (const auto& [name, value] : bundle_.items()) {
    text += value.get_ref<const std::string&>().size();
  }
  return kBytesPerTextByte * text + kMaxKnownDevices * kBytesOfADevice;
}

nvidia::Checked<KnownDevicePtr> NvidiaCollateralSet::device(
    const std::string& pem, std::span<const x509::Certificate> roots) const {
  // A root may have been removed from those that count since.
  if (const auto found = known_.find(pem);
      found && std::ranges::find(roots, (*found)->chain.certificates.back()) != roots.end()) {
    return *found;
  }
  auto opened = nvidia::open_device(pem, roots, contents_.responses);
  if (!opened) {
    return std::unexpected(std::move(opened).error());
  }
  auto device = std::make_shared<const nvidia::KnownDevice>(*std::move(opened));
  known_.put(pem, device);
  return device;
}

Result<std::vector<x509::Certificate>> nvidia_device_anchors(std::span<const Bytes> dangerous) {
  return anchors_with(nvidia::device_root(), dangerous);
}

Result<std::vector<x509::Certificate>> nvidia_rim_anchors(std::span<const Bytes> dangerous) {
  return anchors_with(nvidia::rim_root(), dangerous);
}

Result<CollateralSetPtr> authenticate_nvidia(const Json& bundle,
                                             std::span<const Bytes> dangerous_anchors) {
  if (!bundle.is_object()) {
    return fail(ErrorCode::kSchemaViolation, "collateral is an object of texts", "/collateral");
  }
  if (bundle.size() > kMaxTexts) {
    return fail(ErrorCode::kLimitExceeded, "at most " + std::to_string(kMaxTexts) + " texts",
                "/collateral");
  }
  ASSAY_ASSIGN(const auto device_anchors, nvidia_device_anchors(dangerous_anchors));
  ASSAY_ASSIGN(const auto rim_anchors, nvidia_rim_anchors(dangerous_anchors));
  Reading reading(bundle, device_anchors, rim_anchors);
  ASSAY_TRY(reading.read());
  return reading.made();
}

std::vector<std::string> names_for_nvidia(const Evidence& evidence,
                                          const Appraisal& /*appraisal*/) {
  const auto device = nvidia::parse_device(evidence.quote);
  if (!device) {
    return {};
  }
  const auto chain = nvidia::claimed_device_chain(device->certificates);
  const auto report = nvidia::parse_report(device->report);
  if (!chain || !report) {
    return {};
  }
  const auto firmware = nvidia::read_firmware(*report, *chain);
  if (!firmware) {
    return {};
  }
  const std::string prefix = prefix_under(chain->certificates.back());
  // The leaf has no answers: it is made anew with each firmware.
  std::vector<std::string> names = answers_about(std::span(chain->certificates).subspan(1), prefix);
  for (const nvidia::WantedRim& wanted : firmware->wanted) {
    names.push_back(prefix + std::string(kRim) + wanted.id);
  }
  return names;
}

}  // namespace assay::attestation
