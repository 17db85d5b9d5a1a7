package definition

import (
	"fmt"
	"regexp"
	"slices"
)

// dataSourceName is the form of the name of a DataSource, and maxDataSourceName its length.
var dataSourceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

const maxDataSourceName = 63

// IsDataSourceName reports whether a DataSource can have the name.
func IsDataSourceName(name string) bool {
	return len(name) <= maxDataSourceName && dataSourceName.MatchString(name)
}

// readExternal reads the names of DataSources. The errors follow the setting's name.
func (m *Metadata) readExternal(value any) (errs []error) {
	var names []string
	if err := decodeStrict(value, &names); err != nil {
		return []error{fmt.Errorf(": %w, such as [registries]", err)}
	}
	for i, name := range names {
		if !IsDataSourceName(name) {
			errs = append(errs, fmt.Errorf("[%d]: %q is not the name of a DataSource: lower-case letters, digits, dashes and dots, at most %d characters", i, name, maxDataSourceName))
		}
	}
	m.External = append(m.External, names...)
	slices.Sort(m.External)
	m.External = slices.Compact(m.External)
	return errs
}
