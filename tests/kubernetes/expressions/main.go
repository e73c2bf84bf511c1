// SPDX-License-Identifier: Apache-2.0
// Evaluates ValidatingAdmissionPolicies with the CEL library of the API server, for tests that have no
// API server. Reads a file of policies and cases from standard input, and writes what each case came
// to: "allow", the message of the validation that failed, or "error: ...". Objects are untyped, as they
// are when the API server evaluates them; the types of Kubernetes are not checked here.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/google/cel-go/cel"
	"sigs.k8s.io/yaml"
)

type named struct{ Name, Expression, Message string }

type policy struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct{ MatchConditions, Variables, Validations []named }
}

type request struct {
	Policy                     string
	Object, OldObject, Request any
}

// One evaluation; variables are known to the expressions behind them.
type evaluation struct {
	env    *cel.Env
	inputs map[string]any
}

func (e evaluation) of(text string) (any, error) {
	ast, issues := e.env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := e.env.Program(ast)
	if err != nil {
		return nil, err
	}
	value, _, err := program.Eval(e.inputs)
	return value, err
}

func (e evaluation) holds(text string) (bool, error) {
	value, err := e.of(text)
	if err != nil {
		return false, err
	}
	return fmt.Sprint(value) == "true", nil
}

func judge(p policy, r request) (string, error) {
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.HomogeneousAggregateLiterals(),
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.DynType),
		cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType)))
	if err != nil {
		return "", err
	}
	variables := map[string]any{}
	e := evaluation{env, map[string]any{"object": r.Object, "oldObject": r.OldObject,
		"request": r.Request, "variables": variables}}
	for _, condition := range p.Spec.MatchConditions {
		if holds, err := e.holds(condition.Expression); err != nil || !holds {
			return "allow", err
		}
	}
	for _, variable := range p.Spec.Variables {
		if variables[variable.Name], err = e.of(variable.Expression); err != nil {
			return "", err
		}
	}
	for _, validation := range p.Spec.Validations {
		if holds, err := e.holds(validation.Expression); err != nil || !holds {
			return validation.Message, err
		}
	}
	return "allow", nil
}

func run(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	policies := map[string]policy{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var one policy
		if err := yaml.Unmarshal([]byte(document), &one); err != nil {
			return err
		}
		if one.Kind == "ValidatingAdmissionPolicy" {
			policies[one.Metadata.Name] = one
		}
	}
	var requests []request
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		return err
	}
	answers := []string{}
	for _, one := range requests {
		found, known := policies[one.Policy]
		if !known {
			return fmt.Errorf("no policy %s", one.Policy)
		}
		answer, err := judge(found, one)
		if err != nil {
			answer = "error: " + err.Error()
		}
		answers = append(answers, answer)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
