// Package layout has what OpenVox's controllers agree on: by which names, labels and keys they
// find what others of them have made, and how fields are read that several of them read.
//
// Invariant: it writes nothing, and decides nothing.
package layout
