package openzro

import (
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// recordPrefix begins the descriptions of all items that are created for objects.
const recordPrefix = "Managed by Lintel: "

// recordOf returns the description, at the server, of an item of an object. It identifies items
// that were created before a crash.
func recordOf(kind string, of v1.Object) string {
	return fmt.Sprintf("%s%s %s/%s, %s", recordPrefix, kind, of.GetNamespace(), of.GetName(), of.GetUID())
}

// isRecord reports whether a description is that of an item of any object.
func isRecord(description string) bool { return strings.HasPrefix(description, recordPrefix) }

// find returns the item of a collection that belongs to an object: the one with the ID in its
// status; else, of the items with a name, the one that was created for the object; else one that
// was not created for any object. recordIn returns the description of an item. ours reports that
// the item was created for the object.
func find[I any](all *management.Collection[I], id, name, record string, adopted bool, recordIn func(I) string) (item I, found, ours bool) {
	if known, has := all.Get(id); has {
		return known, true, recordIn(known) == record || !adopted
	}
	named := all.Named(name)
	for _, one := range named {
		if recordIn(one) == record {
			return one, true, true
		}
	}
	for _, one := range named {
		if !isRecord(recordIn(one)) {
			return one, true, false
		}
	}
	return item, false, false
}

// quoted are names in quotes, with commas between.
func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(name)
	}
	return strings.Join(all, ", ")
}
