// Package wire holds the messages and calls of a zopp server, as zopp.proto says them.
//
// All of it is generated, by `make generate`. Names and numbers of fields are those of the
// server, so that a request has the same bytes on both sides: they are what is signed.
package wire
