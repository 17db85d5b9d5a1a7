// Package audit evaluates the objects in the cluster by the policies that are live, and reports the
// results: reports, the status of PolicySources and constraints, metrics.
//
// Every replica evaluates the objects of its shards: namespaces, by rendezvous hashing over the
// replicas whose Leases are in force (see audit.Shards and members). It writes the reports of its
// namespaces. A replica that does not lead also writes a summary of its results into a ConfigMap.
// The leader adds up the summaries, and writes the status and the metrics about all replicas.
//
//   - Two replicas that both believe they own a shard write the same report: its name depends on
//     the namespace and the source alone, and each write replaces the whole content. A replica
//     writes a report of its own namespaces again if another one has written it, and leaves those
//     of other namespaces alone. The owner by the present Leases therefore writes last.
//   - A replica that is killed loses its shards when its Lease expires, 30 seconds after its last
//     renewal. The others list again, and evaluate only the objects that they take over. Its reports stay
//     until the next owner has evaluated the objects of their source.
//   - A replica that joins takes its shards, and no others move.
//   - A replica whose own Lease has expired writes nothing, and keeps its results until it knows
//     whether the other replicas were there.
//   - Summaries count only if they are of the processes and the membership of the present Leases
//     and of the policies that the leader serves. Otherwise the condition Audited is Unknown, no
//     policy counts as compliant, and the other numbers are the last ones that were complete. A
//     slow replica therefore delays the status, and its name is in the message.
//
// Invariant: audit is never on the path of a review. It has its own client with a bounded rate,
// evaluates one object at a time, and pauses after each. A kind that cannot be listed is reported
// as such, and its objects never count as compliant.
package audit
