package sources

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/external/rules"
)

// maxExternalBytes is the largest spec.maxBytes of a DataSource.
const maxExternalBytes = 4 << 20

// External are the values of --external, name=FILE each: the data of DataSources.
type External []string

// AddFlag adds the flag.
func (e *External) AddFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar((*[]string)(e), "external", nil, "`name=file` of the data of a DataSource that policies read at data.external[name], in JSON or YAML; may be repeated")
	usage.CompleteFiles(cmd, "external", "json", "yaml", "yml")
}

// Texts reads the files: the data in JSON, by DataSource.
func (e External) Texts() (map[string]string, error) {
	texts := map[string]string{}
	for _, value := range e {
		name, file, ok := strings.Cut(value, "=")
		if !ok || file == "" || !definition.IsDataSourceName(name) {
			return nil, fmt.Errorf("--external %q: give the name of a DataSource and a file, such as registries=registries.json", value)
		}
		if _, again := texts[name]; again {
			return nil, fmt.Errorf("--external gives the data of DataSource %s twice: give it once", name)
		}
		text, err := readBounded(file)
		if err != nil {
			return nil, fmt.Errorf("--external %s: %w", name, err)
		}
		if texts[name], _, err = (rules.Rules{MaxBytes: maxExternalBytes}).Check(file, string(text)); err != nil {
			return nil, fmt.Errorf("--external %s: %w", name, err)
		}
	}
	return texts, nil
}

// readBounded reads a file that is not larger than the largest data, and no more of others.
func readBounded(file string) ([]byte, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxExternalBytes+1))
	if err == nil && len(text) > maxExternalBytes {
		err = fmt.Errorf("%s is larger than %d bytes, the largest spec.maxBytes of a DataSource", file, maxExternalBytes)
	}
	return text, err
}

// JSON reads the files: a JSON object with the data by DataSource; empty without the flag.
func (e External) JSON() (string, error) {
	texts, err := e.Texts()
	if err != nil || len(texts) == 0 {
		return "", err
	}
	data := map[string]json.RawMessage{}
	for name, text := range texts {
		data[name] = json.RawMessage(text)
	}
	return external.Encode(data)
}

// Read reads the files for policies. Data that none of them reads is an error, because the name is
// likely misspelled.
func (e External) Read(sets []*engine.PolicySet) (external.Set, error) {
	data, err := e.ReadNamed(sets)
	if err != nil {
		return nil, err
	}
	names := ExternalNames(sets)
	for _, value := range e {
		if name, _, _ := strings.Cut(value, "="); data[name] == nil {
			return nil, fmt.Errorf("--external %s: no policy names this DataSource in custom.external of its METADATA (named are: %s)", name, orNone(names))
		}
	}
	return data, nil
}

// ReadNamed is Read without data that no policy names.
func (e External) ReadNamed(sets []*engine.PolicySet) (external.Set, error) {
	texts, err := e.Texts()
	if err != nil {
		return nil, err
	}
	names := ExternalNames(sets)
	data := external.Set{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(names, name) {
			continue
		}
		if data[name], err = external.New(name, "--external", texts[name]); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// ExternalNames lists the DataSources that policies name, sorted.
func ExternalNames(sets []*engine.PolicySet) (names []string) {
	for _, set := range sets {
		names = append(names, set.External()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
