package installation

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheEndOfAManagerIsNoticed(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3": "manager one has ended by itself (exit status 3); its log is one.log",
		"exit 0": "manager one has ended by itself (exit status 0); its log is one.log",
	} {
		m := &Manager{name: "one", Log: "one.log", Health: "http://127.0.0.1:0", process: exec.Command("sh", "-c", script)}
		require.NoError(t, m.start())
		require.EqualError(t, m.WaitReady(t.Context(), time.Minute), want)
		<-m.Ended()
		require.EqualError(t, m.Failure(), want)
		m.Stop() // of an ended manager, returns immediately
		m.Kill()
	}
}
