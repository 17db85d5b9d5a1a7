package management

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxStream is how long a list may be that is read as a stream, in bytes. The group All
	// of 100,000 peers has about 7 MiB, and each of them may be in many groups.
	maxStream = 1 << 30
	// maxToken is how long a single name or number in it may be, in bytes: a decoder holds
	// one in memory.
	maxToken = 1 << 20
	// maxDepth is how deep values may be nested.
	maxDepth = 64
)

// limitError is an answer that exceeds a limit.
type limitError string

func (e limitError) Error() string { return string(e) }

var errNotAList = errors.New("the answer is not a list of objects")

// limitReader bounds what a decoder reads, in all and for one token.
type limitReader struct {
	from io.Reader
	// decoded is how much the decoder has made tokens of.
	decoded func() int64
	read    int64
}

func (r *limitReader) Read(into []byte) (int, error) {
	if r.read > maxStream {
		return 0, limitError(fmt.Sprintf("the answer is longer than %d MiB", maxStream>>20))
	}
	if r.read-r.decoded() > maxToken {
		return 0, limitError(fmt.Sprintf("the answer has a value longer than %d MiB", maxToken>>20))
	}
	n, err := r.from.Read(into)
	r.read += int64(n)
	return n, err
}

// groupDecoder reads a list of groups without their members.
type groupDecoder struct{ *json.Decoder }

// decodeGroups reads a list of groups, and counts members instead of storing them. It limits the
// memory for the result like that of any other response.
func decodeGroups(body io.Reader) (groups []Group, w weight, err error) {
	limited := &limitReader{from: body}
	d := groupDecoder{json.NewDecoder(limited)}
	limited.decoded = d.InputOffset
	begin, err := d.Token()
	switch {
	case err != nil:
		return nil, w, unexpected(err)
	case begin == nil:
		return nil, w, nil // null
	case begin != json.Delim('['):
		return nil, w, errNotAList
	}
	for d.More() {
		group, err := d.group()
		if err != nil {
			return nil, w, unexpected(err)
		}
		w.bytes, w.values = w.bytes+len(group.ID)+len(group.Name)+len(group.Issued), w.values+groupValues
		if w.bytes > maxAnswer || w.values > maxValues {
			return nil, w, limitError(fmt.Sprintf("the answer has more than %d MiB or %d values without the members of groups", maxAnswer>>20, maxValues))
		}
		groups = append(groups, group)
	}
	if _, err = d.Token(); err != nil {
		return nil, w, unexpected(err)
	}
	return groups, w, nil
}

// groupValues is the number of values that are stored for a group.
const groupValues = 3

// unexpected turns the end of an answer within a value into an error that is not io.EOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d groupDecoder) group() (g Group, err error) {
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return g, errors.Join(err, ifNil(err, errNotAList))
	}
	peers, resources := 0, 0
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return g, err
		}
		switch key {
		case "id":
			err = d.Decode(&g.ID)
		case "name":
			err = d.Decode(&g.Name)
		case "issued":
			err = d.Decode(&g.Issued)
		case "peers_count":
			err = d.Decode(&g.PeersCount)
		case "resources_count":
			err = d.Decode(&g.ResourcesCount)
		case "peers":
			peers, err = d.skip()
		case "resources":
			resources, err = d.skip()
		default:
			_, err = d.skip()
		}
		if err != nil {
			return g, err
		}
	}
	g.PeersCount, g.ResourcesCount = max(g.PeersCount, peers), max(g.ResourcesCount, resources)
	_, err = d.Token()
	return g, err
}

func ifNil(err, otherwise error) error {
	if err == nil {
		return otherwise
	}
	return nil
}

// skip reads a value without keeping it, and counts its elements.
func (d groupDecoder) skip() (elements int, err error) {
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return elements, err
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			if depth == 1 {
				elements++
			}
			if depth++; depth > maxDepth {
				return elements, limitError(fmt.Sprintf("the answer has values nested deeper than %d", maxDepth))
			}
		case json.Delim(']'), json.Delim('}'):
			depth--
		default:
			if depth == 1 {
				elements++
			}
		}
		if depth == 0 {
			return elements, nil
		}
	}
}

// withoutMembers is a group with the counts of its members.
func withoutMembers(g Group) Group {
	g.PeersCount, g.ResourcesCount = max(g.PeersCount, len(g.Peers)), max(g.ResourcesCount, len(g.Resources))
	g.Peers, g.Resources = nil, nil
	return g
}
