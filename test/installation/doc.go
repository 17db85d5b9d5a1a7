// Package installation puts Lintel in front of a real control plane: it starts the cluster by
// the program in test/cluster, applies the manifests and runs managers as processes next to it,
// with the permissions of their ServiceAccount.
//
// Everything listens on loopback, and ends with the process that asked for it.
package installation
