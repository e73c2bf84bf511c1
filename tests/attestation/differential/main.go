// SPDX-License-Identifier: Apache-2.0

// Says what github.com/google/go-tdx-guest makes of TDX quotes with their collateral.
//
// Input: lines of JSON, {"id","quote","collateral","root","time"}: names of files, "root" of a DER
// certificate. Output: a line "id, tab, accepted" or "id, tab, rejected: why" for each. Nothing is
// fetched: what the library asks for comes from the collateral.
package main

import (
	"bufio"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/go-tdx-guest/abi"
	"github.com/google/go-tdx-guest/verify"
)

type testCase struct {
	ID         string `json:"id"`
	Quote      string `json:"quote"`
	Collateral string `json:"collateral"`
	Root       string `json:"root"`
	Time       string `json:"time"`
}

// collateral answers as Intel's service would.
type collateral map[string]string

func (c collateral) chain(header, member string) map[string][]string {
	return map[string][]string{header: {url.QueryEscape(c[member])}}
}

func (c collateral) Get(address string) (map[string][]string, []byte, error) {
	switch {
	case strings.Contains(address, "/pckcrl"):
		der, err := hex.DecodeString(c["pck_crl"])
		return c.chain("Sgx-Pck-Crl-Issuer-Chain", "pck_crl_issuer_chain"), der, err
	case strings.Contains(address, "/tcb?"):
		body := `{"tcbInfo":` + c["tcb_info"] + `,"signature":"` + c["tcb_info_signature"] + `"}`
		return c.chain("Tcb-Info-Issuer-Chain", "tcb_info_issuer_chain"), []byte(body), nil
	case strings.Contains(address, "/qe/identity"):
		body := `{"enclaveIdentity":` + c["qe_identity"] + `,"signature":"` +
			c["qe_identity_signature"] + `"}`
		return c.chain("Sgx-Enclave-Identity-Issuer-Chain", "qe_identity_issuer_chain"),
			[]byte(body), nil
	}
	der, err := hex.DecodeString(c["root_ca_crl"])
	return nil, der, err
}

func readCollateral(path string) (collateral, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	// Other members than texts are not of these nine.
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	read := collateral{}
	for name, value := range members {
		if part, ok := value.(string); ok {
			read[name] = part
		}
	}
	return read, nil
}

func judge(test testCase) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	quote, err := os.ReadFile(test.Quote)
	if err != nil {
		return err
	}
	parts, err := readCollateral(test.Collateral)
	if err != nil {
		return err
	}
	der, err := os.ReadFile(test.Root)
	if err != nil {
		return err
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	now, err := time.Parse(time.RFC3339, test.Time)
	if err != nil {
		return err
	}
	parsed, err := abi.QuoteToProto(quote)
	if err != nil {
		return err
	}
	return verify.TdxQuote(parsed, &verify.Options{
		CheckRevocations: true,
		GetCollateral:    true,
		Getter:           parts,
		Now:              now,
		TrustedRoots:     roots,
	})
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	for input.Scan() {
		var test testCase
		if err := json.Unmarshal(input.Bytes(), &test); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		verdict := "accepted"
		if err := judge(test); err != nil {
			verdict = "rejected: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Printf("%s\t%s\n", test.ID, verdict)
	}
}
