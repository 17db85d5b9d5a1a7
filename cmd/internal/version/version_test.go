package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestText(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8"}
	assert.Equal(t, "lintel (devel), go1.26.8", text("lintel", "", "", info))
	info.Main.Version = "v1.2.3"
	info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}, {Key: "vcs.modified", Value: "true"}}
	assert.Equal(t, "lintel v1.2.3, commit 0123 with changes, go1.26.8", text("lintel", "", "", info))
	info.Settings = nil
	assert.Equal(t, "manager v1.3.0, commit 4567, go1.26.8", text("manager", "v1.3.0", "4567", info))
}
