package gator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type object = map[string]any

// suite is what this test reads of a Suite.
type suite struct {
	Tests []struct {
		Template, Constraint string
		Cases                []struct {
			Object    string
			Inventory []string
		}
	}
}

// population is a cluster with the templates, constraints and objects of all suites.
type population struct {
	policies, objects []object
	added             map[string]bool
}

// clusterScoped are the kinds of the samples without a namespace.
var clusterScoped = []string{"ClusterRole", "ClusterRoleBinding", "Namespace", "PersistentVolume", "StorageClass", "PodSecurityPolicy", "CustomResourceDefinition"}

// populate reads all suites of a folder. Each object gets a name of its own, as in a cluster.
func populate(t *testing.T, folder string) *population {
	t.Helper()
	p := &population{added: map[string]bool{}}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Name() == "suite.yaml" {
			p.addSuite(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	namespaces := map[string]bool{}
	for _, o := range p.objects {
		if metadata := metadataOf(o); metadata["namespace"] != nil {
			namespaces[fmt.Sprint(metadata["namespace"])] = true
		}
	}
	for name := range namespaces {
		if !p.added["Namespace/"+name] {
			p.objects = append(p.objects, object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}})
		}
	}
	return p
}

func (p *population) addSuite(t *testing.T, path string) {
	t.Helper()
	var s suite
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	folder := filepath.Dir(path)
	for _, test := range s.Tests {
		for _, template := range documents(t, filepath.Join(folder, test.Template)) {
			if name := fmt.Sprint(metadataOf(template)["name"]); !p.added["template/"+name] {
				p.added["template/"+name] = true
				p.policies = append(p.policies, template)
			}
		}
		file := filepath.Join(folder, test.Constraint)
		if p.added[file] {
			continue
		}
		p.added[file] = true
		for _, constraint := range documents(t, file) {
			p.rename(constraint)
			p.policies = append(p.policies, constraint)
		}
		for _, c := range test.Cases {
			for _, name := range append([]string{c.Object}, c.Inventory...) {
				p.addObjects(t, filepath.Join(folder, name))
			}
		}
	}
}

// removed are versions of Kubernetes' own kinds that no current cluster serves.
var removed = regexp.MustCompile(`^([^.]+|[^/]+\.k8s\.io)/v\d+(alpha|beta)\d+$`)

// addObjects leaves out objects that no cluster stores, such as AdmissionReviews.
func (p *population) addObjects(t *testing.T, file string) {
	t.Helper()
	if p.added[file] {
		return
	}
	p.added[file] = true
	for _, o := range documents(t, file) {
		kind := fmt.Sprint(o["kind"])
		metadata := metadataOf(o)
		if kind == "AdmissionReview" || metadata["name"] == nil || removed.MatchString(fmt.Sprint(o["apiVersion"])) {
			continue
		}
		switch {
		case slices.Contains(clusterScoped, kind):
			delete(metadata, "namespace")
		case metadata["namespace"] == nil:
			metadata["namespace"] = "default"
		}
		if kind == "Namespace" {
			if p.added["Namespace/"+fmt.Sprint(metadata["name"])] {
				continue
			}
			p.added["Namespace/"+fmt.Sprint(metadata["name"])] = true
		} else {
			p.rename(o)
		}
		p.objects = append(p.objects, o)
	}
}

// rename gives an object a name that no other one of its kind and namespace has.
func (p *population) rename(o object) {
	metadata := metadataOf(o)
	name := metadata["name"]
	for n := 2; ; n++ {
		id := fmt.Sprint(o["kind"], "/", metadata["namespace"], "/", metadata["name"])
		if !p.added[id] {
			p.added[id] = true
			return
		}
		metadata["name"] = fmt.Sprintf("%v-%d", name, n)
	}
}

// nameOf is "Pod namespace/name".
func nameOf(o object) string {
	metadata := metadataOf(o)
	namespace, _ := metadata["namespace"].(string)
	return fmt.Sprintf("%v %s/%v", o["kind"], namespace, metadata["name"])
}

func metadataOf(o object) object {
	metadata, _ := o["metadata"].(object)
	return metadata
}

