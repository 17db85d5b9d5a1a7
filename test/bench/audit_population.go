package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/manifest"
)

// population is a cluster with the templates, constraints and objects of all suites of a folder.
type population struct {
	library
	objects []*unstructured.Unstructured
	created []createdObject
	// namespaces are those of the objects, in addition to the samples that are Namespaces.
	namespaces []string
	// synced are the kinds that templates read in the inventory.
	synced []schema.GroupVersionKind
	added  map[string]bool
}

// createdObject is an object that the API server accepted.
type createdObject struct {
	client dynamic.ResourceInterface
	name   string
}

// suiteFile has the fields of a Suite that name files.
type suiteFile struct {
	Tests []struct {
		Template, Constraint string
		Cases                []struct {
			Object    string
			Inventory []string
		}
	}
}

// readPopulation reads all suites of a folder. Each object gets a name of its own, as in a cluster.
func readPopulation(folder string) (*population, error) {
	p := &population{library: library{templates: map[string]string{}}, added: map[string]bool{}}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "suite.yaml" {
			err = p.addSuite(path)
		}
		return err
	})
	if err == nil && len(p.constraints) == 0 {
		err = fmt.Errorf("no Suite in %s has a constraint", folder)
	}
	slices.Sort(p.namespaces)
	p.namespaces = slices.Compact(p.namespaces)
	return p, err
}

func (p *population) addSuite(path string) error {
	var suite suiteFile
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &suite)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	folder := filepath.Dir(path)
	for _, test := range suite.Tests {
		template := filepath.Join(folder, test.Template)
		if err := p.addTemplate(template); err != nil {
			return err
		}
		if err := p.addConstraints(template, filepath.Join(folder, test.Constraint)); err != nil {
			return err
		}
		for _, c := range test.Cases {
			for _, name := range append([]string{c.Object}, c.Inventory...) {
				if err := p.addObjects(filepath.Join(folder, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// isNew reports whether an id is added for the first time.
func (p *population) isNew(id string) bool {
	known := p.added[id]
	p.added[id] = true
	return !known
}

const requiresSync = "metadata.gatekeeper.sh/requires-sync-data"

func (p *population) addTemplate(path string) error {
	if !p.isNew(path) {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p.templates[path] = string(text)
	templates, err := readObjects(path)
	if err != nil {
		return err
	}
	for _, template := range templates {
		kinds, err := kindsToSync(template.GetAnnotations()[requiresSync])
		if err != nil {
			return fmt.Errorf("%s: annotation %s: %w", path, requiresSync, err)
		}
		p.synced = append(p.synced, kinds...)
	}
	return nil
}

// kindsToSync reads the annotation of a template: requirements, each with alternatives.
func kindsToSync(annotation string) (kinds []schema.GroupVersionKind, err error) {
	text := strings.Trim(strings.TrimSpace(annotation), `"`)
	if text == "" {
		return nil, nil
	}
	var requirements [][]struct{ Groups, Versions, Kinds []string }
	if err := json.Unmarshal([]byte(text), &requirements); err != nil {
		return nil, err
	}
	for _, alternatives := range requirements {
		for _, each := range alternatives {
			for _, group := range each.Groups {
				for _, version := range each.Versions {
					for _, kind := range each.Kinds {
						kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
					}
				}
			}
		}
	}
	return kinds, nil
}

// addConstraints adds the constraints of a file: all of them, under names of their own.
func (p *population) addConstraints(template, path string) error {
	if !p.isNew(path) {
		return nil
	}
	constraints, err := readObjects(path)
	if err != nil {
		return err
	}
	for _, whole := range constraints {
		p.rename(whole)
		p.constraints = append(p.constraints, constraint{template: template, kind: whole.GetKind(), name: whole.GetName(), whole: whole})
	}
	return nil
}

// removedVersions are versions of Kubernetes' own kinds that no current cluster serves.
var removedVersions = regexp.MustCompile(`^([^.]+|[^/]+\.k8s\.io)/v\d+(alpha|beta)\d+$`)

// clusterScoped are the kinds of samples without a namespace.
var clusterScoped = []string{"ClusterRole", "ClusterRoleBinding", "Namespace", "PersistentVolume", "StorageClass", "PodSecurityPolicy", "CustomResourceDefinition"}

// addObjects leaves out objects that no cluster stores, such as AdmissionReviews.
func (p *population) addObjects(path string) error {
	if !p.isNew(path) {
		return nil
	}
	objects, err := readObjects(path)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "AdmissionReview" || object.GetName() == "" || removedVersions.MatchString(object.GetAPIVersion()) {
			continue
		}
		switch {
		case slices.Contains(clusterScoped, object.GetKind()):
			object.SetNamespace("")
		case object.GetNamespace() == "":
			object.SetNamespace("default")
		}
		if object.GetKind() == "Namespace" {
			if !p.isNew("Namespace " + object.GetName()) {
				continue
			}
		} else {
			p.rename(object)
		}
		if object.GetNamespace() != "" {
			p.namespaces = append(p.namespaces, object.GetNamespace())
		}
		p.objects = append(p.objects, object)
	}
	return nil
}

// rename gives an object a name that no other one of its kind and namespace has.
func (p *population) rename(object *unstructured.Unstructured) {
	name := object.GetName()
	for n := 2; !p.isNew(strings.Join([]string{object.GetKind(), object.GetNamespace(), object.GetName()}, " ")); n++ {
		object.SetName(fmt.Sprintf("%s-%d", name, n))
	}
}

func readObjects(path string) (objects []*unstructured.Unstructured, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	documents, err := manifest.Read(path, text)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(d.JSON, &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
