-- SPDX-License-Identifier: Apache-2.0
-- The first schema. Conventions: digests are their raw bytes (32 or 48, the length tells the
-- algorithm), times are milliseconds since 1970 UTC, log indices count from 0. Lists that callers
-- page through have their log index as INTEGER PRIMARY KEY: every index on them ends in it, so that
-- each filter is walked in log order. `time_high` is the greatest time of a list up to that row:
-- it ascends with the log index even when the clock went back, and is searched by halving.

-- --- exact bytes

CREATE TABLE documents (
  id BLOB NOT NULL PRIMARY KEY,
  media_type TEXT NOT NULL,  -- empty: that of an envelope (DSSE)
  form INTEGER NOT NULL,     -- of bytes: enum PackedForm (storage/sqlite/packed.h)
  bytes BLOB NOT NULL,
  seal BLOB NOT NULL  -- of id and media type
) STRICT;

-- The record map (storage/record_map.h): entries of a bucket, and a seal that tells a damaged one.
CREATE TABLE record_map (
  bucket INTEGER PRIMARY KEY CHECK (bucket BETWEEN 0 AND 65535),
  entries BLOB NOT NULL,
  seal BLOB NOT NULL
) STRICT;

-- --- the log

CREATE TABLE log_records (
  idx INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  type TEXT NOT NULL,
  actor TEXT NOT NULL,
  form INTEGER NOT NULL,  -- of bytes, as in documents
  bytes BLOB NOT NULL
) STRICT;
CREATE INDEX log_records_by_type ON log_records (type);
CREATE INDEX log_records_by_actor ON log_records (actor);

