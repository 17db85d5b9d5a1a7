// Package openzro has openZro management servers hold what the OZ* objects of namespaces
// say.
//
// A namespace is a tenant: what its objects make is made with its key. Invariants: nothing
// is written where the server has it as the object says; what somebody else made is never
// deleted, and a group's members are never taken out; a policy is written whole or not at
// all; what was made before a crash is found again by what stands in it or in the status;
// keys are in Secrets alone.
package openzro
