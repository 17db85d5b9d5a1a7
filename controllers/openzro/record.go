package openzro

import (
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
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

// candidate is something at the server of the name that is sought.
type candidate[I any] struct {
	item I
	// id is its ID, and record its description.
	id, record string
}

// find returns the item at the server that belongs to an object: the candidate known, with the
// ID in its status; else one that was created for the object; else one that was not created for
// any object. ours reports that it was created for the object.
func find[I any](known *candidate[I], adopted bool, record string, named []candidate[I]) (item I, found, ours bool) {
	if known != nil {
		return known.item, true, known.record == record || !adopted
	}
	for _, c := range named {
		if c.record == record {
			return c.item, true, true
		}
	}
	for _, c := range named {
		if !isRecord(c.record) {
			return c.item, true, false
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
