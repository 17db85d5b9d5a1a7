package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

const (
	maxAnswer = 10 << 20
	maxFacts  = 32 << 20
)

// unknownNode is that the endpoint has answered 404.
type unknownNode struct{ server string }

// Error says who does not know it.
func (u *unknownNode) Error() string { return u.server + " does not know the node (404)" }

// accepted are the media types of answers, by their format.
var accepted = map[string]string{
	"json": "application/json",
	"yaml": "application/yaml, application/x-yaml, text/yaml",
}

// ask has the endpoint classify a node.
func ask(ctx context.Context, c endpoints.Classifier, certname string, warn func(string)) ([]byte, error) {
	target, err := c.Target(certname)
	if err != nil {
		return nil, err
	}
	call := endpoints.Call{Method: c.Method, URL: target, Accept: accepted[c.ResponseFormat], Limit: maxAnswer}
	if c.Body != endpoints.BodyNone {
		call.ContentType = "application/json"
		if call.Body, err = body(c, certname, warn); err != nil {
			return nil, err
		}
	}
	got, err := c.Do(ctx, call)
	if err != nil {
		return nil, err
	}
	switch {
	case got.Status == http.StatusNotFound:
		return nil, &unknownNode{c.Server()}
	case got.Status != http.StatusOK:
		return nil, fmt.Errorf("%s has answered %d %s", c.Server(), got.Status, http.StatusText(got.Status))
	}
	classes, err := read(got.Body, c.ResponseFormat)
	if err != nil {
		return nil, fmt.Errorf("the answer of %s is not a classification: %w", c.Server(), err)
	}
	return classes, nil
}

// body is the body of the request for a node.
func body(c endpoints.Classifier, certname string, warn func(string)) ([]byte, error) {
	if c.Body == endpoints.BodyCertname {
		return json.Marshal(map[string]string{"certname": certname})
	}
	facts, err := factsOf(c.FactsDirectory, certname)
	if errors.Is(err, fs.ErrNotExist) {
		warn(fmt.Sprintf("%s is classified without facts: the server has none of it yet in %s", certname, c.FactsDirectory))
		facts, err = json.RawMessage("{}"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the facts: %w", err)
	}
	if c.Body == endpoints.BodyPuppetEnterprise {
		return json.Marshal(map[string]any{"fact": facts, "trusted": map[string]string{"certname": certname}})
	}
	return json.Marshal(map[string]any{"certname": certname, "facts": facts})
}

// factsOf are those that the server has stored before it asks for a catalog.
func factsOf(folder, certname string) (json.RawMessage, error) {
	path := filepath.Join(folder, certname+".json")
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFacts {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFacts)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var stored struct {
		Name   string          `json:"name"`
		Values json.RawMessage `json:"values"`
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if stored.Name != certname || !bytes.HasPrefix(bytes.TrimSpace(stored.Values), []byte("{")) {
		return nil, fmt.Errorf("%s has no facts of %s", path, certname)
	}
	return stored.Values, nil
}

// classification is what Puppet reads. As JSON, which is YAML, it is the same to all readers
// of YAML: no string becomes a date, a number or a truth value.
type classification struct {
	Classes     json.RawMessage `json:"classes"`
	Parameters  json.RawMessage `json:"parameters"`
	Environment string          `json:"environment,omitempty"`
}

// read takes of an answer what Puppet knows.
func read(text []byte, format string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it is empty")
	}
	if format == "yaml" {
		var err error
		if text, err = yaml.YAMLToJSONStrict(text); err != nil {
			return nil, errors.New(firstLine(err))
		}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("it is not %s with classes, parameters and environment", format)
	}
	out := classification{Classes: fields["classes"], Parameters: fields["parameters"]}
	environment, named := fields["environment"]
	switch {
	case len(fields) > 0 && out.Classes == nil && out.Parameters == nil && !named:
		return nil, errors.New("it has none of classes, parameters and environment")
	case named && json.Unmarshal(environment, &out.Environment) != nil:
		return nil, errors.New("environment is not a string")
	}
	if out.Environment == agentSpecified {
		out.Environment = ""
	}
	if _, enterprise := fields["groups"]; enterprise {
		out.parametersOfClasses()
	}
	if isNull(out.Classes) {
		out.Classes = json.RawMessage("{}")
	}
	if isNull(out.Parameters) {
		out.Parameters = json.RawMessage("{}")
	}
	if json.Unmarshal(out.Classes, &map[string]any{}) != nil && json.Unmarshal(out.Classes, &[]string{}) != nil {
		return nil, errors.New("classes are neither names nor a mapping from names to parameters")
	}
	if json.Unmarshal(out.Parameters, &map[string]any{}) != nil {
		return nil, errors.New("parameters is not a mapping from names to values")
	}
	written, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(exponents.ReplaceAll(written, []byte("$1.0$2")), '\n'), nil
}

// agentSpecified is what the classifier of Puppet Enterprise answers for nodes that choose their
// environment by themselves. Without an environment, Puppet does as the node asks.
const agentSpecified = "agent-specified"

// parametersOfClasses reads the answer that Puppet Enterprise documents: the names of classes, and
// their parameters by class. Its classifier answers with classes and their parameters, and with
// variables as parameters, which stays as it is.
func (c *classification) parametersOfClasses() {
	var names []string
	var parameters map[string]map[string]json.RawMessage
	if json.Unmarshal(c.Classes, &names) != nil || json.Unmarshal(c.Parameters, &parameters) != nil {
		return
	}
	classes := map[string]map[string]json.RawMessage{}
	for _, name := range names {
		classes[name] = parameters[name]
	}
	for name := range parameters {
		if _, ok := classes[name]; !ok {
			return
		}
	}
	written, err := json.Marshal(classes)
	if err != nil {
		return
	}
	c.Classes, c.Parameters = written, nil
}

// exponents are numbers such as 1e+21 at the end of a line, which to Ruby's YAML are texts
// unless they have a point.
var exponents = regexp.MustCompile(`(?m)([ ]-?[0-9]+)([eE][+-]?[0-9]+,?$)`)

func isNull(value json.RawMessage) bool { return value == nil || string(value) == "null" }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
