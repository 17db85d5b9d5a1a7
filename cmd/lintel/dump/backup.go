package dump

import (
	"hash/maphash"
	"path"
	"regexp"
)

// backup identifies the files of a Velero backup. Each object is in
// resources/<resource>.<group>/namespaces/<namespace>/<name>.json or
// resources/<resource>.<group>/cluster/<name>.json and, since format 1.1, a second time below the
// version of its group, such as v1-preferredversion. The second one is skipped.
type backup struct {
	seed maphash.Seed
	// objects are hashes of the paths without versions.
	objects map[uint64]bool
}

func newBackup() *backup {
	return &backup{seed: maphash.MakeSeed(), objects: map[uint64]bool{}}
}

var backupPath = regexp.MustCompile(`^(.*/)?resources/([^/]+)/(v[0-9][^/]*/)?(cluster/[^/]+|namespaces/[^/]+/[^/]+)\.json$`)

// wants is false for a file with an object that was read from another file, in another version.
func (b *backup) wants(name string) bool {
	m := backupPath.FindStringSubmatch(path.Clean(name))
	if m == nil {
		return true
	}
	object := maphash.String(b.seed, m[1]+"\x00"+m[2]+"\x00"+m[4])
	if b.objects[object] && m[3] != "" {
		return false
	}
	b.objects[object] = true
	return true
}
