package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/record"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// suiteWriter writes examples as test cases of the candidate. Masked values are as in the records.
type suiteWriter struct {
	folder string
	files  map[string][]byte
	side   *side
	// cases are those of each policy, as source/policy.
	cases map[string][]suiteCase
}

// suiteCase is one example for one policy.
type suiteCase struct {
	result *core.Result
	record *record.Record
	rules  []string // of the policy, that make the difference
	denied bool     // that the candidate gives a finding
}

// writeSuite writes the examples that a policy of the candidate decides.
func writeSuite(ctx context.Context, folder string, candidate *side, replayer *core.Replayer, tally *core.Tally) error {
	w := &suiteWriter{folder: folder, files: map[string][]byte{}, side: candidate, cases: map[string][]suiteCase{}}
	for _, example := range tally.Examples {
		if example.Outcome != core.NewlyDenied && example.Outcome != core.NewlyAdmitted && example.Outcome != core.WarningsChanged {
			continue
		}
		least := replayer.Minimize(ctx, example)
		if least == nil {
			continue
		}
		byPolicy := map[string]suiteCase{}
		for denied, found := range map[bool][]record.Finding{
			true: slices.Concat(example.After.Denials, example.After.Warnings), false: slices.Concat(example.Before.Denials, example.Before.Warnings),
		} {
			for _, f := range found {
				one, known := byPolicy[f.Source+"/"+f.Policy]
				if f.Error || known && !denied {
					continue
				}
				one.result, one.record, one.denied = example, least, denied
				if !slices.Contains(one.rules, f.Rule) {
					one.rules = append(one.rules, f.Rule)
				}
				byPolicy[f.Source+"/"+f.Policy] = one
			}
		}
		for name, one := range byPolicy {
			w.cases[name] = append(w.cases[name], one)
		}
	}
	for _, info := range candidate.snapshot.Policies() {
		if cases := w.cases[info.Source+"/"+info.Package]; len(cases) > 0 {
			if err := w.add(info, cases); err != nil {
				return err
			}
		}
	}
	return w.write()
}

func (w *suiteWriter) write() error {
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		file := filepath.Join(w.folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("writing the test cases: %w", err)
		}
		if err := os.WriteFile(file, w.files[name], 0o600); err != nil {
			return fmt.Errorf("writing the test cases: %w", err)
		}
	}
	return nil
}

func (w *suiteWriter) add(info engine.PolicyInfo, cases []suiteCase) error {
	i := slices.IndexFunc(w.side.sources, func(s sources.Source) bool { return s.Name == info.Source })
	if info.AnyVersion { // of a template, or an admission policy
		return w.addSuite(w.side.sources[i], info, cases)
	}
	return w.addRego(w.side.sources[i], info, cases)
}

var unsafeName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// fileName is a policy as the name of a file.
func fileName(policy string) string {
	return strings.Trim(unsafeName.ReplaceAllString(policy, "_"), ".")
}

// addRego writes Rego tests. A test calls the rules with the input of the engine.
func (w *suiteWriter) addRego(s sources.Source, info engine.PolicyInfo, cases []suiteCase) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Recorded requests, written by lintel replay.\npackage %s_replay_test\n\nimport rego.v1\n\n", info.Package)
	for n, one := range cases {
		in, err := regoInput(one.record, s.Parameters)
		if err != nil {
			return err
		}
		not := ""
		if !one.denied {
			not = "not "
		}
		fmt.Fprintf(&b, "# %s by %s at %s\ntest_%s_%d if {\n", commentText(one.result.Title()), commentText(one.result.User), one.result.Time.UTC().Format(time.RFC3339), strings.ToLower(string(one.result.Outcome)), n+1)
		for _, rule := range one.rules {
			with := fmt.Sprintf("with input as input_%d", n+1)
			if cluster := clusterDocument(one.record); cluster != nil {
				text, err := json.Marshal(cluster)
				if err != nil {
					return fmt.Errorf("writing the test cases: %w", err)
				}
				with += " with data.cluster as " + string(text)
			}
			if info.Clock {
				with += fmt.Sprintf(" with time.now_ns as %d", one.record.Time.UnixNano())
			}
			fmt.Fprintf(&b, "\t%sis_finding(data.%s.%s) %s\n", not, info.Package, rule, with)
		}
		fmt.Fprintf(&b, "}\n\ninput_%d := %s\n\n", n+1, in)
	}
	b.WriteString("# is_finding holds for a value by which a rule denies or warns.\nis_finding(value) if not value in [false, \"\", set(), [], {}]\n")
	w.files[fileName(info.Source+"."+info.Package)+"_replay_test.rego"] = b.Bytes()
	return nil
}

