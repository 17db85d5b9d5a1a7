// Package origin fetches policies from Git repositories and OCI registries.
//
// A server is not trusted. A fetch takes no more time, memory and traffic than its limits,
// because it runs in a child process, and content without the required signature never leaves
// that process.
package origin
