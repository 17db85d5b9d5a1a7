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

func TestRelease(t *testing.T) {
	info := &debug.BuildInfo{}
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1", "": "", "(devel)": "", "v0.0.0-20261127190000-0123456789ab": "",
		"v1.2.4-0.20261127190000-0123456789ab": "", "v1.2.3+dirty": "",
	} {
		assert.Equal(t, want, releaseOf(version, nil), version)
		info.Main.Version = version
		assert.Equal(t, want, releaseOf("", info), version)
	}
}
