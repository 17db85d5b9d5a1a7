package store

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// digest returns the signed digest of a request: of its method, and of its deterministic
// encoding with the fields in order. The server repeats that encoding from the decoded request.
func digest(method string, request proto.Message) ([sha256.Size]byte, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(append([]byte(method), body...)), nil
}

// sign returns the context of a request, with the signature in its metadata.
func (p *Principal) sign(ctx context.Context, method string, request proto.Message, now time.Time) (context.Context, error) {
	hash, err := digest(method, request)
	if err != nil {
		return nil, fmt.Errorf("encoding a request to %s: %w", method, err)
	}
	seconds := now.Unix()
	text := binary.LittleEndian.AppendUint64(append([]byte(method), hash[:]...), uint64(seconds))
	return metadata.AppendToOutgoingContext(ctx,
		"principal-id", p.ID,
		"timestamp", strconv.FormatInt(seconds, 10),
		"request-hash", hex.EncodeToString(hash[:]),
		"signature", hex.EncodeToString(ed25519.Sign(p.signing, text)),
	), nil
}
