package record

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The names of segments are the index of a store: a listing is enough to select segments by time,
// and to know how many records there are.
//
//	<day>/<first>_<last>_<records>_<writer>.jsonl.zst   a complete segment
//	<day>/<first>_<writer>.open.jsonl.zst               one that is being written, or that a crash left
const (
	timeLayout = "20060102T150405.000000000Z"
	dayLayout  = "2006-01-02"
	openSuffix = ".open.jsonl.zst"
	suffix     = ".jsonl.zst"
)

// segmentName matches nothing that leaves the store's folder.
var segmentName = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)/(\d{8}T\d{6}\.\d{9}Z)_(?:(\d{8}T\d{6}\.\d{9}Z)_(\d{1,12})_)?([0-9a-z]{1,32})(\.open)?\.jsonl\.zst$`)

// Segment is a part of a store: the records of one writer over a short time.
type Segment struct {
	// Name is unique in the store; it has the form <day>/<file>.
	Name string
	// First and Last are the earliest and the latest time of a record. Last is zero for an open
	// segment.
	First, Last time.Time
	// Records is the number of records; 0 for an open segment.
	Records int64
	// Bytes is the compressed size.
	Bytes int64
	// Open is true for a segment that is being written, or that a crash left.
	Open bool

	writer string
}

func openName(first time.Time, writer string) string {
	return first.UTC().Format(dayLayout) + "/" + first.UTC().Format(timeLayout) + "_" + writer + openSuffix
}

// completeName is in the folder of the open name, which is that of the first record.
func completeName(open Segment, first, last time.Time, records int64) string {
	day, _, _ := strings.Cut(open.Name, "/")
	return fmt.Sprintf("%s/%s_%s_%d_%s%s", day, first.UTC().Format(timeLayout), last.UTC().Format(timeLayout), records, open.writer, suffix)
}

// parseName reads the name of a segment; ok is false for any other name.
func parseName(name string) (s Segment, ok bool) {
	parts := segmentName.FindStringSubmatch(name)
	if parts == nil || (parts[3] == "") != (parts[6] != "") {
		return Segment{}, false
	}
	s = Segment{Name: name, writer: parts[5], Open: parts[6] != ""}
	var err error
	if s.First, err = time.Parse(timeLayout, parts[2]); err != nil {
		return Segment{}, false
	}
	if s.Open {
		return s, true
	}
	if s.Last, err = time.Parse(timeLayout, parts[3]); err != nil || s.Last.Before(s.First) {
		return Segment{}, false
	}
	s.Records, err = strconv.ParseInt(parts[4], 10, 64)
	return s, err == nil
}

// overlaps reports whether the segment may have records from since (inclusive) to until
// (exclusive). A zero time sets no limit.
func (s Segment) overlaps(since, until time.Time) bool {
	if !until.IsZero() && !s.First.Before(until) {
		return false
	}
	return since.IsZero() || s.Open || !s.Last.Before(since)
}

// dayOverlaps reports whether the folder of a day may have such segments: those whose first
// record is of that day, or of one of the next two, because clocks differ and a segment has an
// age of at most one day.
func dayOverlaps(day string, since, until time.Time) bool {
	start, err := time.Parse(dayLayout, day)
	if err != nil {
		return false
	}
	const tolerance = 48 * time.Hour
	return (since.IsZero() || start.Add(24*time.Hour+tolerance).After(since)) &&
		(until.IsZero() || start.Add(-tolerance).Before(until))
}
