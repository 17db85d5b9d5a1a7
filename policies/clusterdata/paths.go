package clusterdata

import (
	"maps"
	"slices"
	"strings"
)

// Names of fields in a path: a * is each element of a list, or each field.
var (
	encodeName = strings.NewReplacer("~", "~0", "/", "~1", "*", "~2")
	decodeName = strings.NewReplacer("~2", "*", "~1", "/", "~0", "~")
)

// Paths lists the fields as JSON pointers, in which * stands for each element or field: "" for
// whole objects. Fields of which only the presence is read are left out.
func (f *Fields) Paths() []string { return f.pathsBelow("", nil) }

func (f *Fields) pathsBelow(path string, found []string) []string {
	if f.isWhole() {
		return append(found, path)
	}
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		found = f.fields[name].pathsBelow(path+"/"+encodeName.Replace(name), found)
	}
	if f.each != nil {
		found = f.each.pathsBelow(path+"/*", found)
	}
	return found
}

// ParseFields reads the result of Paths.
func ParseFields(paths []string) *Fields {
	fields := &Fields{}
	for _, path := range paths {
		if path == "" {
			return nil
		}
		names := strings.Split(strings.TrimPrefix(path, "/"), "/")
		one := &Fields{whole: true}
		for _, name := range slices.Backward(names) {
			if name == "*" {
				one = &Fields{each: one}
			} else {
				one = &Fields{fields: map[string]*Fields{decodeName.Replace(name): one}}
			}
		}
		fields = fields.Union(one)
	}
	return fields
}
