// SPDX-License-Identifier: Apache-2.0
// The one rule for files that hold a secret: tokens, passphrases, private keys.
//
// Symbolic links are followed, as volumes of Kubernetes need it: every file there is a link. What
// counts is the file that was opened. It must be a regular file of this user or of root to which
// nobody else has access. A file of root may also be readable by a group of this process, because
// that is how root hands a secret to a service (`fsGroup` of a pod, mode 0440 or 0640). Root itself
// needs no such group: for root, the group 0 counts as anybody else.
#pragma once

#include <cstddef>
#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay {

struct SecretFile {
  SecretBytes content;
  // An error (key-unusable) says who else may read the file, with advice for the user. A caller may
  // go on in spite of it only if the content is worthless to others: an encrypted key, or no secret
  // at all.
  Status guarded;
};

// Opens and reads the file; what was checked is what was read. Errors: file-unreadable when it
// cannot be opened or read; key-unusable when it is no regular file; limit-exceeded for more than
// `limit` bytes.
[[nodiscard]] Result<SecretFile> read_secret(const std::string& path, std::size_t limit);

// Returns the content of a file that is guarded, and otherwise the error that says why not.
[[nodiscard]] Result<SecretBytes> read_guarded(const std::string& path, std::size_t limit);

}  // namespace assay