-- Texts that many rows have, by number.
CREATE TABLE texts (
  number INTEGER PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX texts_by_text ON texts (text);

CREATE TABLE log_subjects (
  subject INTEGER NOT NULL,  -- of texts
  idx INTEGER NOT NULL,
  PRIMARY KEY (subject, idx)
) STRICT, WITHOUT ROWID;

-- Of each leaf its digest (32 bytes), then those of the complete subtrees that end with it, smallest
-- first. That of subtree `index` of height `level` begins at 32 * level in the row of its last leaf,
-- (index + 1) * 2^level - 1.
CREATE TABLE log_nodes (
  leaf INTEGER PRIMARY KEY,
  hashes BLOB NOT NULL CHECK (length(hashes) >= 32 AND length(hashes) % 32 = 0)
) STRICT;

CREATE TABLE log_checkpoint (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  size INTEGER NOT NULL CHECK (size >= 0),
  root BLOB NOT NULL,
  note TEXT NOT NULL
) STRICT;

-- The key of the seals, encrypted for each key that the log got in place of its first.
CREATE TABLE seal_keys (
  log_key BLOB NOT NULL PRIMARY KEY,
  wrapped BLOB NOT NULL,
  tag BLOB NOT NULL
) STRICT;

-- When something was written last, and what the wall clock said then: one that says less now was set
-- back. The number of that write, and of the last one that is known to be in the file without the
-- write-ahead log (storage/sqlite/file_age.h). `map`: the root of the record map after it.
CREATE TABLE last_write (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  time INTEGER NOT NULL,
  wall INTEGER NOT NULL,
  seal BLOB NOT NULL,  -- of all columns but `copied`
  number INTEGER NOT NULL,
  copied INTEGER NOT NULL,
  map BLOB NOT NULL
) STRICT;
INSERT INTO last_write VALUES (1, 0, 0, x'', 1099511627776, 1099511627776, x'');  -- 2^40

-- --- statements

CREATE TABLE statements (
  log_index INTEGER PRIMARY KEY REFERENCES log_records (idx),
  id BLOB NOT NULL UNIQUE,
  kind INTEGER NOT NULL,
  payload_type TEXT NOT NULL,
  predicate_type TEXT NOT NULL,
  stage TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  time INTEGER NOT NULL,
  contents TEXT NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX statements_by_kind ON statements (kind);
CREATE INDEX statements_by_predicate_type ON statements (predicate_type);
CREATE INDEX statements_by_stage ON statements (stage);
CREATE INDEX statements_by_name ON statements (name);

CREATE TABLE statement_subjects (
  log_index INTEGER NOT NULL REFERENCES statements (log_index),
  ordinal INTEGER NOT NULL,
  subject TEXT NOT NULL,
  PRIMARY KEY (log_index, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX statement_subjects_by_subject ON statement_subjects (subject, log_index);

-- Digests of what went into the subjects: what was made from a thing is found through them.
CREATE TABLE statement_inputs (
  log_index INTEGER NOT NULL REFERENCES statements (log_index),
  ordinal INTEGER NOT NULL,
  input TEXT NOT NULL,
  PRIMARY KEY (log_index, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX statement_inputs_by_input ON statement_inputs (input, log_index);

CREATE TABLE statement_locations (
  log_index INTEGER NOT NULL REFERENCES statements (log_index),
  ordinal INTEGER NOT NULL,
  location TEXT NOT NULL,
  PRIMARY KEY (log_index, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX statement_locations_by_location ON statement_locations (location, log_index);

CREATE TABLE statement_signers (
  log_index INTEGER NOT NULL REFERENCES statements (log_index),
  ordinal INTEGER NOT NULL,
  key BLOB NOT NULL,
  signed_at INTEGER NOT NULL,
  record INTEGER NOT NULL,  -- index of the log record that names this signature
  certificate TEXT NOT NULL,  -- JSON of CertificateUse; empty: signed by a known key
  PRIMARY KEY (log_index, ordinal)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX statement_signers_by_key ON statement_signers (key, log_index);

CREATE TABLE statement_envelopes (
  log_index INTEGER NOT NULL REFERENCES statements (log_index),
  ordinal INTEGER NOT NULL,
  document BLOB NOT NULL REFERENCES documents (id),
  PRIMARY KEY (log_index, ordinal)
) STRICT, WITHOUT ROWID;

-- What each identity has signed about each artifact (kind 1), and with manifests and placements for
-- each model name (2) and location (3): pushes beyond a limit are refused.
CREATE TABLE signer_usage (
  kind INTEGER NOT NULL CHECK (kind IN (1, 2, 3)),
  topic TEXT NOT NULL,
  identity TEXT NOT NULL,
  statements INTEGER NOT NULL,
  manifests INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (kind, topic, identity)
) STRICT, WITHOUT ROWID;

-- --- versions: how often something was written that decisions read. kind 1: statements about a
-- subject, 2: a node and the reports of its jobs, 3: all statements.

CREATE TABLE versions (
  kind INTEGER NOT NULL CHECK (kind IN (1, 2, 3)),
  name TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- Which stored statement got further signatures or evidence, under the version of all statements
-- (kind 3) that this gave. A new statement raises that version, too, and has no row here.
CREATE TABLE statement_changes (
  version INTEGER PRIMARY KEY,
  log_index INTEGER NOT NULL
) STRICT;

-- --- trust and the policies in force: canonical JSON (storage/governance.h), of which the newest
-- record of their chain has the digests

CREATE TABLE governance (
  part TEXT NOT NULL PRIMARY KEY CHECK (part IN ('trust', 'policies')),
  document BLOB NOT NULL
) STRICT;

-- --- decisions

CREATE TABLE decisions (
  log_index INTEGER PRIMARY KEY REFERENCES log_records (idx),
  id ANY NOT NULL UNIQUE,  -- the 16 bytes of a UUID, or another text
  envelope BLOB NOT NULL REFERENCES documents (id),
  allowed INTEGER NOT NULL CHECK (allowed IN (0, 1)),
  point TEXT NOT NULL,
  name_space INTEGER NOT NULL REFERENCES texts (number),
  time INTEGER NOT NULL,
  seal BLOB NOT NULL  -- half of an HMAC-SHA256 over the decision (storage/sqlite/seals.h)
) STRICT;
CREATE INDEX decisions_by_allowed ON decisions (allowed);
CREATE INDEX decisions_by_name_space ON decisions (name_space);

CREATE TABLE decision_subjects (
  log_index INTEGER NOT NULL REFERENCES decisions (log_index),
  ordinal INTEGER NOT NULL,
  subject INTEGER NOT NULL REFERENCES texts (number),
  PRIMARY KEY (log_index, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_subjects_by_subject ON decision_subjects (subject, log_index);

CREATE TABLE decision_reasons (
  log_index INTEGER NOT NULL REFERENCES decisions (log_index),
  ordinal INTEGER NOT NULL,
  reason INTEGER NOT NULL REFERENCES texts (number),
  PRIMARY KEY (log_index, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_reasons_by_reason ON decision_reasons (reason, log_index);

-- --- nothing that was accepted is changed or deleted

CREATE TRIGGER documents_keep_update BEFORE UPDATE ON documents
BEGIN SELECT RAISE(ABORT, 'documents are kept as they are'); END;
CREATE TRIGGER documents_keep_delete BEFORE DELETE ON documents
BEGIN SELECT RAISE(ABORT, 'documents are kept as they are'); END;
CREATE TRIGGER log_records_keep_update BEFORE UPDATE ON log_records
WHEN NEW.idx <> OLD.idx OR NEW.form <> OLD.form OR NEW.bytes <> OLD.bytes
BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
-- What only repeats the record: `assayd repair` writes it again.
CREATE TRIGGER log_records_keep_columns
BEFORE UPDATE OF time, type, actor ON log_records
BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER log_records_keep_delete BEFORE DELETE ON log_records
BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER log_nodes_keep_update BEFORE UPDATE ON log_nodes
BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER log_nodes_keep_delete BEFORE DELETE ON log_nodes
BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER decisions_keep_update BEFORE UPDATE ON decisions
BEGIN SELECT RAISE(ABORT, 'decisions are kept as they are'); END;
CREATE TRIGGER decisions_keep_delete BEFORE DELETE ON decisions
BEGIN SELECT RAISE(ABORT, 'decisions are kept as they are'); END;
CREATE TRIGGER signer_usage_only_rises BEFORE UPDATE ON signer_usage
  WHEN NEW.statements < OLD.statements OR NEW.manifests < OLD.manifests OR NEW.bytes < OLD.bytes
  BEGIN SELECT RAISE(ABORT, 'what was signed stays counted'); END;
CREATE TRIGGER signer_usage_keep_delete BEFORE DELETE ON signer_usage
  BEGIN SELECT RAISE(ABORT, 'what was signed stays counted'); END;
CREATE TRIGGER versions_only_rise BEFORE UPDATE ON versions WHEN NEW.value <= OLD.value
BEGIN SELECT RAISE(ABORT, 'a version only rises'); END;
CREATE TRIGGER versions_keep_delete BEFORE DELETE ON versions
BEGIN SELECT RAISE(ABORT, 'versions are kept'); END;
CREATE TRIGGER statement_changes_keep_update BEFORE UPDATE ON statement_changes
BEGIN SELECT RAISE(ABORT, 'changes of statements are kept as they are'); END;
CREATE TRIGGER statement_changes_keep_delete BEFORE DELETE ON statement_changes
BEGIN SELECT RAISE(ABORT, 'changes of statements are kept as they are'); END;
CREATE TRIGGER statements_keep_update BEFORE UPDATE ON statements
BEGIN SELECT RAISE(ABORT, 'statements are kept as they are'); END;
CREATE TRIGGER statements_keep_delete BEFORE DELETE ON statements
BEGIN SELECT RAISE(ABORT, 'statements are kept as they are'); END;
