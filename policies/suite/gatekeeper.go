package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/manifest"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// suiteFile is one Suite of Gatekeeper.
type suiteFile struct {
	document manifest.Document
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Tests []suiteTest `json:"tests"`
	Skip  bool        `json:"skip"`
}

type suiteTest struct {
	Name       string      `json:"name"`
	Template   string      `json:"template"`
	Constraint string      `json:"constraint"`
	Expansion  string      `json:"expansion"`
	Cases      []suiteCase `json:"cases"`
	Invalid    bool        `json:"invalid"`
	Skip       bool        `json:"skip"`
}

type suiteCase struct {
	Name       string      `json:"name"`
	Object     string      `json:"object"`
	Inventory  []string    `json:"inventory"`
	Assertions []assertion `json:"assertions"`
	Skip       bool        `json:"skip"`
	// Request is nil in the Suites of Gatekeeper.
	Request *caseRequest `json:"request"`
}

// runSuites runs the Suites in the YAML files of the source.
func (r *runner) runSuites(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.source.Files)) {
		suites, err := readSuites(name, r.source.Files[name])
		if err != nil {
			return err
		}
		for _, suite := range suites {
			r.results.Totals.Suites++
			for _, test := range suite.Tests {
				if ctx.Err() != nil {
					return fmt.Errorf("running the tests: %w", ctx.Err())
				}
				r.results.Totals.Tests++
				r.runTest(ctx, suite, test)
			}
		}
	}
	return nil
}

func mayHoldSuites(name, text string) bool {
	ext := path.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && strings.Contains(text, "test.gatekeeper.sh/")
}