// commentText is a text in one line.
func commentText(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// regoInput is the input document of a policy.
func regoInput(r *record.Record, parameters []byte) (string, error) {
	var request struct {
		Name   string `json:"name"`
		Object struct {
			Metadata struct {
				Name         string `json:"name"`
				GenerateName string `json:"generateName"`
			} `json:"metadata"`
		} `json:"object"`
	}
	if err := json.Unmarshal(r.Request, &request); err != nil {
		return "", fmt.Errorf("writing the test cases: %w", err)
	}
	in := map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": r.Request,
		"name": firstOf(request.Name, request.Object.Metadata.Name, request.Object.Metadata.GenerateName), "parameters": json.RawMessage("{}"),
	}
	if len(parameters) > 0 {
		in["parameters"] = json.RawMessage(parameters)
	}
	if len(r.Namespace) > 0 && string(r.Namespace) != "null" {
		in["namespace"] = r.Namespace
	}
	text, err := json.MarshalIndent(in, "", "\t")
	if err != nil {
		return "", fmt.Errorf("writing the test cases: %w", err)
	}
	return string(text), nil
}

func firstOf(names ...string) string {
	for _, name := range names {
		if name != "" {
			return name
		}
	}
	return ""
}

// clusterDocument is data.cluster: nil if the record has none.
func clusterDocument(r *record.Record) map[string]map[string]map[string]json.RawMessage {
	if len(r.Cluster) == 0 {
		return nil
	}
	all := map[string]map[string]map[string]json.RawMessage{}
	for _, data := range r.Cluster {
		byNamespace := map[string]map[string]json.RawMessage{}
		for _, object := range data.Objects {
			var about struct {
				Metadata struct {
					Namespace string `json:"namespace"`
					Name      string `json:"name"`
				} `json:"metadata"`
			}
			if json.Unmarshal(object, &about) != nil {
				continue
			}
			if byNamespace[about.Metadata.Namespace] == nil {
				byNamespace[about.Metadata.Namespace] = map[string]json.RawMessage{}
			}
			byNamespace[about.Metadata.Namespace][about.Metadata.Name] = object
		}
		all[data.Kind] = byNamespace
	}
	return all
}

// addSuite writes a Suite of Gatekeeper, with the template, the constraint and the requests. Those of an
// admission policy are the policy and its bindings.
func (w *suiteWriter) addSuite(s sources.Source, info engine.PolicyInfo, cases []suiteCase) error {
	objectsOf := gatekeeper.ObjectsOf
	if cel.IsPolicyName(info.Package) {
		objectsOf = cel.ObjectsOf
	}
	template, constraint, err := objectsOf(s.Files, info.Package)
	if err != nil {
		return fmt.Errorf("writing the test cases: %w", err)
	}
	folder := fileName(info.Source + "." + info.Package)
	w.files[folder+"/template.yaml"], w.files[folder+"/constraint.yaml"] = template, constraint
	var listed []map[string]any
	for n, one := range cases {
		name := fmt.Sprintf("case-%d.yaml", n+1)
		review, err := yaml.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": one.record.Request})
		if err != nil {
			return fmt.Errorf("writing the test cases: %w", err)
		}
		w.files[folder+"/"+name] = review
		entry := map[string]any{
			"name":   fmt.Sprintf("%s by %s at %s", one.result.Title(), one.result.User, one.result.Time.UTC().Format(time.RFC3339)),
			"object": name, "assertions": []map[string]any{{"violations": map[bool]string{true: "yes", false: "no"}[one.denied]}},
		}
		var inventory bytes.Buffer
		for _, data := range one.record.Cluster {
			for _, object := range data.Objects {
				fmt.Fprintf(&inventory, "---\n%s\n", object)
			}
		}
		if inventory.Len() > 0 {
			file := fmt.Sprintf("inventory-%d.yaml", n+1)
			w.files[folder+"/"+file] = inventory.Bytes()
			entry["inventory"] = []string{file}
		}
		listed = append(listed, entry)
	}
	suite, err := yaml.Marshal(map[string]any{
		"apiVersion": "test.gatekeeper.sh/v1alpha1", "kind": "Suite", "metadata": map[string]any{"name": "replay"},
		"tests": []map[string]any{{"name": info.Package, "template": "template.yaml", "constraint": "constraint.yaml", "cases": listed}},
	})
	if err != nil {
		return fmt.Errorf("writing the test cases: %w", err)
	}
	w.files[folder+"/suite.yaml"] = suite
	return nil
}
