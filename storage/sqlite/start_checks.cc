// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/start_checks.h"

#include <filesystem>

#include "storage/sqlite/log_tables.h"

namespace assay::storage::sqlite {
namespace {

std::unexpected<Error> behind(const char* what) {
  return fail(ErrorCode::kStoreBehindAnchor,
              std::string(what) +
                  "; was the database restored from an old copy? See "
                  "docs/recovery.md");
}

}  // namespace

// Ed25519 is deterministic: the note is ours exactly when signing its text again gives it.
Status check_note(const std::string& note, const std::string& origin, const Signer& signer) {
  const auto parsed = parse_checkpoint(note);
  if (!parsed) {
    return fail(ErrorCode::kDataLoss, "a stored checkpoint is damaged");
  }
  if (parsed->checkpoint.origin != origin) {
    return fail(ErrorCode::kInvalidConfig, "the log has another origin than configured");
  }
  ASSAY_ASSIGN(const std::string expected, sign_checkpoint(parsed->checkpoint, signer));
  if (note == expected) {
    return {};
  }
  ASSAY_ASSIGN(const SignedCheckpoint ours, parse_checkpoint(expected));
  const NoteSignature& own = ours.signatures.front();
  for (const NoteSignature& signature : parsed->signatures) {
    if (signature.key_hash != own.key_hash) {
      continue;
    }
    // The checkpoint at which one key follows another has the signatures of both.
    if (parsed->signatures.size() == 2 && signature.signature == own.signature) {
      return {};
    }
    return fail(ErrorCode::kDataLoss, "the signature of a stored checkpoint does not verify");
  }
  return fail(ErrorCode::kInvalidConfig, "the log was signed with another key than configured");
}

Status check_checkpoint(const LogState& state, const std::string& origin, const Signer& signer) {
  ASSAY_TRY(check_note(state.note, origin, signer));
  ASSAY_ASSIGN(const SignedCheckpoint parsed, parse_checkpoint(state.note));
  if (parsed.checkpoint.size != state.size || parsed.checkpoint.root != state.root) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint differs from its signed text");
  }
  return {};
}

Status check_anchored_log(Connection& connection, const LogState& state,
                          const Anchor::State& anchor) {
  if (state.size < anchor.checkpoint.size) {
    return behind("the log is shorter than at the anchor");
  }
  ASSAY_ASSIGN(const Digest root, load_root(connection, anchor.checkpoint.size));
  return root == anchor.checkpoint.root ? Status()
                                        : behind("the log differs from the one at the anchor");
}

Result<std::optional<Anchor::State>> check_anchor(Connection& connection, const LogState& state,
                                                  const SqliteOptions& options,
                                                  const Signer& signer) {
  auto anchor = Anchor(options.anchor_path).load();
  if (!anchor && anchor.error().code == ErrorCode::kNotFound) {
    if (state.size > 0 && !options.dangerous_recreate_anchor) {
      std::error_code ignored;
      const auto folder = std::filesystem::path(options.anchor_path).parent_path();
      if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
        return fail(ErrorCode::kStoreBehindAnchor,
                    "the folder of the anchor file is not there: mount it, or correct anchor_file");
      }
      return behind("the log has records, but its anchor file is missing");
    }
    return std::nullopt;
  }
  if (!anchor) {
    return std::unexpected(anchor.error());
  }
  if (anchor->checkpoint.origin != options.origin) {
    return fail(ErrorCode::kInvalidConfig,
                "the anchor is of another log origin than configured: finish an interrupted "
                "'assayd restore --accept-loss' by calling it again; see docs/recovery.md");
  }
  ASSAY_TRY(check_note(anchor->note, options.origin, signer));
  ASSAY_TRY(check_anchored_log(connection, state, *anchor));
  return std::optional(std::move(*anchor));
}

Status check_epochs(const Epochs& now, const Epochs& then) {
  if (now.trust.trust < then.trust.trust || now.trust.revocation < then.trust.revocation ||
      now.policy < then.policy) {
    return behind("trust, revocations or policies are older than at the anchor");
  }
  return {};
}

Status check_map(const MapState& now, const MapState& then) {
  if (now.number < then.number || (now.number == then.number && now.root != then.root)) {
    return behind("the record map is older than at the anchor");
  }
  return {};
}

Status require_rules(const SqliteOptions& options) {
  return options.rules != nullptr
             ? Status()
             : fail(ErrorCode::kInvalidConfig, "a store is opened with the rules of reports");
}

}  // namespace assay::storage::sqlite
