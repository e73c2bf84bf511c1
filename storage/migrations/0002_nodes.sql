-- SPDX-License-Identifier: Apache-2.0
-- Nodes: challenges, registrations, enrolments, verification jobs, outlines, admitted pods, claims,
-- appraisals, evidence. Rows change
-- as nodes and jobs go on; what happened stands in documents and log. Conventions as in
-- 0001_initial.sql. JSON columns hold canonical JSON (RFC 8785).

-- --- challenges

CREATE TABLE challenges (
  nonce BLOB NOT NULL PRIMARY KEY CHECK (length(nonce) = 32),
  principal TEXT NOT NULL,
  purpose TEXT NOT NULL,
  node TEXT NOT NULL,
  job TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at INTEGER,
  issued_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX challenges_by_expiry ON challenges (expires_at);

-- --- nodes

CREATE TABLE nodes (
  name TEXT NOT NULL PRIMARY KEY,
  principal TEXT NOT NULL,
  key BLOB NOT NULL UNIQUE,
  public_key BLOB NOT NULL,
  platform TEXT NOT NULL,
  enrolled_at INTEGER NOT NULL,
  held_since INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER,
  revoked_reason TEXT,
  devices TEXT NOT NULL,
  enrolment BLOB NOT NULL REFERENCES documents (id),
  appraisal BLOB REFERENCES documents (id),
  appraised_at INTEGER,
  evidence_type TEXT,
  tcb_status TEXT,
  anchor BLOB,
  anchor_is_vendor INTEGER CHECK (anchor_is_vendor IN (0, 1)),
  log_index INTEGER NOT NULL REFERENCES log_records (idx),
  registration TEXT NOT NULL,
  ended_at INTEGER,
  ended_reason TEXT,
  superseded INTEGER NOT NULL CHECK (superseded >= 0),
  superseded_at INTEGER,
  superseded_key TEXT NOT NULL,
  device_evidence TEXT NOT NULL,
  CHECK ((superseded_at IS NULL) = (superseded = 0)),
  CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL)),
  CHECK ((ended_at IS NULL) = (ended_reason IS NULL)),
  CHECK ((appraisal IS NULL) = (appraised_at IS NULL)),
  CHECK ((appraisal IS NULL) = (evidence_type IS NULL)),
  CHECK ((appraisal IS NULL) = (tcb_status IS NULL)),
  CHECK ((appraisal IS NULL) = (anchor IS NULL)),
  CHECK ((appraisal IS NULL) = (anchor_is_vendor IS NULL))
) STRICT;
CREATE INDEX nodes_by_platform ON nodes (platform, expires_at);

-- Every key that a node ever had. A key never moves to another node, not even when it is no longer
-- used.
CREATE TABLE node_keys (
  key BLOB NOT NULL PRIMARY KEY,
  node TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- --- jobs

-- `seq` counts jobs in the order in which they were made, `finish_order` in the order in which they
-- ended: times may go back with the clock, these do not.
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  artifact TEXT NOT NULL,
  model_name TEXT NOT NULL,
  scope TEXT NOT NULL,
  node TEXT NOT NULL,
  location TEXT NOT NULL,
  pod TEXT NOT NULL,
  pod_volume TEXT NOT NULL,
  instance TEXT NOT NULL,
  subset TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  log_index INTEGER NOT NULL REFERENCES log_records (idx),
  state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 5),
  finished INTEGER NOT NULL CHECK (finished = (state = 5)),
  token INTEGER NOT NULL CHECK (token >= 0),
  lease_expires_at INTEGER,
  pending TEXT NOT NULL,
  result TEXT NOT NULL CHECK ((result = '') = (state <> 5)),
  detail TEXT NOT NULL,
  report BLOB REFERENCES documents (id),
  volume TEXT NOT NULL,
  read_since INTEGER,
  worker_measured INTEGER NOT NULL CHECK (worker_measured IN (0, 1)),
  finished_at INTEGER CHECK ((finished_at IS NULL) = (state <> 5)),
  finish_order INTEGER UNIQUE CHECK ((finish_order IS NULL) = (state <> 5)),
  CHECK (instance <> '' OR location <> '' OR pod <> ''),
  CHECK (instance <> '' OR (pod = '') = (pod_volume = '')),
  CHECK (instance = '' OR (location = '' AND pod_volume = '')),
  CHECK (state <> 5 OR (report IS NULL) = (read_since IS NULL))
) STRICT;
CREATE INDEX jobs_by_node ON jobs (node);
CREATE INDEX jobs_by_artifact ON jobs (artifact);
CREATE INDEX jobs_by_finished ON jobs (finished);
CREATE INDEX jobs_by_node_artifact ON jobs (node, artifact);
CREATE INDEX jobs_by_node_finished ON jobs (node, finished);
CREATE INDEX jobs_by_artifact_finished ON jobs (artifact, finished);
CREATE INDEX jobs_by_node_artifact_finished ON jobs (node, artifact, finished);
-- What is known of the bytes at each place (node, artifact, scope, pod, location, volume,
-- instance): the
-- newest finished job whose report counts (a part that is right says nothing of the rest), and the
-- open jobs that may speak against it, as JSON. `against`: when a report last spoke against the bytes;
-- one that verified them counts only when its lease began after that. No index stands between a decision and this row: an
-- index that forgets a job must not hide a doubt, or make an older report the newest.
CREATE TABLE newest_reports (
  place TEXT NOT NULL PRIMARY KEY,
  newest INTEGER REFERENCES jobs (seq),
  doubts TEXT NOT NULL,
  against INTEGER
) STRICT, WITHOUT ROWID;

