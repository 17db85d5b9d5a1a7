package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// events are what `go test -json` prints for one package that passes from the cache, one
// that fails, and one that does not compile.
const events = `{"Action":"start","Package":"p/cached"}
{"Action":"run","Package":"p/cached","Test":"TestOne"}
{"Action":"output","Package":"p/cached","Test":"TestOne","Output":"--- PASS: TestOne (9.00s)\n"}
{"Action":"pass","Package":"p/cached","Test":"TestOne","Elapsed":9}
{"Action":"output","Package":"p/cached","Output":"ok  \tp/cached\t(cached)\n"}
{"Action":"pass","Package":"p/cached","Elapsed":0}
{"Action":"run","Package":"p/red","Test":"TestTwo"}
{"Action":"run","Package":"p/red","Test":"TestTwo/part"}
{"Action":"output","Package":"p/red","Test":"TestTwo/part","Output":"    red_test.go:7: expected 1, actual 2\n"}
{"Action":"fail","Package":"p/red","Test":"TestTwo/part","Elapsed":0.5}
{"Action":"fail","Package":"p/red","Test":"TestTwo","Elapsed":1.5}
{"Action":"pass","Package":"p/red","Test":"TestThree","Elapsed":2.5}
{"Action":"skip","Package":"p/red","Test":"TestFour","Elapsed":0}
{"Action":"output","Package":"p/red","Output":"FAIL\n"}
{"Action":"fail","Package":"p/red","Elapsed":4}
{"ImportPath":"p/broken","Action":"build-output","Output":"p/broken/x.go:3:1: undefined: y\n"}
{"ImportPath":"p/broken","Action":"build-fail"}
{"Action":"output","Package":"p/broken","Output":"FAIL\tp/broken [build failed]\n"}
{"Action":"fail","Package":"p/broken","Elapsed":0,"FailedBuild":"p/broken"}
go: a line that is no event
`

func TestEventsAreCounted(t *testing.T) {
	var log bytes.Buffer
	c := newCounter(&log)
	for line := range strings.Lines(events) {
		c.line(line)
	}
	counted, err := c.result()
	require.False(t, err.complete, "a package does not compile")
	require.Equal(t, []string{"TestTwo"}, err.tests)
	require.Equal(t, []string{"p/red"}, err.packages)
	require.Equal(t, "1 passed, 1 unchanged, 1 failed, 1 skipped", counted.String())
	require.ErrorContains(t, err, "red_test.go:7: expected 1, actual 2")
	require.ErrorContains(t, err, "undefined: y")
	require.ErrorContains(t, err, "[build failed]")
	require.NotContains(t, err.Error(), "TestThree")
	require.Contains(t, log.String(), "a line that is no event")
	require.Len(t, counted.slow, 2, "a cached result took no time")
}

// TestAKilledProgramCountsWhatItRan: such a program prints no verdict of its package.
func TestAKilledProgramCountsWhatItRan(t *testing.T) {
	c := newCounter(&bytes.Buffer{})
	c.line(`{"Action":"pass","Package":"p","Test":"TestOne","Elapsed":1}` + "\n")
	counted, failed := c.result()
	require.Nil(t, failed, "the exit status says that it failed")
	require.Equal(t, 1, counted.passed)
}

func TestTailKeepsTheEnd(t *testing.T) {
	text := &tail{limit: 4}
	for range 10 {
		_, err := text.Write([]byte("abc"))
		require.NoError(t, err)
	}
	require.Equal(t, "…cabc", text.String())
	require.Less(t, len(text.text), 12)
	require.Empty(t, (*tail)(nil).String())
}
