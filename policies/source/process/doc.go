// Package process runs work on untrusted files in child processes: fetching, compiling and
// testing policies. Work that cannot be interrupted within a process is ended with it.
//
// Invariant: every child has a time limit, a memory limit, an output limit, a low priority
// and an environment without credentials.
package process
