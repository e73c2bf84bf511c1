#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a bare Debian 12, in the root of a clone, as root: types docs/installing.md, then starts the service
# as its unit says, without systemd, and asks it.
set -euo pipefail
cd "$(dirname -- "$0")/../.."

tests/e2e/walk.sh docs/installing.md

unit=/lib/systemd/system/assayd.service
[ "$(stat -c '%U %a' /var/lib/assay)" = "assayd 700" ]
# line NAME: what the unit says; programs are looked up as systemd does.
line() { sed -n "s/^$1=//p" "$unit"; }
as_unit() { (cd "$(line WorkingDirectory)" && umask "$(line UMask)" && exec runuser -u "$(line User)" -- "$@"); }
read -ra check < <(line ExecStartPre)
read -ra start < <(line ExecStart)
as_unit "${check[@]}"
as_unit "${start[@]}" 2>/tmp/assayd.log &
service=$!
trap 'kill $service 2>/dev/null; cat /tmp/assayd.log' EXIT

export ASSAY_SERVER=https://127.0.0.1:8443 ASSAY_CA=/etc/assay/tls.crt ASSAY_TOKEN_FILE=trial/token
tries=0
until assay status >/tmp/status 2>&1 || [ $? -eq 1 ]; do
    kill -0 "$service" && [ "$tries" -lt 100 ] || { cat /tmp/status; exit 1; }
    tries=$((tries + 1))
    sleep 0.1
done
cat /tmp/status
# Nothing of the build is used.
[ "$(command -v assay)" = /usr/bin/assay ]
[ "$(command -v assay-verifier-host)" = /usr/bin/assay-verifier-host ]
zgrep -q 'assay manifest verify' /usr/share/man/man1/assay-manifest-verify.1*
bash -c 'source /usr/share/bash-completion/completions/assay && complete -p assay'
# No one else reads the service's keys, and removing the packages leaves them.
! runuser -u nobody -- cat /var/lib/assay/log.pem 2>/dev/null
kill "$service" && wait "$service" || true
dpkg --remove assayd assay
[ -s /var/lib/assay/assay.db ]
trap - EXIT
echo "installed, asked and removed"
