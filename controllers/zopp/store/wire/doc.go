// Package wire contains the messages and calls of a zopp server, as defined in zopp.proto.
//
// `make generate` generates all of it. Names and numbers of fields are those of the server, so
// that a request has the same bytes on both sides: the signature covers them.
package wire
