package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Shards divide the stored objects among replicas by rendezvous hashing: each namespace belongs to
// the replica with the highest hash of both names, and the cluster-scoped objects, as the namespace
// "", to one replica as well. All results of a report are therefore of one replica. A replica that
// joins takes namespaces from the others, and the namespaces of one that leaves are divided among
// the others; no other namespace moves. Shards are immutable.
type Shards struct {
	self    string
	members []string // sorted
}

// NewShards returns the shards of a replica among all replicas that audit.
func NewShards(self string, members []string) *Shards {
	sorted := slices.Sorted(slices.Values(members))
	return &Shards{self: self, members: slices.Compact(sorted)}
}

// Self is the name of the replica.
func (s *Shards) Self() string { return s.self }

// Members are the names of all replicas, sorted.
func (s *Shards) Members() []string { return s.members }

// Owner returns the replica that audits the objects of a namespace: empty if there are no replicas.
func (s *Shards) Owner(namespace string) (owner string) {
	if len(s.members) == 1 {
		return s.members[0]
	}
	highest := uint64(0)
	for _, member := range s.members {
		// Only a hash that mixes all bits balances similar names.
		sum := sha256.Sum256([]byte(member + "\x00" + namespace))
		if rank := binary.BigEndian.Uint64(sum[:8]); owner == "" || rank > highest {
			owner, highest = member, rank
		}
	}
	return owner
}

// Owns reports whether the replica audits the objects of a namespace.
func (s *Shards) Owns(namespace string) bool { return s.self != "" && s.Owner(namespace) == s.self }

// Digest identifies the replicas: with equal digests, replicas agree on the owner of every object.
func (s *Shards) Digest() string {
	sum := sha256.New()
	for _, member := range s.members {
		sum.Write([]byte(member + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Contains reports whether these replicas include all of the others.
func (s *Shards) Contains(others *Shards) bool {
	return !slices.ContainsFunc(others.members, func(name string) bool { return !slices.Contains(s.members, name) })
}

// Share is the part of a limit that the replica may use. The parts of all replicas add up to the
// limit.
func (s *Shards) Share(limit int) int {
	rank, found := slices.BinarySearchFunc(s.members, s.self, cmp.Compare)
	if !found {
		return 0
	}
	return limit*(rank+1)/len(s.members) - limit*rank/len(s.members)
}
