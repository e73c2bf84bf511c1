// SPDX-License-Identifier: Apache-2.0

// Says which DSSE verifiers written in Go take an envelope, each with its own kind of key.
//
// Input: lines of JSON, {"id","envelope","keys"}: names of files, the keys in PEM. Output: three lines
// "id, tab, verifier, tab, accepted" or "..., tab, rejected: why" for each. An envelope is accepted
// when it has as many good signatures as there are keys.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	sigstore "github.com/sigstore/sigstore/pkg/signature/dsse"
)

type testCase struct {
	ID       string   `json:"id"`
	Envelope string   `json:"envelope"`
	Keys     []string `json:"keys"`
}

// withoutID is a key to which nobody gave a key id.
type withoutID struct{ dsse.Verifier }

func (withoutID) KeyID() (string, error) { return "", nil }

// ownKey is go-securesystemslib's own kind of key, with the key id that it derives.
func ownKey(pem []byte) (dsse.Verifier, error) {
	key, err := signerverifier.LoadKey(pem)
	if err != nil {
		return nil, err
	}
	if key.KeyType == signerverifier.ED25519KeyType {
		return signerverifier.NewED25519SignerVerifierFromSSLibKey(key)
	}
	return signerverifier.NewECDSASignerVerifierFromSSLibKey(key)
}

func unnamedKey(pem []byte) (dsse.Verifier, error) {
	key, err := ownKey(pem)
	return withoutID{key}, err
}

func bySecureSystems(load func([]byte) (dsse.Verifier, error), text []byte, pems [][]byte) error {
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		return err
	}
	var keys []dsse.Verifier
	for _, pem := range pems {
		key, err := load(pem)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	verifier, err := dsse.NewMultiEnvelopeVerifier(len(keys), keys...)
	if err != nil {
		return err
	}
	_, err = verifier.Verify(context.Background(), &envelope)
	return err
}

// bySigstore asks for each key by itself: the package takes one.
func bySigstore(text []byte, pems [][]byte) error {
	for _, pem := range pems {
		var public crypto.PublicKey
		public, err := cryptoutils.UnmarshalPEMToPublicKey(pem)
		if err != nil {
			return err
		}
		verifier, err := signature.LoadDefaultVerifier(public)
		if err != nil {
			return err
		}
		err = sigstore.WrapVerifier(verifier).VerifySignature(bytes.NewReader(text), nil)
		if err != nil {
			return err
		}
	}
	return nil
}

func judge(one testCase) (map[string]error, error) {
	text, err := os.ReadFile(one.Envelope)
	var pems [][]byte
	for _, name := range one.Keys {
		pem, failed := os.ReadFile(name)
		err = errors.Join(err, failed)
		pems = append(pems, pem)
	}
	return map[string]error{
		"go-securesystemslib": bySecureSystems(unnamedKey, text, pems),
		"its-own-key":         bySecureSystems(ownKey, text, pems),
		"sigstore":            bySigstore(text, pems),
	}, err
}

func run() error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var one testCase
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return err
		}
		verdicts, err := judge(one)
		if err != nil {
			return err
		}
		for name, verdict := range verdicts {
			said := "accepted"
			if verdict != nil {
				said = "rejected: " + strings.ReplaceAll(verdict.Error(), "\n", " ")
			}
			fmt.Printf("%s\t%s\t%s\n", one.ID, name, said)
		}
	}
	return lines.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
