// SPDX-License-Identifier: Apache-2.0
// Every command here was typed; tests/cli/documents/test_key_formats.py types them again.
#include "schemas/key_advice.h"

#include <algorithm>

#include "schemas/core/bytes.h"
#include "schemas/core/printable.h"

namespace assay {
namespace {

constexpr const char* kAlgorithms = "Assay has Ed25519, ECDSA on P-256, P-384 and P-521, and RSA";
constexpr const char* kNewKey = "make a key with: assay key new --out ";
constexpr const char* kPython = "python3 -c 'from cryptography.hazmat.primitives.serialization ";

// What stands between "-----BEGIN " and "-----" of the first block; empty without one.
std::string_view label_of(std::string_view content) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::size_t kMaxLabel = 64;
  const std::size_t begin = content.find(kBegin);
  if (begin == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = content.substr(begin + kBegin.size());
  const std::size_t end = rest.substr(0, kMaxLabel).find("-----");
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

// DER, as `openssl -outform DER` writes it: a SEQUENCE with a length of its own.
bool is_der(std::string_view content) {
  return content.size() > 4 && content[0] == '\x30' &&
         (content[1] == '\x81' || content[1] == '\x82' ||
          static_cast<std::size_t>(content[1]) == content.size() - 2);
}

// RFC 7292 section 4: a SEQUENCE that begins with the version 3.
bool is_pkcs12(std::string_view content) {
  constexpr std::string_view kVersion("\x02\x01\x03", 3);
  return is_der(content) && content.substr(4, kVersion.size()) == kVersion;
}

std::string to_file(const std::string& command, const std::string& path, const char* suffix) {
  return command + " -in " + shell_word(path) + " -out " + shell_word(path + suffix);
}

// The body of a PEM block without its armour, decoded; empty when it cannot be.
std::string decoded_body(std::string_view content) {
  const std::size_t begin = content.find("-----\n");
  const std::size_t end = content.find("-----END", begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) {
    return {};
  }
  std::string base64(content.substr(begin + 6, end - begin - 6));
  std::erase_if(base64, [](char c) { return c == '\n' || c == '\r'; });
  const Result<Bytes> bytes = base64_decode(base64);
  return bytes ? std::string(as_text(*bytes)) : std::string();
}

// The kind of the key stands unencrypted in the file, also in an encrypted one.
std::string openssh_private(std::string_view content, const std::string& path) {
  const std::string body = decoded_body(content);
  const std::string out = path + ".pkcs8";
  const std::string what =
      "this is a private key in OpenSSH's own format, and PKCS#8 is expected; ";
  if (body.find("ssh-ed25519") != std::string::npos) {
    return what + "ssh-keygen cannot convert Ed25519 keys. When the key has no passphrase, type: " +
           "umask 077; " + kPython +
           "import *;import sys;sys.stdout.buffer.write(load_ssh_private_key(sys.stdin.buffer.read("
           "),None).private_bytes(Encoding.PEM,PrivateFormat.PKCS8,NoEncryption()))' <" +
           shell_word(path) + " >" + shell_word(out);
  }
  const bool ecdsa = body.find("ecdsa-sha2-nistp") != std::string::npos &&
                     body.find("sk-ecdsa") == std::string::npos;
  if (ecdsa || body.find("ssh-rsa") != std::string::npos) {
    return what + "type: cp -p " + shell_word(path) + " " + shell_word(out) +
           " && ssh-keygen -p -m PKCS8 -N '' -f " + shell_word(out);
  }
  return std::string("this is a private key of OpenSSH of a kind that is not used here; ") +
         kAlgorithms + ": " + kNewKey + "key.pem";
}

std::optional<std::string> openssh_public(std::string_view content, const std::string& path) {
  const std::string_view line = content.substr(0, content.find('\n'));
  const std::string what = "this is a public key as OpenSSH writes it, and PEM is expected; ";
  const std::string to = shell_word(path + ".pem");
  if (line.starts_with("ssh-ed25519 ")) {
    return what + "type: " + kPython +
           "import *;import sys;sys.stdout.buffer.write(load_ssh_public_key(sys.stdin.buffer.read("
           ")).public_bytes(Encoding.PEM,PublicFormat.SubjectPublicKeyInfo))' <" +
           shell_word(path) + " >" + to;
  }
  if (line.starts_with("ecdsa-sha2-nistp") || line.starts_with("ssh-rsa ")) {
    return what + "type: ssh-keygen -e -m PKCS8 -f " + shell_word(path) + " >" + to;
  }
  if (line.starts_with("ssh-") || line.starts_with("sk-")) {
    return std::string("this is a public key of OpenSSH of a kind that is not used here; ") +
           kAlgorithms;
  }
  return std::nullopt;
}

// cosign gives no private key away, but takes one.
std::string of_cosign() {
  return std::string(
      "this is a private key that cosign encrypted, and only cosign reads it. Make a key "
      "for both: assay key new --algorithm ecdsa-p256 --out key.pem, and give it to cosign: "
      "cosign import-key-pair --key key.pem");
}

bool is_cosign(std::string_view label) {
  return label == "ENCRYPTED COSIGN PRIVATE KEY" || label == "ENCRYPTED SIGSTORE PRIVATE KEY";
}

// Blocks that are a key neither here nor there.
std::optional<std::string> no_key(std::string_view label) {
  if (label.starts_with("PGP ")) {
    return std::string("this is a key or a message of OpenPGP, which is not used here; ") +
           kNewKey + "key.pem";
  }
  return label == "DSA PRIVATE KEY" ? std::optional(std::string("this is a DSA key; ") +
                                                    kAlgorithms + ": " + kNewKey + "key.pem")
                                    : std::nullopt;
}

std::string public_half(const std::string& path) {
  std::string text = "this is a public key, and a private one is expected";
  constexpr std::string_view kSuffix = ".pub";
  return path.ends_with(kSuffix)
             ? text + "; give " + shell_word(path.substr(0, path.size() - kSuffix.size()))
             : text + "; give the file that 'assay key new' wrote beside it";
}

}  // namespace

std::optional<std::string> private_key_advice(std::string_view content, const std::string& path) {
  const std::string_view label = label_of(content);
  const std::string convert = "openssl pkcs8 -topk8 -nocrypt";
  if (label == "PRIVATE KEY" || label == "ENCRYPTED PRIVATE KEY") {
    return content.starts_with("-----")
               ? std::nullopt
               : std::optional("there is text before the private key; type: " +
                               to_file(convert, path, ".pkcs8"));
  }
  if (label == "EC PRIVATE KEY" || label == "EC PARAMETERS" || label == "RSA PRIVATE KEY") {
    return std::string("this is a private key in ") +
           (label == "RSA PRIVATE KEY" ? "PKCS#1" : "SEC1") +
           ", and PKCS#8 is expected; type: " + to_file(convert, path, ".pkcs8");
  }
  if (label == "OPENSSH PRIVATE KEY") {
    return openssh_private(content, path);
  }
  if (is_cosign(label)) {
    return of_cosign();
  }
  if (label == "PUBLIC KEY" || label == "RSA PUBLIC KEY" || content.starts_with("ssh-") ||
      content.starts_with("ecdsa-sha2-")) {
    return public_half(path);
  }
  if (label == "CERTIFICATE" || label == "TRUSTED CERTIFICATE" || label == "CERTIFICATE REQUEST") {
    return "this is a certificate, and a private key is expected; give the key's file";
  }
  if (label.empty() && is_pkcs12(content)) {
    return "this is PKCS#12, and a private key in PEM is expected; type: openssl pkcs12 -nocerts "
           "-nodes -in " +
           shell_word(path) + " | " + convert + " -out " + shell_word(path + ".pem");
  }
  if (label.empty() && is_der(content)) {
    return "this is DER, and PEM is expected; type: " +
           to_file(convert + " -inform DER", path, ".pem");
  }
  return no_key(label);
}

std::optional<std::string> public_key_advice(std::string_view content, const std::string& path) {
  const std::string_view label = label_of(content);
  const std::string word = shell_word(path);
  if (label == "PUBLIC KEY") {
    return std::nullopt;
  }
  if (label == "CERTIFICATE" || label == "TRUSTED CERTIFICATE") {
    return "this is a certificate, and a public key is expected; type: openssl x509 -noout -pubkey "
           "-in " +
           word + " >" + shell_word(path + ".pub");
  }
  if (label == "CERTIFICATE REQUEST") {
    return "this is a request for a certificate, and a public key is expected; type: openssl req "
           "-noout -pubkey -in " +
           word + " >" + shell_word(path + ".pub");
  }
  if (label == "PRIVATE KEY" || label == "ENCRYPTED PRIVATE KEY" || label == "EC PRIVATE KEY" ||
      label == "EC PARAMETERS" || label == "RSA PRIVATE KEY") {
    return "this is a private key, and a public one is expected; type: " +
           to_file("openssl pkey -pubout", path, ".pub");
  }
  if (label == "RSA PUBLIC KEY") {
    return "this is a public key in PKCS#1, and PEM PUBLIC KEY is expected; type: " +
           to_file("openssl rsa -RSAPublicKey_in -pubout", path, ".pem");
  }
  if (label == "OPENSSH PRIVATE KEY") {
    return "this is a private key of OpenSSH, and a public one in PEM is expected; give its public "
           "half, which ssh-keygen wrote to " +
           shell_word(path + ".pub");
  }
  if (is_cosign(label)) {
    return "this is a private key that cosign encrypted, and a public one is expected; give "
           "cosign.pub, which cosign wrote beside it";
  }
  if (label.empty() && is_der(content)) {
    return "this is DER, and PEM is expected; type: " +
           to_file("openssl pkey -pubin -inform DER", path, ".pem");
  }
  const auto ssh = openssh_public(content, path);
  return ssh ? ssh : no_key(label);
}

}  // namespace assay
