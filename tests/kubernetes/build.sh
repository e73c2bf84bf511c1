#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the control plane (main.go) unless that was done, and prints the program's path.
#
# Usage: tests/kubernetes/build.sh DIR
#
# Exits with 77 and the reason where there is no Go that can build it. The first build downloads
# 600 MB of modules and takes 4 to 10 minutes on 2 processors; afterwards nothing is done until the
# sources or the version of Go change. ASSAY_KUBE=FILE takes a program that was built elsewhere.
set -u -o pipefail

VERSION=v1.35.4  # that of k8s.io/kubernetes in go.mod; the API server shows it
OLDEST_GO=25     # of go.mod: 1.25

skip() {
  echo "$1" >&2
  exit 77
}

if [ -n "${ASSAY_KUBE:-}" ]; then
  echo "$ASSAY_KUBE"
  exit 0
fi
mkdir -p "$1" && DIR=$(cd "$1" && pwd) || exit 2
cd "$(dirname -- "$0")" || exit 2

command -v go >/dev/null || skip "there is no Go (1.$OLDEST_GO or newer; Debian 12 has 1.19)"
export GOTOOLCHAIN=local CGO_ENABLED=0
RELEASE=$(go env GOVERSION)
[[ $RELEASE =~ ^go1\.([0-9]+) && ${BASH_REMATCH[1]} -ge $OLDEST_GO ]] ||
  skip "Go is $RELEASE, and 1.$OLDEST_GO or newer is needed"

WANTED=$(cat go.mod go.sum main.go <(echo "$RELEASE") | sha256sum | cut -c1-16)
PROGRAM=$DIR/kube-$WANTED
if [ ! -x "$PROGRAM" ]; then
  echo "building Kubernetes $VERSION for tests: some minutes, once" >&2
  SHOWN="-X k8s.io/component-base/version.gitVersion=$VERSION"
  SHOWN+=" -X k8s.io/client-go/pkg/version.gitVersion=$VERSION"
  go build -trimpath -ldflags "-s -w $SHOWN" -o "$PROGRAM.new" . >&2 || exit 2
  rm -f "$DIR"/kube-????????????????
  mv "$PROGRAM.new" "$PROGRAM"
fi
echo "$PROGRAM"