-- How many of those places there are for (node, artifact, scope, pod): a list that is short shows.
CREATE TABLE report_groups (
  name TEXT NOT NULL PRIMARY KEY,
  places INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- --- what else belongs to models, pods and evidence

CREATE TABLE outlines (
  artifact TEXT NOT NULL PRIMARY KEY,
  document BLOB NOT NULL REFERENCES documents (id)
) STRICT, WITHOUT ROWID;

-- Admitted pods, by the cluster that they run in and their uid: names are used again.
CREATE TABLE pods (
  cluster TEXT NOT NULL,
  uid TEXT NOT NULL,
  name_space TEXT NOT NULL,
  name TEXT NOT NULL,
  nodes TEXT NOT NULL,
  settled TEXT NOT NULL,
  bound INTEGER NOT NULL CHECK (bound = (nodes <> '[]' OR settled <> '')),
  decision TEXT NOT NULL,
  models TEXT NOT NULL,
  workload TEXT NOT NULL,
  admitted_at INTEGER NOT NULL,
  PRIMARY KEY (cluster, uid)
) STRICT, WITHOUT ROWID;
CREATE INDEX pods_by_age ON pods (bound, admitted_at);

-- Which volume is behind a persistent volume claim.
CREATE TABLE claims (
  cluster TEXT NOT NULL,
  name_space TEXT NOT NULL,
  name TEXT NOT NULL,
  uid TEXT NOT NULL,
  volume TEXT NOT NULL,
  since INTEGER NOT NULL,
  seen_at INTEGER NOT NULL CHECK (seen_at >= since),
  PRIMARY KEY (cluster, name_space, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_by_age ON claims (seen_at);

-- `collateral`: the newest that was seen with this value.
CREATE TABLE high_waters (
  name TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL CHECK (value >= 0),
  collateral BLOB REFERENCES documents (id)
) STRICT, WITHOUT ROWID;

-- Evidence that an enrolment, a report or a statement stands on, and how it was last appraised. `seen` is the
-- generation at that time: what is older than the newest generation is to be appraised again.
CREATE TABLE evidence (
  subject TEXT NOT NULL PRIMARY KEY,
  node TEXT NOT NULL,
  type TEXT NOT NULL,
  evidence BLOB NOT NULL REFERENCES documents (id),
  expected BLOB NOT NULL CHECK (length(expected) = 64),
  platform TEXT NOT NULL,
  policy BLOB NOT NULL,
  error TEXT NOT NULL,
  appraisal BLOB NOT NULL REFERENCES documents (id),
  appraised_at INTEGER NOT NULL,
  tcb_status TEXT NOT NULL,
  anchor BLOB,
  anchor_is_vendor INTEGER NOT NULL CHECK (anchor_is_vendor IN (0, 1)),
  marks TEXT NOT NULL,
  seen INTEGER NOT NULL CHECK (seen >= 0),
  stage TEXT NOT NULL,
  matched TEXT NOT NULL,
  boot TEXT,
  valid_until INTEGER,
  look_at INTEGER,
  device TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_by_seen ON evidence (seen, subject);
CREATE INDEX evidence_by_look ON evidence (look_at, subject) WHERE look_at IS NOT NULL;

-- Moves with every appraisal that is put and every high-water mark that rises.
CREATE TABLE evidence_generation (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  value INTEGER NOT NULL CHECK (value >= 0)
) STRICT;
INSERT INTO evidence_generation (only, value) VALUES (1, 0);

-- --- what never changes again

CREATE TRIGGER challenges_stay_used BEFORE UPDATE ON challenges WHEN OLD.used_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a nonce is used once'); END;
CREATE TRIGGER nodes_keep_delete BEFORE DELETE ON nodes
BEGIN SELECT RAISE(ABORT, 'nodes are kept'); END;
CREATE TRIGGER nodes_stay_revoked BEFORE UPDATE ON nodes
WHEN OLD.revoked_at IS NOT NULL
  AND (NEW.revoked_at IS NOT OLD.revoked_at OR NEW.revoked_reason IS NOT OLD.revoked_reason)
BEGIN SELECT RAISE(ABORT, 'a revoked node stays revoked'); END;
CREATE TRIGGER node_keys_keep_update BEFORE UPDATE ON node_keys
BEGIN SELECT RAISE(ABORT, 'keys of nodes are remembered'); END;
CREATE TRIGGER node_keys_keep_delete BEFORE DELETE ON node_keys
BEGIN SELECT RAISE(ABORT, 'keys of nodes are remembered'); END;
CREATE TRIGGER jobs_stay_finished BEFORE UPDATE ON jobs WHEN OLD.finished = 1
BEGIN SELECT RAISE(ABORT, 'a finished job is kept as it is'); END;
CREATE TRIGGER jobs_keep_delete BEFORE DELETE ON jobs
BEGIN SELECT RAISE(ABORT, 'jobs are kept'); END;
CREATE TRIGGER outlines_keep_update BEFORE UPDATE ON outlines
BEGIN SELECT RAISE(ABORT, 'the first outline stays'); END;
CREATE TRIGGER outlines_keep_delete BEFORE DELETE ON outlines
BEGIN SELECT RAISE(ABORT, 'the first outline stays'); END;
CREATE TRIGGER high_waters_never_fall BEFORE UPDATE ON high_waters WHEN NEW.value < OLD.value
BEGIN SELECT RAISE(ABORT, 'a high-water mark never falls'); END;
