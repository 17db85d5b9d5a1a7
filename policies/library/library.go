// Package library reads a library of policies: a folder with a policy in each folder
// CATEGORY/NAME, the packages that they share in the folder shared, and lists of policies in
// the folder bundles.
//
// Invariant: each policy of a bundle is in the library, and a selection contains every package
// that its policies import.
package library

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	// SharedFolder contains the packages that policies share.
	SharedFolder = "shared"
	// BundlesFolder contains the lists of policies.
	BundlesFolder = "bundles"
)

// Library is a set of policies and of bundles, both sorted by name.
type Library struct {
	Policies []Policy `json:"policies"`
	Bundles  []Bundle `json:"bundles"`
	// files are the texts of all files by their slash-separated paths.
	files map[string]string
}

// Bundle is a list of policies.
type Bundle struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Policies    []string `json:"policies"`
}

// Read reads a library from the texts of its files, by their slash-separated paths.
func Read(files map[string]string) (*Library, error) {
	l := &Library{files: files}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		folder, name := path.Split(file)
		switch {
		case path.Clean(folder) == BundlesFolder && path.Ext(name) == ".yaml":
			bundle := Bundle{Name: strings.TrimSuffix(name, ".yaml")}
			if err := yaml.UnmarshalStrict([]byte(files[file]), &bundle); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			l.Bundles = append(l.Bundles, bundle)
		case strings.Count(file, "/") == 2 && path.Base(folder)+".rego" == name:
			policy, err := readPolicy(file, files)
			if err != nil {
				return nil, err
			}
			l.Policies = append(l.Policies, policy)
		}
	}
	if len(l.Policies) == 0 {
		return nil, fmt.Errorf("the library has no policies: a policy is in a file CATEGORY/NAME/NAME.rego")
	}
	return l, l.link()
}

// link sorts the policies, and adds to each the names of its bundles.
func (l *Library) link() error {
	slices.SortFunc(l.Policies, func(a, b Policy) int { return strings.Compare(a.Name, b.Name) })
	for i := range l.Policies[1:] {
		if l.Policies[i].Name == l.Policies[i+1].Name {
			return fmt.Errorf("%s and %s have the same name", l.Policies[i].Folder, l.Policies[i+1].Folder)
		}
	}
	for _, bundle := range l.Bundles {
		if _, taken := l.Policy(bundle.Name); taken {
			return fmt.Errorf("%s/%s.yaml: a policy has the same name", BundlesFolder, bundle.Name)
		}
		for _, name := range bundle.Policies {
			at := slices.IndexFunc(l.Policies, func(p Policy) bool { return p.Name == name })
			if at < 0 {
				return fmt.Errorf("%s/%s.yaml: the library has no policy %q", BundlesFolder, bundle.Name, name)
			}
			l.Policies[at].Bundles = append(l.Policies[at].Bundles, bundle.Name)
		}
	}
	return nil
}

// Policy is the policy of a name.
func (l *Library) Policy(name string) (Policy, bool) {
	for _, policy := range l.Policies {
		if policy.Name == name {
			return policy, true
		}
	}
	return Policy{}, false
}

// Bundle is the bundle of a name.
func (l *Library) Bundle(name string) (Bundle, bool) {
	for _, bundle := range l.Bundles {
		if bundle.Name == name {
			return bundle, true
		}
	}
	return Bundle{}, false
}

// Names are the names of all policies and bundles.
func (l *Library) Names() []string {
	var names []string
	for _, policy := range l.Policies {
		names = append(names, policy.Name)
	}
	for _, bundle := range l.Bundles {
		names = append(names, bundle.Name)
	}
	return names
}

// Search returns the policies that contain each of the words in their name, bundles, or
// METADATA, without regard to case.
func (l *Library) Search(words ...string) []Policy {
	var found []Policy
	for _, policy := range l.Policies {
		text := policy.searchText()
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) }) {
			found = append(found, policy)
		}
	}
	return found
}

// UnknownError is a name of neither a policy nor a bundle.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("the library has neither a policy nor a bundle %q", e.Name)
}

// Selection are policies to install.
type Selection struct {
	// Policies are their names, sorted.
	Policies []string
	// Files are the Rego files of the policies, with their tests and the shared packages.
	Files map[string]string
}

// Select returns the named policies and those of the named bundles. A name that the library
// does not have is an *UnknownError.
func (l *Library) Select(names ...string) (Selection, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		if bundle, ok := l.Bundle(name); ok {
			for _, policy := range bundle.Policies {
				wanted[policy] = true
			}
			continue
		}
		if _, ok := l.Policy(name); !ok {
			return Selection{}, &UnknownError{name}
		}
		wanted[name] = true
	}
	selected := Selection{Policies: slices.Sorted(maps.Keys(wanted)), Files: map[string]string{}}
	for file, text := range l.files {
		if path.Ext(file) != ".rego" {
			continue
		}
		folder := path.Dir(file)
		if folder == SharedFolder || wanted[path.Base(folder)] {
			selected.Files[file] = text
		}
	}
	return selected, nil
}

// File is the text of a file in the folder of a policy, such as bad.yaml; empty if missing.
func (l *Library) File(policy Policy, name string) string {
	return l.files[path.Join(policy.Folder, name)]
}
