// Package origin fetches policy from where it is kept: Git repositories and OCI
// registries.
//
// A server is not trusted. Whatever it sends, a fetch takes no more time, memory and
// traffic than its limits, because it happens in a process of its own; and content
// without the signature that was asked for never leaves that process.
package origin
