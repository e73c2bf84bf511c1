// SPDX-License-Identifier: Apache-2.0
#include "cli/documents/secrets.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "client/files.h"

namespace assay::cli {

namespace {

constexpr std::size_t kMaxPassphraseBytes = 1024;

// The terminal of the process, silent as long as this lives.
class SilentTerminal {
 public:
  SilentTerminal() : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (fd_ < 0 || ::tcgetattr(fd_, &saved_) != 0) {
      return;
    }
    termios silent = saved_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent.c_lflag |= static_cast<tcflag_t>(ECHONL);
    usable_ = ::tcsetattr(fd_, TCSAFLUSH, &silent) == 0;
  }
  ~SilentTerminal() {
    if (usable_) {
      ::tcsetattr(fd_, TCSAFLUSH, &saved_);
    }
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;

  [[nodiscard]] bool usable() const { return usable_; }

  [[nodiscard]] Result<SecretBytes> ask(const std::string& prompt) const {
    const std::string text = prompt + ": ";
    if (::write(fd_, text.data(), text.size()) < 0) {
      return fail(ErrorCode::kUsage, "The terminal does not take the question");
    }
    Bytes line;
    line.reserve(kMaxPassphraseBytes);  // one buffer, wiped by SecretBytes
    std::uint8_t byte = 0;
    while (line.size() < kMaxPassphraseBytes) {
      const ssize_t got = ::read(fd_, &byte, 1);
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0 || byte == '\n') {
        break;
      }
      line.push_back(byte);
    }
    secure_wipe({&byte, 1});
    return SecretBytes(std::move(line));
  }

 private:
  int fd_;
  termios saved_{};
  bool usable_ = false;
};

}  // namespace

Result<SecretBytes> ask_passphrase(const std::string& prompt, bool confirm) {
  client::protect_process();
  const SilentTerminal terminal;
  if (!terminal.usable()) {
    return fail(ErrorCode::kUsage,
                "There is no terminal to ask for the passphrase; use --passphrase-file");
  }
  ASSAY_ASSIGN(SecretBytes first, terminal.ask(prompt));
  if (first.empty()) {
    return fail(ErrorCode::kUsage, "The passphrase is empty");
  }
  if (confirm) {
    ASSAY_ASSIGN(const SecretBytes second, terminal.ask("Again"));
    if (!constant_time_equal(first.view(), second.view())) {
      return fail(ErrorCode::kUsage, "The two passphrases differ");
    }
  }
  return first;
}

Result<SecretBytes> read_passphrase(const std::string& file, const std::string& prompt,
                                    bool confirm) {
  client::protect_process();
  return file.empty() ? ask_passphrase(prompt, confirm) : client::read_secret_file(file);
}

Result<std::string> make_token(Random& random) {
  std::array<std::uint8_t, 32> bytes{};
  ASSAY_TRY(random.fill(bytes));
  std::string token = "assay_" + base64url_encode(bytes);
  secure_wipe(bytes);
  return token;
}

}  // namespace assay::cli
