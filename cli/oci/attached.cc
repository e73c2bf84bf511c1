// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/attached.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "schemas/core/json_at.h"
#include "schemas/core/json_foreign.h"

namespace assay::oci {
namespace {

constexpr std::string_view kBundleType = "application/vnd.dev.sigstore.bundle";
constexpr std::string_view kCosignType = "application/vnd.dev.cosign.simplesigning.v1+json";
constexpr std::string_view kOmsPredicate = "https://model_signing/";

struct Kind {
  std::string_view media_type;
  std::string_view kind;
};
constexpr std::array<Kind, 6> kKinds = {{
    {"application/vnd.dsse.envelope.v1+json", "dsse"},
    {kCosignType, "cosign"},
    {"application/vnd.in-toto+json", "statement"},
    {"application/vnd.cyclonedx+json", "cyclonedx"},
    {"application/spdx+json", "spdx"},
    {"text/spdx+json", "spdx"},
}};

struct Suffix {
  std::string_view kind;
  std::string_view suffix;
};
constexpr std::array<Suffix, 7> kSuffixes = {{
    {"sigstore-bundle", "sigstore.json"},
    {"oms", "model.sig"},
    {"dsse", "dsse.json"},
    {"cosign", "cosign.json"},
    {"statement", "intoto.json"},
    {"cyclonedx", "cdx.json"},
    {"spdx", "spdx.json"},
}};

std::string kind_of(std::string_view media_type) {
  // "...bundle.v0.3+json"; older ones "...bundle+json;version=0.2".
  if (media_type.starts_with(kBundleType)) {
    return "sigstore-bundle";
  }
  const auto found = std::ranges::find(kKinds, media_type, &Kind::media_type);
  return found == kKinds.end() ? "other" : std::string(found->kind);
}

// A bundle whose statement is that of OpenSSF Model Signing.
bool is_oms(const Json& bundle) {
  const auto payload = base64_decode_any(text_at(object_at(bundle, "dsseEnvelope"), "payload"));
  if (!payload) {
    return false;
  }
  const auto statement = parse_json(ByteView(*payload));
  return statement && text_at(*statement, "predicateType").starts_with(kOmsPredicate);
}

// The manifest that a payload of cosign is about (its "simple signing" format).
std::string cosign_subject(const Json& payload) {
  return text_at(object_at(object_at(payload, "critical"), "image"), "docker-manifest-digest");
}

class Finder {
 public:
  Finder(Source& source, const Digest& subject) : source_(source), subject_(subject) {}

  Result<std::vector<Attached>> run() {
    ASSAY_ASSIGN(const std::vector<ContentRef> referrers, source_.referrers(subject_));
    if (referrers.size() > kMaxReferrers) {
      return fail(ErrorCode::kLimitExceeded,
                  "More than " + std::to_string(kMaxReferrers) + " manifests refer to it",
                  subject_.text());
    }
    for (const ContentRef& one : referrers) {
      ASSAY_TRY(take_referrer(one));
    }
    for (const std::string_view suffix : {".sig", ".att", ".sbom"}) {
      ASSAY_TRY(take_tag("sha256-" + subject_.hex() + std::string(suffix)));
    }
    return std::move(found_);
  }

 private:
  Status take_referrer(const ContentRef& descriptor) {
    ASSAY_ASSIGN(const Fetched fetched, fetch_manifest(source_, descriptor));
    if (!fetched.manifest.subject || fetched.manifest.subject->digest != subject_) {
      return fail(ErrorCode::kSubjectMismatch,
                  "A manifest is listed as one that refers to " + subject_.text() +
                      ", and names another subject",
                  descriptor.digest.text());
    }
    return take_layers(fetched, "referrers");
  }

  Status take_tag(const std::string& tag) {
    const Result<Fetched> fetched = fetch_by_tag(source_, tag);
    if (!fetched) {
      return fetched.error().code == ErrorCode::kNotFound ? Status()
                                                          : std::unexpected(fetched.error());
    }
    return fetched->manifest.is_index
               ? fail(ErrorCode::kUnsupportedMediaType, "An index is under this tag", tag)
               : take_layers(*fetched, tag);
  }

  Status take_layers(const Fetched& fetched, const std::string& via) {
    if (fetched.manifest.is_index) {
      return {};
    }
    for (const ContentRef& layer : fetched.manifest.parts) {
      // The signatures of cosign are annotations of layers that may be the same blob.
      const std::string signature = layer.annotation("dev.cosignproject.cosign/signature");
      if (!seen_.insert(layer.digest.text() + signature).second) {
        continue;
      }
      if (found_.size() == kMaxReferrers) {
        return fail(ErrorCode::kLimitExceeded,
                    "More than " + std::to_string(kMaxReferrers) + " documents are attached");
      }
      Attached one{
          kind_of(layer.media_type), layer.media_type, layer.digest, fetched.digest, subject_, via};
      ASSAY_TRY(fill(layer, signature, one));
      found_.push_back(std::move(one));
    }
    return {};
  }

  Status fill(const ContentRef& layer, const std::string& signature, Attached& one) {
    if (one.kind == "other") {
      return {};
    }
    ASSAY_ASSIGN(one.bytes, fetch_blob(source_, layer, kMaxAttached));
    bytes_ += one.bytes.size();
    if (bytes_ > kMaxAttachedBytes) {
      return fail(ErrorCode::kLimitExceeded,
                  "More than " + std::to_string(kMaxAttachedBytes) + " bytes are attached");
    }
    JsonLimits limits;
    limits.max_memory = kMaxAttachedBytes;
    const Result<Json> json = parse_exact_json(one.bytes, limits);
    if (!json) {
      return fail(json.error().code,
                  "An attached " + one.kind + " is no JSON that is read: " + json.error().detail,
                  layer.digest.text());
    }
    if (one.kind == "sigstore-bundle" && is_oms(*json)) {
      one.kind = "oms";
    }
    if (one.kind == "cosign") {
      if (cosign_subject(*json) != subject_.text()) {
        return fail(ErrorCode::kSubjectMismatch, "A signature of cosign is about another manifest",
                    layer.digest.text());
      }
      one.signature = signature;
      one.certificate = layer.annotation("dev.sigstore.cosign/certificate") +
                        layer.annotation("dev.sigstore.cosign/chain");
      one.log_entry = layer.annotation("dev.sigstore.cosign/bundle");
    }
    return {};
  }

  Source& source_;
  const Digest& subject_;
  std::set<std::string> seen_;
  std::uint64_t bytes_ = 0;
  std::vector<Attached> found_;
};

}  // namespace

Result<std::vector<Attached>> find_attached(Source& source, const Digest& subject) {
  return Finder(source, subject).run();
}

std::string_view file_suffix(std::string_view kind) {
  const auto found = std::ranges::find(kSuffixes, kind, &Suffix::kind);
  return found == kSuffixes.end() ? "bin" : found->suffix;
}

}  // namespace assay::oci
