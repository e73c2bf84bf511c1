// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/collateral_source.h"

#include <algorithm>

#include "schemas/core/json.h"

namespace assay::cli {
namespace {

using attestation::tdx::Collateral;
using client::PublicDocument;

constexpr std::string_view kSpace = " \t\r\n";

std::unexpected<Error> unusable(const std::string& url, const std::string& what) {
  return fail(ErrorCode::kCollateralUnavailable, url + ": " + what);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Percent-encoding (RFC 3986 section 2.1). '+' stays: base64 has it.
std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) {
      return std::nullopt;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// Version 4 of the API drops the prefix that version 3 and some caches have.
Result<std::string> issuer_chain(const PublicDocument& document, const std::string& url,
                                 std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = document.headers.find(name);
    if (found == document.headers.end()) {
      continue;
    }
    auto chain = percent_decode(found->second);
    if (!chain || !chain->starts_with("-----BEGIN CERTIFICATE-----")) {
      return unusable(url, std::string(name) + " is no certificate chain");
    }
    return *std::move(chain);
  }
  return unusable(url, std::string("the header ") + *names.begin() + " is missing");
}

// A CRL in DER, or as some caches give it, in hex or PEM. Returns hex of the DER.
Result<std::string> crl_hex(const PublicDocument& document, const std::string& url) {
  const std::string_view text = as_text(document.body);
  constexpr char kSequence = 0x30;
  constexpr char kLongLength = static_cast<char>(0x82);
  if (text.size() > 2 && text[0] == kSequence && (text[1] & 0x80) != 0 &&
      text[1] <= kLongLength + 1) {
    return hex_encode(document.body);
  }
  std::string packed;
  std::ranges::copy_if(text, std::back_inserter(packed),
                       [](char c) { return kSpace.find(c) == std::string_view::npos; });
  constexpr std::string_view kBegin = "-----BEGINX509CRL-----";
  constexpr std::string_view kEnd = "-----ENDX509CRL-----";
  if (packed.starts_with(kBegin) && packed.ends_with(kEnd)) {
    const auto der =
        base64_decode(packed.substr(kBegin.size(), packed.size() - kBegin.size() - kEnd.size()));
    return der ? Result<std::string>(hex_encode(*der)) : unusable(url, "no CRL");
  }
  const bool is_hex = !packed.empty() && packed.size() % 2 == 0 &&
                      std::ranges::all_of(packed, [](char c) { return hex_value(c) >= 0; });
  if (!is_hex) {
    return unusable(url, "no CRL in DER, hex or PEM");
  }
  std::ranges::transform(packed, packed.begin(),
                         [](char c) { return static_cast<char>(c | 0x20); });
  return packed;
}

struct SignedText {
  std::string text;
  std::string signature;
  std::string chain;
};

Result<SignedText> signed_text(const GetDocument& get, const std::string& url, const char* member,
                               std::initializer_list<const char*> headers) {
  ASSAY_ASSIGN(const PublicDocument document, get(url));
  SignedText made;
  ASSAY_ASSIGN(made.chain, issuer_chain(document, url, headers));
  auto text = member_text(as_text(document.body), member);
  const auto json = parse_json(document.body);
  if (!text || !json || !json->contains("signature") || !json->at("signature").is_string()) {
    return unusable(url, std::string("no JSON with ") + member + " and its signature");
  }
  made.text = *std::move(text);
  made.signature = json->at("signature").get<std::string>();
  return made;
}

// The end of the JSON value that begins at `begin` of well-formed text.
std::size_t end_of_value(std::string_view json, std::size_t begin) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = begin; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}')) {
      return i;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return json.size();
}

std::size_t skip_space(std::string_view json, std::size_t at) {
  return std::min(json.find_first_not_of(kSpace, at), json.size());
}

// What a request asks for besides the family, with `separator` before it.
std::string which(const CollateralSource& source, char separator) {
  if (source.evaluation_number) {
    return separator + ("tcbEvaluationDataNumber=" + std::to_string(*source.evaluation_number));
  }
  return source.update.empty() ? std::string() : separator + ("update=" + source.update);
}

}  // namespace

CollateralSource source_at(const std::string& base, const std::string& root_crl) {
  if (!root_crl.empty()) {
    return {base, root_crl};
  }
  return {base, base == kIntelPcs ? std::string(kIntelRootCrl)
                                  : base + "/sgx/certification/v4/rootcacrl"};
}

std::optional<std::string> member_text(std::string_view json, const std::string& name) {
  // Refuses what is malformed and what has duplicate members, so that the walk below is simple.
  const auto parsed = parse_json(json);
  if (!parsed || !parsed->is_object() || !parsed->contains(name)) {
    return std::nullopt;
  }
  std::size_t at = skip_space(json, 0) + 1;
  while (at < json.size()) {
    at = skip_space(json, at);
    const std::size_t key_end = json.find('"', at + 1);
    if (json[at] != '"' || key_end == std::string_view::npos) {
      return std::nullopt;  // a key with escapes is none of Intel's
    }
    const std::string_view key = json.substr(at + 1, key_end - at - 1);
    if (key.find('\\') != std::string_view::npos) {
      return std::nullopt;
    }
    const std::size_t value = skip_space(json, skip_space(json, key_end + 1) + 1);
    const std::size_t end = end_of_value(json, value);
    if (key == name) {
      const std::string_view text = json.substr(value, end - value);
      return std::string(text.substr(0, text.find_last_not_of(kSpace) + 1));
    }
    at = end + 1;
  }
  return std::nullopt;
}

Result<Collateral> fetch_collateral(const CollateralSource& source, const std::string& fmspc,
                                    const std::string& ca, const GetDocument& get) {
  Collateral made;
  const std::string sgx = source.base + "/sgx/certification/v4/";
  const std::string tdx = source.base + "/tdx/certification/v4/";
  ASSAY_ASSIGN(SignedText info,
               signed_text(get, tdx + "tcb?fmspc=" + fmspc + which(source, '&'), "tcbInfo",
                           {"tcb-info-issuer-chain", "sgx-tcb-info-issuer-chain"}));
  made.tcb_info = std::move(info.text);
  made.tcb_info_signature = std::move(info.signature);
  made.tcb_info_issuer_chain = std::move(info.chain);
  ASSAY_ASSIGN(SignedText identity,
               signed_text(get, tdx + "qe/identity" + which(source, '?'), "enclaveIdentity",
                           {"sgx-enclave-identity-issuer-chain"}));
  made.qe_identity = std::move(identity.text);
  made.qe_identity_signature = std::move(identity.signature);
  made.qe_identity_issuer_chain = std::move(identity.chain);
  const std::string crl_url = sgx + "pckcrl?ca=" + ca + "&encoding=der";
  ASSAY_ASSIGN(const PublicDocument crl, get(crl_url));
  ASSAY_ASSIGN(made.pck_crl, crl_hex(crl, crl_url));
  ASSAY_ASSIGN(made.pck_crl_issuer_chain, issuer_chain(crl, crl_url, {"sgx-pck-crl-issuer-chain"}));
  ASSAY_ASSIGN(const PublicDocument root, get(source.root_crl));
  ASSAY_ASSIGN(made.root_ca_crl, crl_hex(root, source.root_crl));
  return made;
}

}  // namespace assay::cli