// readSuites reads the Suites of a file.
func readSuites(name, text string) ([]suiteFile, error) {
	if !mayHoldSuites(name, text) {
		return nil, nil
	}
	documents, err := manifest.Read(name, []byte(text))
	if err != nil {
		return nil, definition.CompileErrorList{{Message: err.Error()}}
	}
	var suites []suiteFile
	for _, d := range documents {
		var header struct{ APIVersion, Kind string }
		if err := json.Unmarshal(d.JSON, &header); err != nil || header.Kind != "Suite" || !strings.HasPrefix(header.APIVersion, "test.gatekeeper.sh/") {
			continue
		}
		suite := suiteFile{document: d}
		var known struct {
			APIVersion string         `json:"apiVersion"`
			Kind       string         `json:"kind"`
			Metadata   map[string]any `json:"metadata"`
			Tests      []suiteTest    `json:"tests"`
			Skip       bool           `json:"skip"`
		}
		strict := json.NewDecoder(bytes.NewReader(d.JSON))
		strict.DisallowUnknownFields() // a misspelled field would drop assertions
		if err := strict.Decode(&known); err != nil {
			return nil, definition.CompileErrorList{{File: d.File, Line: d.Line, Message: fmt.Sprintf("the Suite cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))}}
		}
		if err := json.Unmarshal(d.JSON, &suite); err != nil {
			return nil, definition.CompileErrorList{{File: d.File, Line: d.Line, Message: fmt.Sprintf("the Suite cannot be read: %v", err)}}
		}
		suites = append(suites, suite)
	}
	return suites, nil
}

// base contains the settings common to the cases of a test.
func (s suiteFile) base(test suiteTest) Case {
	return Case{File: s.document.File, Line: s.document.Line, Suite: s.Metadata.Name, Test: test.Name}
}

// path is a path in a Suite, as one of the source's.
func (s suiteFile) path(relative string) string {
	return path.Join(path.Dir(s.document.File), relative)
}

func (r *runner) runTest(ctx context.Context, suite suiteFile, test suiteTest) {
	base := suite.base(test)
	start := time.Now()
	end := func(outcome Outcome, format string, args ...any) {
		base.Outcome, base.Message, base.Duration = outcome, fmt.Sprintf(format, args...), time.Since(start)
		r.add(base)
	}
	if suite.Skip || test.Skip {
		end(Skipped, "")
		return
	}
	objects, err := r.readCases(suite, test)
	if err != nil {
		end(Errored, "%v", err)
		return
	}
	set, err := r.compile(suite, test, objects)
	invalid, isInvalid := err.(definition.CompileErrorList)
	switch {
	case test.Invalid && isInvalid && isAbout(invalid, suite.path(test.Constraint)):
		end(Passed, "")
		return
	case test.Invalid && err == nil:
		end(Failed, "the constraint is valid, and the test says that it is not")
		return
	case err != nil:
		end(Errored, "%v", err)
		return
	}
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	for i, c := range test.Cases {
		r.runCase(ctx, snapshot, base, c, objects[i])
	}
}

// isAbout reports that only this file has errors.
func isAbout(errs definition.CompileErrorList, file string) bool {
	return !slices.ContainsFunc(errs, func(err definition.CompileError) bool { return err.File != file })
}

// compile compiles the template and the constraint of a test, and nothing else.
func (r *runner) compile(suite suiteFile, test suiteTest, objects []caseInput) (*engine.PolicySet, error) {
	files := map[string]string{}
	for field, name := range map[string]string{"template": test.Template, "constraint": test.Constraint, "expansion": test.Expansion} {
		if name == "" && field == "expansion" {
			continue
		}
		if name == "" {
			return nil, fmt.Errorf("the test names no %s", field)
		}
		text, ok := r.source.Files[suite.path(name)]
		if !ok {
			return nil, fmt.Errorf("%s %s is not among the files of the source", field, suite.path(name))
		}
		files[suite.path(name)] = text
	}
	var inventory []admission.GroupVersionKind
	for _, one := range objects {
		for _, kind := range one.kinds {
			if !slices.Contains(inventory, kind) {
				inventory = append(inventory, kind)
			}
		}
	}
	source := definition.Source{Name: r.source.Name, Files: files, AdmissionPolicies: true}
	set, err := policyset.CompileForTest(source, gatekeeper.TestDialect(inventory), cel.Dialect)
	if err != nil {
		return nil, err
	}
	if r.coverage != nil {
		maps.Copy(r.coverage.modules, gatekeeper.Modules(files))
	}
	if set.Policies() != 1 {
		return nil, fmt.Errorf("%s holds %d constraints that gator enforces, or ValidatingAdmissionPolicies; a test has one", suite.path(test.Constraint), set.Policies())
	}
	return set, nil
}

// runCase asks about the object of a case, and compares.
func (r *runner) runCase(ctx context.Context, snapshot *engine.Snapshot, base Case, c suiteCase, objects caseInput) {
	start := time.Now()
	base.Name, base.Outcome = c.Name, Passed
	defer func() {
		base.Duration = time.Since(start)
		r.add(base)
	}()
	if c.Skip {
		base.Outcome = Skipped
		return
	}
	printed := &boundedBuffer{}
	options := engine.Options{Namespace: objects.namespace, Cluster: objects.cluster, Print: topdown.NewPrintHook(printed)}
	if r.coverage != nil {
		options.Coverage = &r.coverage.reached
	}
	decision := snapshot.Evaluate(ctx, objects.review, options)
	violations, err := violations(decision)
	base.Steps, base.Output = decision.Steps, printed.String()
	if err != nil {
		base.Outcome, base.Message = Errored, err.Error()
		return
	}
	for _, a := range c.Assertions {
		if err := a.check(violations); err != nil {
			base.Outcome, base.Message = Failed, err.Error()
			return
		}
	}
}

// violations are the messages of a decision, each once for all that it is about.
func violations(decision *engine.Decision) ([]string, error) {
	seen := map[string]bool{}
	var out []string
	for _, findings := range [][]engine.Finding{decision.Denials, decision.Warnings, decision.Audits} {
		for _, finding := range findings {
			if finding.Error {
				return nil, fmt.Errorf("%s (%s)", finding.Words, finding.Location)
			}
			details, err := json.Marshal(finding.Details)
			if err != nil {
				return nil, fmt.Errorf("reading the details of a violation: %w", err)
			}
			if key := finding.Words + "\x00" + string(details); !seen[key] {
				seen[key] = true
				out = append(out, finding.Words)
			}
		}
	}
	return out, nil
}

// boundedBuffer stores the first bytes written to it and drops the rest.
type boundedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *boundedBuffer) Write(text []byte) (int, error) {
	if room := MaxOutputBytes + 1 - b.Len(); room > 0 {
		b.Buffer.Write(text[:min(room, len(text))])
	}
	return len(text), nil
}
