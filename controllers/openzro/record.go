package openzro

import (
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
)

// recordPrefix begins the descriptions of what is made for objects.
const recordPrefix = "Managed by Lintel: "

// recordOf is the description, at the server, of what is made for an object: by it, what
// was made before a crash is found again.
func recordOf(kind string, of v1.Object) string {
	return fmt.Sprintf("%s%s %s/%s, %s", recordPrefix, kind, of.GetNamespace(), of.GetName(), of.GetUID())
}

// isRecord says whether a description is that of something that was made for some object.
func isRecord(description string) bool { return strings.HasPrefix(description, recordPrefix) }

// candidate is something at the server of the name that is sought.
type candidate[I any] struct {
	item I
	// id is its ID, and record its description.
	id, record string
}

// find is which of the items at the server is an object's: that of the ID in its status,
// which the candidate known has; else one that was made for it; else one that nobody has
// made for an object. ours says that it was made for the object.
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