func documents(t *testing.T, file string) (found []object) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range bytes.Split(append([]byte("\n"), text...), []byte("\n---")) {
		var o object
		if err := yaml.Unmarshal(part, &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if o != nil {
			found = append(found, o)
		}
	}
	return found
}

func write(t *testing.T, file string, objects []object) {
	t.Helper()
	var out bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// found are violations, as "constraint kind/name: object kind namespace/name: message", with how
// often each occurs.
type found map[string]int

func (f found) add(constraint, object, message string) {
	f[constraint+": "+object+": "+message]++
}

// TestAuditFindsTheSame audits all samples on one cluster: constraint by constraint, both engines
// find the same number of violations, with the same messages.
func TestAuditFindsTheSame(t *testing.T) {
	gator := build(t, "gator", ".", "github.com/open-policy-agent/gatekeeper/v3/cmd/gator")
	lintel := build(t, "lintel", "../..", "./cmd/lintel")
	for _, folder := range folders() {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			p := populate(t, folder)
			dir := t.TempDir()
			policies, objects := filepath.Join(dir, "policies.yaml"), filepath.Join(dir, "objects.yaml")
			write(t, policies, p.policies)
			write(t, objects, p.objects)
			ours := lintelAudit(t, lintel, policies, objects)
			theirs := gatorAudit(t, gator, policies, objects)
			if len(theirs) < 30 {
				t.Fatalf("only %d violations", len(theirs))
			}
			for one, n := range theirs {
				if ours[one] != n {
					t.Errorf("found %d times, and %d times by gator: %s", ours[one], n, one)
				}
			}
			for one, n := range ours {
				if theirs[one] == 0 {
					t.Errorf("found %d times, and not by gator: %s", n, one)
				}
			}
			t.Logf("%d templates and constraints, %d objects, %d different violations", len(p.policies), len(p.objects), len(theirs))
		})
	}
}

// failed stands for the message of a template that cannot be evaluated for an object: each engine
// has its own words.
const failed = "<error>"

var gatorError = regexp.MustCompile(`^template:\d+: eval_\w+: `)

func lintelAudit(t *testing.T, program, policies, objects string) found {
	t.Helper()
	var r struct {
		Results []struct {
			Object struct{ Kind, Namespace, Name string }
			Result struct {
				Outcome, Message string
				Constraint       struct{ Kind, Name string }
			}
		}
		NotAuditable []struct{ Policy, Reference string }
		Undecided    []struct{ Policy, Reason string }
		NotAudited   []struct{ Reason string }
	}
	text := run(t, program, "audit", "-p", policies, "-f", objects, "--complete", "--excluded-namespaces=", "-o", "json")
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, one := range r.Undecided {
		t.Errorf("undecided: %s: %s", one.Policy, one.Reason)
	}
	for _, one := range r.NotAudited {
		t.Errorf("not audited: %s", one.Reason)
	}
	for _, one := range r.NotAuditable {
		t.Logf("not auditable: %s: %s", one.Policy, one.Reference)
	}
	all := found{}
	for _, one := range r.Results {
		name, message := one.Object.Kind+" "+one.Object.Namespace+"/"+one.Object.Name, one.Result.Message
		if one.Result.Outcome == "error" {
			message = failed
		}
		all.add(one.Result.Constraint.Kind+"/"+one.Result.Constraint.Name, name, message)
	}
	return all
}

func gatorAudit(t *testing.T, program, policies, objects string) found {
	t.Helper()
	var results []struct {
		Msg             string
		Constraint      object
		ViolatingObject object
	}
	if err := json.Unmarshal(run(t, program, "test", "--enable-k8s-native-validation=false", "-f", policies, "-f", objects, "-o", "json"), &results); err != nil {
		t.Fatal(err)
	}
	all := found{}
	for _, one := range results {
		if version := fmt.Sprint(one.ViolatingObject["apiVersion"]); strings.Contains(version, "gatekeeper.sh/") {
			continue // templates and constraints, which the other engine does not get
		}
		if gatorError.MatchString(one.Msg) {
			one.Msg = failed
		}
		all.add(fmt.Sprintf("%v/%v", one.Constraint["kind"], metadataOf(one.Constraint)["name"]), nameOf(one.ViolatingObject), one.Msg)
	}
	return all
}
