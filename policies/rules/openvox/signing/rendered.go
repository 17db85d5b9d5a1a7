package signing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Rendered is what the autosign hook goes by.
type Rendered struct {
	Policies []Policy `json:"policies"`
	// Reserved are names for which nothing is signed, independent of the policies: after a dot,
	// also for the names below and above.
	Reserved []string `json:"reserved"`
}

const (
	fileVersion = "signing.lintel.dev/v1"
	fileKind    = "SigningPolicies"
)

// file is Rendered as a file. The program in the image of another operator, which checks far
// less, reads policies from other fields of the file: it finds none, and signs nothing.
type file struct {
	APIVersion      string   `json:"apiVersion"`
	Kind            string   `json:"kind"`
	SigningPolicies []Policy `json:"signingPolicies"`
	Reserved        []string `json:"reserved"`
}

// Policy is a SigningPolicy with the values of its Secrets.
type Policy struct {
	Name          string      `json:"name"`
	Any           bool        `json:"any,omitempty"`
	Pattern       *Allow      `json:"pattern,omitempty"`
	DNSAltNames   *Allow      `json:"dnsAltNames,omitempty"`
	CSRAttributes []Attribute `json:"csrAttributes,omitempty"`
	// Error says why the policy cannot be used. It signs nothing then.
	Error string `json:"error,omitempty"`
}

// Allow is a list of globs.
type Allow struct {
	Allow []string `json:"allow"`
}

// Attribute is what a request must carry.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Write makes the text of a policy file: the same for the same policies, in any order. It is YAML
// that is also JSON, because openvox-autosign reads JSON 20 times as fast.
func (r Rendered) Write() ([]byte, error) {
	policies := slices.Clone(r.Policies)
	slices.SortFunc(policies, func(a, b Policy) int { return strings.Compare(a.Name, b.Name) })
	reserved := slices.Clone(r.Reserved)
	slices.Sort(reserved)
	text, err := file{fileVersion, fileKind, orEmpty(policies), orEmpty(slices.Compact(reserved))}.text()
	if err != nil {
		return nil, fmt.Errorf("writing the policy file: %w", err)
	}
	return text, nil
}

// text has one policy per line.
func (f file) text() ([]byte, error) {
	policies := f.SigningPolicies
	f.SigningPolicies = []Policy{}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	head, tail, _ := bytes.Cut(text, []byte(`"signingPolicies":[]`))
	var out bytes.Buffer
	out.Write(head)
	out.WriteString(`"signingPolicies":[`)
	for i, policy := range policies {
		line, err := json.Marshal(policy)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(line)
	}
	out.WriteByte(']')
	out.Write(tail)
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// Read reads the text of a policy file. A field that is not known is an error: without
// a condition that was meant, a policy would sign more.
func Read(text []byte) (Rendered, error) {
	f, written := readWritten(text)
	if !written {
		f = file{}
		if err := yaml.UnmarshalStrict(text, &f); err != nil {
			return Rendered{}, err
		}
	}
	if f.APIVersion != fileVersion || f.Kind != fileKind {
		return Rendered{}, fmt.Errorf("it has apiVersion %.100q and kind %.100q, not %s and %s", f.APIVersion, f.Kind, fileVersion, fileKind)
	}
	return Rendered{f.SigningPolicies, f.Reserved}, nil
}

// readWritten reads a text exactly as Write makes it, which rules out duplicate and unknown fields.
func readWritten(text []byte) (f file, written bool) {
	if !bytes.HasPrefix(text, []byte("{")) || json.Unmarshal(text, &f) != nil {
		return f, false
	}
	again, err := f.text()
	return f, err == nil && bytes.Equal(again, text)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
